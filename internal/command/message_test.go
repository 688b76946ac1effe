package command

import (
	"errors"
	"testing"
)

func TestAnErrorSaysEverythingOnceAndOnOneLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"open f: database is corrupt: restore a backup: database is corrupt: restore a backup: no database (26)": "open f: database is corrupt: restore a backup: no database (26)",
		"it cannot be reached by anybody: it cannot be reached by anybody: refused":                              "it cannot be reached by anybody: refused",
		"no connection:\n\t127.0.0.1:1: refused\n\t127.0.0.1:1: refused\n":                                       "no connection:; 127.0.0.1:1: refused",
		"a: b: a: b": "a: b: a: b",
	} {
		if got := message(errors.New(text)); got != want {
			t.Errorf("message(%q) = %q, want %q", text, got, want)
		}
	}
}
