package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/command/chat"
	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/wire"
)

type sendCommand struct {
	connection
	which
	JSON bool   `help:"Print every event of the conversation from this message on as a line of JSON."`
	Text string `arg:"" help:"The message; - reads it from standard input."`
}

// maxMessage bounds a message, in bytes: what a server takes.
const maxMessage = 64 << 10

// Run sends one message and prints the answer.
func (c *sendCommand) Run(ctx context.Context, a *app) error {
	text, err := c.message(a)
	if err != nil {
		return err
	}
	var conversation *chat.Conversation
	cl, err := c.open(ctx, a, onDisconnect(&conversation))
	if err != nil {
		return err
	}
	agent, session, err := c.find(ctx, cl)
	if err != nil {
		return err
	}
	var view chat.View = &answerView{app: a}
	if c.JSON {
		view = &eventView{answerView{app: a}}
	}
	conversation = chat.New(cl, agent.ID, view)
	defer conversation.Close()
	if session != nil {
		last, err := lastSeq(ctx, cl, session.ID)
		if err != nil {
			return err
		}
		conversation.Resume(ctx, session.ID, last)
	}
	defer a.signals.onInterrupt(conversation.Interrupt)()
	return turnCode(conversation.Say(ctx, text, nil))
}

func (c *sendCommand) message(a *app) (string, error) {
	text := c.Text
	if text == "-" {
		read, err := io.ReadAll(io.LimitReader(a.in, maxMessage+1))
		if err != nil {
			return "", fmt.Errorf("read the message: %w", err)
		}
		text = string(read)
	}
	switch {
	case strings.TrimSpace(text) == "":
		return "", exitcode.With(exitcode.Usage, errors.New("the message is empty"))
	case len(text) > maxMessage:
		return "", exitcode.With(exitcode.Usage, fmt.Errorf("the message is larger than %d bytes", maxMessage))
	}
	return text, nil
}

func lastSeq(ctx context.Context, cl *client.Client, sessionID string) (int64, error) {
	one := int64(1)
	reply, err := client.Call[wire.GetSessionResponse](ctx, cl, "GetSession", wire.GetSessionRequest{SessionID: sessionID, Limit: &one})
	if err != nil || len(reply.Events) == 0 {
		return 0, err
	}
	return reply.Events[len(reply.Events)-1].Seq, nil
}

// answerView prints what the agent says, whole messages, and nothing else.
type answerView struct{ app *app }

// Event implements chat.View.
func (v *answerView) Event(e wire.SessionEvent) {
	if text, ok := chat.Answer(e); ok {
		_, _ = fmt.Fprintln(v.app.out, strings.TrimRight(text, "\n"))
	}
}

// Partial implements chat.View.
func (v *answerView) Partial(string, wire.PartialPatch) {}

// Session implements chat.View.
func (v *answerView) Session(wire.SessionInfo) {}

// Lost implements chat.View.
func (v *answerView) Lost(error) {
	_, _ = fmt.Fprintln(v.app.err, "loam: the connection is lost; waiting for the server")
}

// Back implements chat.View.
func (v *answerView) Back() {}

// Asked implements chat.View.
func (v *answerView) Asked(approvals []wire.ApprovalInfo) {
	for i := len(approvals) - 1; i >= 0; i-- {
		_, _ = fmt.Fprintln(v.app.err, "loam: "+printable(chat.Ask(approvals[i])))
	}
}

// eventView prints events as they are stored.
type eventView struct{ answerView }

// Event implements chat.View.
func (v *eventView) Event(e wire.SessionEvent) { _ = v.app.jsonLine(e) }
