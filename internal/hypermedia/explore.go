package hypermedia

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Filter is what a question in the Explore grammar asks of documents, in the form that QueryDocuments takes.
type Filter struct {
	// Match is the filter; nil when the question has no condition.
	Match map[string]any
	// Ignored says what had no effect on it, such as words to search for.
	Ignored []string
}

// ParseFilter reads a question in the Explore grammar (spec/hypermedia.md §4.2): key=value and its kin, has:key, missing:key, in:space,
// path:/x/*, with AND, OR, NOT and parentheses. Whatever is no condition is named in Ignored; nothing is an error.
func ParseFilter(q string) Filter {
	p := &exploreParser{tokens: exploreTokens(q)}
	match, _ := p.or(0)
	for _, t := range p.tokens[p.at:] {
		p.ignore("the unexpected %q", t.text)
	}
	return Filter{Match: match, Ignored: p.ignored}
}

// maxExploreDepth bounds how deep a question nests, as servers do with filters.
const maxExploreDepth = 32

type exploreKind byte

const (
	exploreWord exploreKind = iota
	explorePhrase
	exploreOperator
	exploreOpen
	exploreClose
)

type exploreToken struct {
	kind exploreKind
	text string
	// glued says that nothing stands between this token and the one before.
	glued bool
}

const exploreOperators = "=!<>:~^"

// exploreTokens cuts a question into tokens. What follows an operator is one value up to the next blank or bracket.
func exploreTokens(q string) (out []exploreToken) {
	for i := 0; i < len(q); {
		start := i
		for i < len(q) && strings.IndexByte(" \t\r\n", q[i]) >= 0 {
			i++
		}
		if i == len(q) {
			break
		}
		t := exploreToken{glued: i == start && i > 0}
		afterOperator := t.glued && len(out) > 0 && out[len(out)-1].kind == exploreOperator
		switch c := q[i]; {
		case c == '(':
			t.kind, t.text, i = exploreOpen, "(", i+1
		case c == ')':
			t.kind, t.text, i = exploreClose, ")", i+1
		case c == '"':
			t.kind = explorePhrase
			t.text, i = explorePhraseAt(q, i+1)
		case strings.IndexByte(exploreOperators, c) >= 0:
			t.kind, t.text, i = exploreOperator, string(c), i+1
			if i < len(q) && q[i] == '=' && (c == '!' || c == '<' || c == '>') {
				t.text, i = t.text+"=", i+1
			}
		default:
			end := i
			for end < len(q) && strings.IndexByte(" \t\r\n()\"", q[end]) < 0 && (afterOperator || strings.IndexByte(exploreOperators, q[end]) < 0) {
				end++
			}
			t.text, i = q[i:end], end
		}
		out = append(out, t)
	}
	return out
}

func explorePhraseAt(q string, i int) (string, int) {
	var b strings.Builder
	for ; i < len(q) && q[i] != '"'; i++ {
		if q[i] == '\\' && i+1 < len(q) {
			i++
		}
		b.WriteByte(q[i])
	}
	return b.String(), min(i+1, len(q))
}

type exploreParser struct {
	tokens  []exploreToken
	at      int
	ignored []string
}

func (p *exploreParser) ignore(format string, args ...any) {
	p.ignored = append(p.ignored, fmt.Sprintf(format, args...))
}

func (p *exploreParser) peek(ahead int) exploreToken {
	if p.at+ahead < len(p.tokens) {
		return p.tokens[p.at+ahead]
	}
	return exploreToken{kind: exploreClose}
}

// or reads alternatives. plain tells whether all of it is conditions: an alternative of words makes the whole mean nothing.
func (p *exploreParser) or(depth int) (match map[string]any, plain bool) {
	var filters []any
	plain = true
	lost := false
	for {
		m, all := p.and(depth)
		if m == nil {
			lost = true
		} else {
			filters = append(filters, m)
		}
		plain = plain && all
		if t := p.peek(0); t.kind != exploreWord || t.text != "OR" {
			break
		}
		p.at++
	}
	if lost && len(filters) > 0 {
		p.ignore("conditions beside OR and words")
		return nil, false
	}
	return joined("or", filters), plain
}

func (p *exploreParser) and(depth int) (match map[string]any, plain bool) {
	var filters []any
	plain = true
	for first := true; first || p.begins(); first = false {
		m, all := p.term(depth)
		if m != nil {
			filters = append(filters, m)
		}
		plain = plain && all
		if t := p.peek(0); t.kind == exploreWord && t.text == "AND" {
			p.at++
		}
	}
	return joined("and", filters), plain
}

// begins tells whether another term follows.
func (p *exploreParser) begins() bool {
	t := p.peek(0)
	return p.at < len(p.tokens) && t.kind != exploreClose && t.kind != exploreOperator && (t.kind != exploreWord || t.text != "OR")
}

