package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/wire"
)

// Talk is the dialogue of a person with one agent.
type Talk struct {
	// Client speaks to the server, and Conversation through it.
	Client       *client.Client
	Conversation *Conversation
	Agent        wire.AgentInfo
	// Printer is the view of the conversation.
	Printer *Printer
	Lines   LineReader
	// OnInterrupt gives Ctrl-C to a function until restore is called; nil leaves it alone.
	OnInterrupt func(handle func()) (restore func())

	failed error
}

// LineReader gives what a person types.
type LineReader interface {
	// Read returns one line without its end. io.EOF says that the person wants to leave. more asks for the next line of one
	// message.
	Read(more bool) (string, error)
	// Release puts the terminal back in order while a Read has not returned. It may be called from another goroutine.
	Release()
}

// Run reads and answers until the person leaves or ctx ends, which is no error. The error is that of the last turn when it
// failed.
func (t *Talk) Run(ctx context.Context) error {
	for {
		text, err := t.message(ctx)
		switch {
		case errors.Is(err, io.EOF) || ctx.Err() != nil:
			return t.failed
		case err != nil:
			return err
		case text == "":
		case text == "/quit" || text == "/exit":
			return t.failed
		case strings.HasPrefix(text, "/"):
			t.command(ctx, text)
		default:
			t.turn(ctx, func(ctx context.Context) error { return t.Conversation.Say(ctx, text, t.Printer.Own) })
		}
	}
}

// message reads one message, which may span lines.
func (t *Talk) message(ctx context.Context) (string, error) {
	var lines []string
	for {
		line, err := t.line(ctx, len(lines) > 0)
		if err != nil && (!errors.Is(err, io.EOF) || line == "" && len(lines) == 0) {
			return "", err
		}
		rest, more := strings.CutSuffix(line, `\`)
		lines = append(lines, rest)
		if !more || err != nil {
			return strings.TrimSpace(strings.Join(lines, "\n")), nil
		}
	}
}

// line reads one line. Meanwhile the live stream is kept from filling up.
func (t *Talk) line(ctx context.Context, more bool) (string, error) {
	type input struct {
		text string
		err  error
	}
	read := make(chan input, 1)
	// A read from a terminal cannot be called off. When ctx ends first, the process is about to end as well.
	go func() {
		text, err := t.Lines.Read(more)
		read <- input{text, err}
	}()
	for {
		select {
		case in := <-read:
			return in.text, in.err
		case f := <-t.Conversation.frames:
			t.Conversation.hold(f)
		case <-ctx.Done():
			t.Lines.Release()
			return "", ctx.Err()
		}
	}
}

// turn shows a turn and what went wrong with it. Ctrl-C stops it.
func (t *Talk) turn(ctx context.Context, run func(context.Context) error) {
	if t.OnInterrupt != nil {
		defer t.OnInterrupt(t.Conversation.Interrupt)()
	}
	t.failed = run(ctx)
	t.Printer.Discard()
	switch err := t.failed; {
	case err == nil || ctx.Err() != nil:
	case errors.Is(err, ErrStopped):
		t.Printer.Note("(stopped)")
		t.failed = nil
	case errors.Is(err, context.Canceled):
		t.Printer.Note("(no longer waiting; the server may still work on it)")
	case errors.Is(err, ErrTurnFailed):
		t.Printer.Note("/retry tries again.")
	default:
		t.Printer.Fault(err.Error())
	}
}

const help = `/new       start another conversation
/sessions  list the latest conversations with this agent
/memory    list what the agent has written down
/stop      stop what the agent does in this conversation
/retry     try the last turn again after it failed
/quit      leave, as Ctrl-D does
A backslash at the end of a line continues the message on the next one. Ctrl-C stops a turn.`

// command carries out a line that begins with a slash.
func (t *Talk) command(ctx context.Context, text string) {
	var err error
	switch text {
	case "/help":
		t.Printer.Note(help)
	case "/new":
		t.Conversation.Leave()
		t.Printer.Note("The next message starts another conversation.")
	case "/sessions":
		err = t.sessions(ctx)
	case "/memory":
		err = t.memory(ctx)
	case "/stop":
		err = t.stop(ctx)
	case "/retry":
		if t.Conversation.SessionID() == "" {
			t.Printer.Note("There is nothing to try again yet.")
			return
		}
		t.turn(ctx, t.Conversation.Retry)
	default:
		t.Printer.Note("There is no command " + oneLine(text, 40) + "; /help lists them.")
	}
	if err != nil {
		t.Printer.Fault(err.Error())
	}
}

func (t *Talk) stop(ctx context.Context) error {
	stopped, err := t.Conversation.Stop(ctx)
	switch {
	case err != nil:
		return err
	case stopped:
		t.Printer.Note("(stopped)")
	default:
		t.Printer.Note("Nothing is running.")
	}
	return nil
}

// listed is how many sessions /sessions lists.
const listed = 10

func (t *Talk) sessions(ctx context.Context) error {
	limit, children := int64(listed), false
	reply, err := client.Call[wire.ListSessionsResponse](ctx, t.Client, "ListSessions", wire.ListSessionsRequest{
		AgentID: &t.Agent.ID, Limit: &limit, IncludeChildren: &children,
	})
	if err != nil {
		return err
	}
	if len(reply.Sessions) == 0 {
		t.Printer.Note("There are none yet.")
	}
	for _, s := range reply.Sessions {
		mark := " "
		if s.ID == t.Conversation.SessionID() {
			mark = "*"
		}
		t.Printer.Note(fmt.Sprintf("%s %s  %s", mark, s.ID, oneLine(s.Title, 60)))
	}
	if len(reply.Sessions) > 0 {
		t.Printer.Note("`loam chat --session ID` goes on with one of them.")
	}
	return nil
}

func (t *Talk) memory(ctx context.Context) error {
	reply, err := client.Call[wire.ListAgentMemoryResponse](ctx, t.Client, "ListAgentMemory", wire.AgentRequest{AgentID: t.Agent.ID})
	if err != nil {
		return err
	}
	if len(reply.Entries) == 0 {
		t.Printer.Note("The agent has written nothing down yet.")
	}
	for _, e := range reply.Entries {
		if e.Type == "file" {
			t.Printer.Note(fmt.Sprintf("~/memory/%s  %d bytes", oneLine(strings.TrimPrefix(e.Path, "/"), 200), e.Size))
		}
	}
	return nil
}
