// Package searchtools is the builtin `search_tools`: it finds, by words, tools that an agent holds and does not see in its prompt.
//
// It is a callable (tier 4). The composition root hands it the registry.
package searchtools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/loam-agents/loam/internal/callable"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/tooldoc"
)

// Name of the tool.
const Name = "search_tools"

// defaultLimit is how many results there are when no limit is given; the contract states the others.
const defaultLimit = 10

// Tool is the callable.
type Tool struct {
	held func(ctx context.Context, scope space.Scope) (*callable.Held, error)
}

// New returns it over what agents hold.
func New(held func(ctx context.Context, scope space.Scope) (*callable.Held, error)) *Tool {
	return &Tool{held: held}
}

// Document implements callable.Callable.
func (*Tool) Document() tooldoc.Document {
	return tooldoc.Document{
		Name: Name, Summary: "Find a tool by what it does.",
		Description: "Search your tools by words of their names and descriptions. Use it when <space> does not list a tool that you need. " +
			"What it finds is used with `call`.",
		Input: json.RawMessage(`{"type":"object","properties":{` +
			`"query":{"type":"string","minLength":1,"maxLength":1024,"description":"Words, such as \"create issue\"."},` +
			`"limit":{"type":"integer","minimum":1,"maximum":50,"description":"At most this many; 10 unless given."}},` +
			`"required":["query"],"additionalProperties":false}`),
		Output: json.RawMessage(`{"type":"object","properties":{"summary":{"type":"string"},"tools":{"type":"array","items":{"type":"object",` +
			`"properties":{"name":{"type":"string"},"summary":{"type":"string"}}}}}}`),
	}
}

// Effect implements callable.Callable.
func (*Tool) Effect() tooldoc.Effect { return tooldoc.Pure }

// found is one result.
type found struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	score   int
}

// Call implements callable.Callable.
func (t *Tool) Call(ctx context.Context, scope space.Scope, input json.RawMessage) (space.Result, error) {
	var in struct {
		Query string
		Limit int
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, fault.Invalid("The input could not be read")
	}
	words := split(in.Query)
	if len(words) == 0 {
		return nil, fault.Invalid("Give at least one word to search for")
	}
	held, err := t.held(ctx, scope)
	if err != nil {
		return nil, err
	}
	results := []found{}
	for _, tool := range held.Tools() {
		d := &tool.Document
		if n := score(d, words); n > 0 && d.Name != Name {
			results = append(results, found{d.Name, d.Summary, n})
		}
	}
	slices.SortStableFunc(results, func(a, b found) int { return cmp.Compare(b.score, a.score) })
	total := len(results)
	results = results[:min(total, cmp.Or(in.Limit, defaultLimit))]
	summary := fmt.Sprintf("%d of %d tools fit; call one with {} to read its contract", len(results), total)
	if total == 0 {
		summary = "No tool fits these words; read ~/tools/ to list them all"
	}
	return space.Result{"summary": summary, "tools": results}, nil
}

// score counts how well a tool fits: its name weighs most. Every word must be somewhere.
func score(d *tooldoc.Document, words []string) int {
	name, summary, description := split(d.Name), split(d.Summary), split(d.Description)
	total := 0
	for _, w := range words {
		n := 8*matches(name, w) + 3*matches(summary, w) + matches(description, w)
		if n == 0 {
			return 0
		}
		total += n
	}
	return total
}

// matches is 2 when a word is in a text, 1 when one of the text begins with it.
func matches(text []string, word string) int {
	best := 0
	for _, t := range text {
		switch {
		case t == word:
			return 2
		case strings.HasPrefix(t, word):
			best = 1
		}
	}
	return best
}

func split(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