func joined(how string, filters []any) map[string]any {
	switch len(filters) {
	case 0:
		return nil
	case 1:
		one, _ := filters[0].(map[string]any)
		return one
	}
	return map[string]any{how: map[string]any{"filters": filters}}
}

func (p *exploreParser) term(depth int) (match map[string]any, plain bool) {
	for p.at < len(p.tokens) && p.tokens[p.at].kind == exploreOperator {
		p.ignore("the unexpected %q", p.tokens[p.at].text)
		p.at++
	}
	if p.at >= len(p.tokens) {
		return nil, true
	}
	t := p.tokens[p.at]
	switch {
	case t.kind == exploreClose:
		return nil, true
	case t.kind == exploreOpen:
		return p.group(depth)
	case t.kind == exploreWord && t.text == "NOT" && p.at+1 < len(p.tokens) && depth < maxExploreDepth:
		p.at++
		m, all := p.term(depth + 1)
		if m != nil && !all {
			p.ignore("NOT over words")
		}
		if m == nil || !all {
			return nil, false
		}
		return map[string]any{"not": map[string]any{"filter": m}}, true
	}
	p.at++
	if t.kind == exploreWord && p.peek(0).kind == exploreOperator && p.peek(0).glued {
		return p.predicate(t.text)
	}
	p.ignore("the words %q", t.text)
	return nil, false
}

func (p *exploreParser) group(depth int) (map[string]any, bool) {
	p.at++
	if depth >= maxExploreDepth {
		p.ignore("what is nested deeper than %d", maxExploreDepth)
		p.at = len(p.tokens)
		return nil, false
	}
	m, all := p.or(depth + 1)
	if p.at < len(p.tokens) && p.tokens[p.at].kind == exploreClose {
		p.at++
	} else {
		p.ignore("a parenthesis that is not closed")
	}
	return m, all
}

// predicate reads the operator and the value of a key.
func (p *exploreParser) predicate(key string) (map[string]any, bool) {
	operator := p.tokens[p.at].text
	p.at++
	value := p.peek(0)
	if !value.glued || value.kind != exploreWord && value.kind != explorePhrase {
		p.ignore("%s%s, which needs a value", key, operator)
		return nil, false
	}
	p.at++
	if operator == ":" {
		if match, known := special(key, value.text); known {
			if match == nil {
				p.ignore("%s:%s", key, value.text)
			}
			return match, true
		}
	}
	switch operator {
	case ":", "~":
		return map[string]any{"stringMatch": map[string]any{"key": key, "value": value.text}}, true
	case "^":
		return map[string]any{"stringMatch": map[string]any{"key": key, "value": value.text, "prefix": true}}, true
	}
	name, ok := comparisons[operator]
	if !ok {
		p.ignore("%s%s%s", key, operator, value.text)
		return nil, false
	}
	return map[string]any{"comparison": map[string]any{"key": key, "operator": name, "value": scalar(value)}}, true
}

var comparisons = map[string]string{
	"=": "EQUAL", "!=": "NOT_EQUAL", "<": "LESS_THAN", "<=": "LESS_THAN_OR_EQUAL", ">": "GREATER_THAN", ">=": "GREATER_THAN_OR_EQUAL",
}

var integerValue = regexp.MustCompile(`^-?[0-9]{1,18}$`)

// scalar is a value with its type: whole numbers, true and false, and everything else as text.
func scalar(t exploreToken) map[string]any {
	switch {
	case t.kind == explorePhrase:
	case integerValue.MatchString(t.text):
		n, err := strconv.ParseInt(t.text, 10, 64)
		if err == nil {
			return map[string]any{"intValue": strconv.FormatInt(n, 10)}
		}
	case t.text == "true" || t.text == "false":
		return map[string]any{"boolValue": t.text == "true"}
	}
	return map[string]any{"stringValue": t.text}
}

// special are the words with a meaning of their own before a colon. Those that choose kinds of entities or how results are shown are
// no conditions.
func special(key, value string) (match map[string]any, known bool) {
	switch key {
	case "has":
		return map[string]any{"exists": map[string]any{"key": value}}, true
	case "missing":
		return map[string]any{"missing": map[string]any{"key": value}}, true
	case "in":
		if strings.HasPrefix(value, "hm://") {
			return map[string]any{"urlMatch": map[string]any{"url": strings.TrimRight(value, "/"), "prefix": true}}, true
		}
		return map[string]any{"spaceMatch": map[string]any{"space": value}}, true
	case "path":
		if short, below := strings.CutSuffix(value, "/*"); below {
			return map[string]any{"pathMatch": map[string]any{"path": short, "prefix": true}}, true
		}
		return map[string]any{"pathMatch": map[string]any{"path": value}}, true
	case "type":
		return nil, value == "document" || value == "comment" || value == "block"
	case "view", "cols", "sort":
		return nil, true
	}
	return nil, false
}
