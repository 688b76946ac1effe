package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/command/chat"
	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/wire"
)

type chatCommand struct {
	connection
	which
	New bool `help:"Start a new conversation, which is what happens anyway." xor:"session"`
}

// which says with whom to talk and in which conversation.
type which struct {
	Agent   string `help:"Name or id of the agent; the first one when not set." placeholder:"AGENT"`
	Session string `help:"Go on with this conversation." placeholder:"ID" xor:"session"`
	Last    bool   `help:"Go on with the latest conversation." xor:"session"`
}

// Run talks until the person leaves. When no server runs on the data folder, one runs for the time of the chat.
func (c *chatCommand) Run(ctx context.Context, a *app) error {
	if c.URL != "" {
		return c.talk(ctx, a)
	}
	if _, ok := a.running(ctx); ok {
		return c.talk(ctx, a)
	}
	serve, err := a.newServe()
	if err != nil {
		return exitcode.With(exitcode.Usage, err)
	}
	cfg, err := serve.configuration(a)
	if err != nil {
		return exitcode.With(exitcode.Usage, err)
	}
	// A free port: the usual one may belong to the server of another folder.
	cfg.Listen = "127.0.0.1:0"
	folder := a.folder()
	return a.host(ctx, cfg, func(ctx context.Context, _ hosted) error {
		_, _ = fmt.Fprintf(a.err, "No server runs on %s, so one was started for this chat. `loam serve%s` starts one that stays.\n", folder, a.dataFlag())
		return c.talk(ctx, a)
	})
}

// folder names the data folder in full, and says when it is about to be made.
func (a *app) folder() string {
	path := a.data
	if full, err := filepath.Abs(path); err == nil {
		path = full
	}
	if _, err := os.Stat(a.ownerKeyPath()); errors.Is(err, fs.ErrNotExist) {
		return printable(path) + " (new)"
	}
	return printable(path)
}

func (c *chatCommand) talk(ctx context.Context, a *app) error {
	var conversation *chat.Conversation
	cl, err := c.open(ctx, a, onDisconnect(&conversation))
	if err != nil {
		return err
	}
	agent, session, err := c.find(ctx, cl)
	if err != nil {
		return err
	}
	printer := chat.NewPrinter(a.out, chat.Style{Color: a.color(a.out)})
	conversation = chat.New(cl, agent.ID, printer)
	defer conversation.Close()
	a.introduce(agent)
	if session != nil {
		if err := goOn(ctx, cl, conversation, printer, *session); err != nil {
			return err
		}
	}
	talk := &chat.Talk{
		Client: cl, Conversation: conversation, Agent: agent, Printer: printer, Lines: a.lines(), OnInterrupt: a.signals.onInterrupt,
	}
	return turnCode(talk.Run(ctx))
}

// onDisconnect tells a conversation about broken connections. It is made after its client, and no stream begins before both.
func onDisconnect(conversation **chat.Conversation) client.Option {
	return client.WithOnDisconnect(func(_ string, err error, _ time.Duration) { (*conversation).Lost(err) })
}

// find looks up the agent, and the session to go on with; nil is a new one.
func (w *which) find(ctx context.Context, cl *client.Client) (wire.AgentInfo, *wire.SessionInfo, error) {
	if w.Session == "" {
		agent, err := findAgent(ctx, cl, w.Agent)
		if err != nil || !w.Last {
			return agent, nil, err
		}
		session, ok, err := latestSession(ctx, cl, agent.ID)
		if err != nil || !ok {
			return agent, nil, err
		}
		return agent, &session, nil
	}
	one := int64(1)
	reply, err := client.Call[wire.GetSessionResponse](ctx, cl, "GetSession", wire.GetSessionRequest{SessionID: w.Session, Limit: &one})
	if err != nil {
		return wire.AgentInfo{}, nil, err
	}
	agent, err := findAgent(ctx, cl, reply.Session.AgentID)
	if err == nil && w.Agent != "" {
		var other wire.AgentInfo
		if other, err = findAgent(ctx, cl, w.Agent); err == nil && other.ID != agent.ID {
			err = exitcode.With(exitcode.Usage, fmt.Errorf("the conversation is with the agent %s, not with %s", agent.Definition.Name, w.Agent))
		}
	}
	return agent, &reply.Session, err
}

const (
	// remembered is how many events of an old conversation are shown at least when it goes on.
	remembered = 8
	// fetched is how many are read, to find a message of the person among them.
	fetched = 64
)

// goOn shows the end of an old conversation and joins it.
func goOn(ctx context.Context, cl *client.Client, conversation *chat.Conversation, printer *chat.Printer, s wire.SessionInfo) error {
	limit := int64(fetched)
	reply, err := client.Call[wire.GetSessionResponse](ctx, cl, "GetSession", wire.GetSessionRequest{SessionID: s.ID, Limit: &limit})
	if err != nil {
		return err
	}
	latest := chat.Latest(reply.Events, remembered)
	if reply.HasMoreBefore || len(latest) < len(reply.Events) {
		printer.Note("… (`loam sessions show " + s.ID + "` prints the beginning)")
	}
	printer.Transcript(reply.Session, latest)
	last := int64(0)
	if n := len(reply.Events); n > 0 {
		last = reply.Events[n-1].Seq
	}
	conversation.Resume(ctx, s.ID, last)
	return nil
}

// introduce says with whom one talks. In a pipe that is no part of the answers.
func (a *app) introduce(agent wire.AgentInfo) {
	out, style := a.out, chat.Style{Color: a.color(a.out)}
	if !a.terminal() {
		out, style = a.err, chat.Style{}
	}
	d := agent.Definition
	p := chat.NewPrinter(out, style)
	p.Note(fmt.Sprintf("%s on %s (%s). /help lists commands, Ctrl-D leaves.", printable(d.Name), printable(d.Model), printable(d.ModelProvider)))
	if d.ModelProvider == tutorProvider {
		p.Note("The tutor is a small program and no language model. `loam providers set --help` connects a real one.")
	}
}

// lines is how this process reads what a person types.
func (a *app) lines() chat.LineReader {
	const prompt = "> "
	if !a.terminal() {
		return chat.PipeLines(a.in, a.out, "")
	}
	if kind, _ := a.lookup("TERM"); kind == "" || kind == "dumb" {
		return chat.PipeLines(a.in, a.out, prompt)
	}
	if out, ok := a.out.(*os.File); ok {
		return chat.TerminalLines(a.in, out, prompt)
	}
	return chat.PipeLines(a.in, a.out, prompt)
}

// turnCode gives the end of a turn its exit code.
func turnCode(err error) error {
	refused, ok := errors.AsType[*client.Error](err)
	if errors.Is(err, chat.ErrTurnFailed) || errors.Is(err, chat.ErrStopped) || ok && refused.Status == 502 {
		return exitcode.With(exitcode.TurnFailed, err)
	}
	return err
}
