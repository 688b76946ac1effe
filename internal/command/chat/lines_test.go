package chat_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/command/chat"
)

func TestTheEndOfTheInputEndsTheLineOfThePromptAndAddsNothingToAPipe(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]string{"> ": "> > \n", "": ""} {
		var out strings.Builder
		lines := chat.PipeLines(strings.NewReader("hello\n"), &out, prompt)
		if text, err := lines.Read(false); text != "hello" || err != nil {
			t.Errorf("Read() = %q, %v", text, err)
		}
		if _, err := lines.Read(false); !errors.Is(err, io.EOF) {
			t.Errorf("Read() at the end = %v", err)
		}
		if out.String() != want {
			t.Errorf("with the prompt %q: %q, want %q", prompt, out.String(), want)
		}
	}
}
