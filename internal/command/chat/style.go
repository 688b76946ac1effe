package chat

import (
	"strings"
	"unicode"
)

// Style says how text may look.
type Style struct {
	// Color permits escape sequences; without it there is plain text only.
	Color bool
}

func (s Style) paint(code, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s Style) dim(text string) string   { return s.paint("2", text) }
func (s Style) bold(text string) string  { return s.paint("1", text) }
func (s Style) alarm(text string) string { return s.paint("31", text) }

// harmless takes from text what would control a terminal. Line breaks and tabs stay.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) && !isFormat(r) {
			return r
		}
		return -1
	}, text)
}

// isFormat finds the characters that turn the direction of what follows.
func isFormat(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// oneLine puts text on one line of at most limit characters.
func oneLine(text string, limit int) string {
	text = strings.Join(strings.Fields(harmless(text)), " ")
	if r := []rune(text); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return text
}
