package postgres

import (
	"strconv"
	"strings"
)

// rebind turns the ? placeholders of a statement into $1, $2, … and leaves question marks alone that stand in strings,
// quoted names, comments and dollar-quoted bodies. The operators of PostgreSQL that contain a question mark are not
// available; the functions behind them are.
func rebind(query string) string {
	if !strings.Contains(query, "?") {
		return query
	}
	var out strings.Builder
	out.Grow(len(query) + 16)
	n := 0
	for i := 0; i < len(query); {
		if query[i] == '?' {
			n++
			out.WriteByte('$')
			out.WriteString(strconv.Itoa(n))
			i++
			continue
		}
		end := i + tokenLength(query[i:])
		out.WriteString(query[i:end])
		i = end
	}
	return out.String()
}

// tokenLength is the length of the quoted part or comment that rest begins with, or 1. A part that is not closed reaches
// to the end; the server says what is wrong with it.
func tokenLength(rest string) int {
	switch {
	case rest[0] == '\'':
		return quotedLength(rest, '\'')
	case rest[0] == '"':
		return quotedLength(rest, '"')
	case strings.HasPrefix(rest, "--"):
		return through(rest, 2, "\n")
	case strings.HasPrefix(rest, "/*"):
		return commentLength(rest)
	case rest[0] == '$':
		if tag := dollarTag(rest); tag != "" {
			return through(rest, len(tag), tag)
		}
	}
	return 1
}

// through is the length up to and with the next mark after from.
func through(rest string, from int, mark string) int {
	if i := strings.Index(rest[from:], mark); i >= 0 {
		return from + i + len(mark)
	}
	return len(rest)
}

// quotedLength ends at the closing quote. A doubled quote looks like two adjacent quoted parts, which is the same here.
func quotedLength(rest string, quote byte) int {
	return through(rest, 1, string(quote))
}

// commentLength respects that PostgreSQL's block comments nest.
func commentLength(rest string) int {
	depth := 0
	for i := 0; i+1 < len(rest); i++ {
		switch rest[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(rest)
}

// dollarTag returns the opening $tag$ of a dollar-quoted body, or nothing. A tag cannot start with a digit, so $1 is none.
func dollarTag(rest string) string {
	for i := 1; i < len(rest); i++ {
		c := rest[i]
		switch {
		case c == '$':
			return rest[:i+1]
		case c == '_', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= 0x80, i > 1 && c >= '0' && c <= '9':
		default:
			return ""
		}
	}
	return ""
}
