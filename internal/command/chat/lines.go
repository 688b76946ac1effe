package chat

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"golang.org/x/term"
)

// maxLine bounds a line that is read from a pipe, in bytes: what a server takes in one message.
const maxLine = 64 << 10

// PipeLines reads lines from anything, such as a pipe or a terminal that knows no control sequences. With a prompt it
// writes that before each line.
func PipeLines(in io.Reader, out io.Writer, prompt string) LineReader {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(make([]byte, 0, 4096), maxLine+2)
	return &pipeLines{scanner: scanner, out: out, prompt: prompt}
}

type pipeLines struct {
	scanner *bufio.Scanner
	out     io.Writer
	prompt  string
}

// Read implements LineReader.
func (p *pipeLines) Read(more bool) (string, error) {
	if p.prompt != "" {
		fmt.Fprint(p.out, prompts(p.prompt, more))
	}
	if p.scanner.Scan() {
		return p.scanner.Text(), nil
	}
	if err := p.scanner.Err(); err != nil {
		return "", fmt.Errorf("read the next line: %w", err)
	}
	if p.prompt != "" {
		// The shell's prompt shall not stand behind this one.
		fmt.Fprintln(p.out)
	}
	return "", io.EOF
}

// Release implements LineReader.
func (p *pipeLines) Release() {}

func prompts(prompt string, more bool) string {
	if more {
		return strings.Repeat(".", max(len([]rune(prompt))-1, 1)) + " "
	}
	return prompt
}

// TerminalLines edits lines on a terminal, with history. The terminal is in raw mode only while a line is read, so that
// Ctrl-C is a signal at all other times. Pasted lines become one message.
func TerminalLines(in, out *os.File, prompt string) LineReader {
	editor := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, out}, prompt)
	return &terminalLines{in: in, out: out, prompt: prompt, editor: editor}
}

type terminalLines struct {
	in, out *os.File
	prompt  string
	editor  *term.Terminal
	// cooked is the terminal's state outside of Read.
	cooked atomic.Pointer[term.State]
}

// Release implements LineReader.
func (t *terminalLines) Release() {
	if state := t.cooked.Swap(nil); state != nil {
		_ = term.Restore(int(t.in.Fd()), state)
	}
}

// Read implements LineReader.
func (t *terminalLines) Read(more bool) (line string, err error) {
	state, err := term.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return "", fmt.Errorf("prepare the terminal: %w", err)
	}
	t.cooked.Store(state)
	defer func() {
		t.editor.SetBracketedPasteMode(false)
		t.Release()
		if errors.Is(err, io.EOF) {
			// The shell's prompt shall not stand behind this one.
			fmt.Fprintln(t.out)
		}
	}()
	if width, height, err := term.GetSize(int(t.out.Fd())); err == nil && width > 0 {
		// The editor's only error is that of writing, which the next write reports too.
		_ = t.editor.SetSize(width, height)
	}
	t.editor.SetBracketedPasteMode(true)
	t.editor.SetPrompt(prompts(t.prompt, more))
	var pasted strings.Builder
	for {
		line, err = t.editor.ReadLine()
		if !errors.Is(err, term.ErrPasteIndicator) {
			return pasted.String() + line, err
		}
		pasted.WriteString(line + "\n")
		t.editor.SetPrompt(prompts(t.prompt, true))
	}
}
