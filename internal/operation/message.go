package operation

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/engine"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/spawn"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

func messageOperations() []Operation {
	return []Operation{
		{Name: "MessageSession", Response: "MessageSessionResponse", Access: Chat, Effect: Mutation, Since: "0.1", handle: messageSession,
			Route: &Route{Method: "POST", Path: "/sessions/{sessionId}/messages", Summary: "Send a message",
				Note:    "Answers when the turn has ended; with `Prefer: respond-async`, as soon as the message is durable, with 202. A message that waits behind another turn, or whose turn waits for children or a person, has an empty assistantEventId: follow the stream.",
				Request: MessageFields{}, Reply: TurnAnswer{}, present: presentTurn}},
		{Name: "RetrySession", Response: "RetrySessionResponse", Access: Chat, Effect: Mutation, Since: "0.1", handle: retrySession,
			Route: &Route{Method: "POST", Path: "/sessions/{sessionId}/retry", Summary: "Run a failed turn again",
				Note:    "Answers when the turn has ended; with `Prefer: respond-async` at once, with 202.",
				Request: wire.SessionRequest{}, Reply: TurnAnswer{}, present: presentTurn}},
	}
}

// Limits of a message (spec §3.0).
const (
	maxMessageBytes   = 64 << 10
	maxBlocksBytes    = 1 << 20
	maxContextLines   = 64
	maxContextBytes   = 2 << 10
	maxMessageFiles   = 16
	maxMessageTexts   = 64
	maxRunTitleLength = 80
)

// content is a message as it was sent, checked.
type content struct {
	texts       []textPart
	lines       []string
	attachments []string
}

type textPart struct {
	Text            string
	Blocks          json.RawMessage
	ClientMessageID string
}

func parseContent(parts []json.RawMessage) (content, error) {
	var out content
	size := 0
	for i, raw := range parts {
		var head struct{ Type string }
		if err := json.Unmarshal(raw, &head); err != nil {
			return content{}, fault.Invalid("content[%d] is not a message part", i)
		}
		switch head.Type {
		case "text":
			p, err := parseText(raw, i)
			if err != nil {
				return content{}, err
			}
			size += len(p.Text) + min(len(out.texts), 1)
			out.texts = append(out.texts, p)
		case "context":
			var p struct{ Lines []string }
			if err := json.Unmarshal(raw, &p); err != nil {
				return content{}, fault.Invalid("content[%d].lines must be a list of texts", i)
			}
			out.lines = append(out.lines, p.Lines...)
		case "attachment":
			var p struct{ ID string }
			// What is not text is no id, as an absent one.
			_ = json.Unmarshal(raw, &p)
			id, err := bounded.Name(p.ID, "Attachment ID")
			if err != nil {
				return content{}, err
			}
			out.attachments = append(out.attachments, id)
		default:
			return content{}, fault.Invalid("content[%d] has the unknown type %q: use text, context or attachment", i, head.Type)
		}
	}
	return out, out.check(size)
}

// parseText reads the i-th part. Its blocks are the client's own rendering of the text; they are kept as they are.
func parseText(raw json.RawMessage, i int) (p textPart, err error) {
	var in struct {
		Text            any
		Blocks          json.RawMessage
		ClientMessageID any
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return p, fault.Invalid("content[%d] is not a message part", i)
	}
	if p.Text, _ = in.Text.(string); strings.TrimSpace(p.Text) == "" {
		return p, fault.Invalid("%s", wire.MsgRequired("Message text"))
	}
	if in.ClientMessageID != nil {
		id, _ := in.ClientMessageID.(string)
		if p.ClientMessageID, err = bounded.Name(id, "Client message ID"); err != nil {
			return p, err
		}
	}
	switch {
	case len(in.Blocks) == 0 || string(in.Blocks) == "null":
	case in.Blocks[0] != '[':
		return p, fault.Invalid("content[%d].blocks must be a list", i)
	case len(in.Blocks) > maxBlocksBytes:
		return p, fault.Invalid("Message blocks are too large").With("limit", maxBlocksBytes)
	default:
		p.Blocks = in.Blocks
	}
	return p, nil
}

func (m *content) check(size int) error {
	switch {
	case len(m.texts) == 0:
		return fault.Invalid("%s", wire.MsgRequired("Message text"))
	case size > maxMessageBytes:
		return fault.Invalid("%s", wire.MsgTooLarge("Message text")).With("limit", maxMessageBytes)
	case len(m.texts) > maxMessageTexts:
		return fault.Invalid("Too many text parts: at most %d", maxMessageTexts)
	case len(m.lines) > maxContextLines:
		return fault.Invalid("Too many context lines: at most %d", maxContextLines)
	case len(m.attachments) > maxMessageFiles:
		return fault.Invalid("Too many attachments: at most %d", maxMessageFiles)
	}
	for _, line := range m.lines {
		if len(line) > maxContextBytes {
			return fault.Invalid("%s", wire.MsgTooLarge("Context line")).With("limit", maxContextBytes)
		}
	}
	return nil
}

func messageSession(ctx context.Context, c *Call) (Result, error) {
	var req wire.MessageSessionRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	sessionID, err := bounded.Name(req.SessionID, "Session ID")
	if err != nil {
		return Result{}, err
	}
	m, err := parseContent(req.Content)
	if err != nil {
		return Result{}, err
	}
	same := once{
		id: req.ClientMessageID, label: "Client message ID", session: sessionID,
		request: map[string]any{"sessionId": sessionID, "content": c.fields["content"]},
	}
	var out Result
	err = c.whenNobodyActs(ctx, sessionID, func() (err error) {
		out, err = c.startMessage(ctx, same, sessionID, &m, req.ClientMessageID)
		return err
	})
	return out, err
}

func (c *Call) startMessage(ctx context.Context, same once, sessionID string, m *content, clientMessageID *string) (Result, error) {
	return c.startTurn(ctx, same, func(tx store.Tx, runID string) (pending, error) {
		s, found, err := c.onSession(tx, sessionID)
		if err != nil {
			return pending{}, err
		}
		if c.acting.busy(sessionID) {
			return pending{}, fault.New(fault.Conflict, msgPersonBusy)
		}
		if err := c.nobodyActs(tx, sessionID); err != nil {
			return pending{}, err
		}
		entries, err := c.userEvents(tx, sessionID, m, clientMessageID)
		if err != nil {
			return pending{}, err
		}
		events, err := c.opts.Log.Append(tx, sessionID, nil, entries...)
		if err != nil {
			return pending{}, err
		}
		input := engine.Input{Kind: "message", FirstSeq: events[0].Seq, LastSeq: events[len(events)-1].Seq}
		return c.enqueueTurn(tx, runID, &s, found, runTitle(m.texts[0].Text), input.LastSeq, input)
	})
}

// userEvents are the user messages of a request. Context lines and attachments belong to the first one.
func (c *Call) userEvents(tx store.Tx, sessionID string, m *content, clientMessageID *string) ([]sessionlog.Entry, error) {
	entries := make([]sessionlog.Entry, len(m.texts))
	for i, p := range m.texts {
		ev := wire.MessageEvent{
			Type: sessionlog.TypeMessage, Role: "user", Content: p.Text, RawMarkdown: p.Text, Blocks: p.Blocks,
			ClientMessageID: p.ClientMessageID, Meta: &wire.EventMeta{AccountID: c.Caller.Account, SignerID: c.Caller.Signer},
		}
		if i == 0 {
			ev.ContextLines = m.lines
			if ev.ClientMessageID == "" && clientMessageID != nil {
				ev.ClientMessageID = strings.TrimSpace(*clientMessageID)
			}
			for _, id := range m.attachments {
				a, err := sessionlog.GetAttachment(tx, sessionID, id)
				if err != nil {
					return nil, err
				}
				ev.Attachments = append(ev.Attachments, wire.AttachmentRef{ID: a.ID, Name: a.Name, MimeType: a.MimeType, Size: a.Size})
			}
		}
		entries[i] = sessionlog.Entry{Payload: ev}
	}
	return entries, nil
}

// runTitle is the first line of what a turn was started with.
func runTitle(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, line)
	if strings.TrimSpace(line) == "" {
		return "Message"
	}
	if r := []rune(line); len(r) > maxRunTitleLength {
		return string(r[:maxRunTitleLength-1]) + "…"
	}
	return line
}

func retrySession(ctx context.Context, c *Call) (Result, error) {
	sessionID, err := c.sessionID()
	if err != nil {
		return Result{}, err
	}
	return c.startTurn(ctx, once{session: sessionID}, func(tx store.Tx, runID string) (pending, error) {
		s, found, err := c.onSession(tx, sessionID)
		if err != nil {
			return pending{}, err
		}
		busy, err := runs.SessionBusy(tx, sessionID, "")
		if err != nil {
			return pending{}, err
		}
		if busy {
			return pending{}, fault.New(fault.Conflict, "Session is already streaming")
		}
		latest, ok, err := runs.Latest(tx, sessionID)
		if err != nil {
			return pending{}, err
		}
		if !ok || latest.Status != runs.Failed {
			return pending{}, fault.Invalid("Nothing to retry: the latest run did not fail")
		}
		return c.enqueueTurn(tx, runID, &s, found, latest.Title, s.LastSeq, engine.Input{Kind: "session-retry", RetryOf: latest.ID})
	})
}

func (c *Call) enqueueTurn(tx store.Tx, runID string, s *sessionlog.Session, found access, title string, seq int64, input engine.Input) (pending, error) {
	body, err := json.Marshal(input)
	if err != nil {
		return pending{}, fmt.Errorf("encode run input: %w", err)
	}
	spec := runs.Spec{
		ID: runID, Account: s.Account, Kind: runs.KindAgent, Agent: s.Agent, AgentVersion: found.agent.Version, Session: s.ID, Origin: "user",
		Title: title, Lane: runs.Interactive, MaxAttempts: 1, Input: body, Budget: spawn.RootBudget(s, found.agent.Definition),
	}
	if err := spawn.Rejoin(tx, s, &spec); err != nil {
		return pending{}, err
	}
	run, err := c.opts.Runs.Enqueue(tx, spec)
	if err != nil {
		return pending{}, err
	}
	p := pending{Session: s.ID, Run: run.ID, Response: c.op.Response, Wait: true, Seq: seq}
	if run.Status == runs.Queued {
		var busy bool
		busy, err = runs.SessionBusy(tx, s.ID, run.ID)
		p.Wait = !busy
	}
	return p, err
}

// pending stands for the answer of a turn in the records of repetitions: whoever repeats the request waits for the same run.
type pending struct {
	Session  string `json:"session"`
	Run      string `json:"run"`
	Response string `json:"response"`
	// Wait says that the answer comes when the turn ends; otherwise the turn queues behind another and is followed on the
	// stream.
	Wait bool `json:"wait"`
	// Seq is that of the last event before the turn.
	Seq int64 `json:"seq"`
}

const pendingName = "loam.pendingTurn"

func encodeRecord(response string, value any) ([]byte, error) {
	switch v := value.(type) {
	case pending:
		response = pendingName
	case keptWithout:
		value = v.recorded()
	case shownOnce:
		return wire.EncodeResponse(shownOnceName, struct{}{})
	}
	return wire.EncodeResponse(response, value)
}

// keptWithout is an answer with a secret: its record holds what recorded returns, which has none.
type keptWithout interface{ recorded() any }

// shownOnce is an answer with a secret, of which no record may hold a copy.
type shownOnce interface{ shownOnce() }

const shownOnceName = "loam.shownOnce"

func wasShownOnce(body []byte) bool {
	var p struct {
		Name string `json:"_"`
	}
	return dagcbor.Unmarshal(body, &p) == nil && p.Name == shownOnceName
}

func parsePending(body []byte) (pending, bool) {
	var p struct {
		Name string `json:"_"`
		pending
	}
	if err := dagcbor.Unmarshal(body, &p); err != nil || p.Name != pendingName {
		return pending{}, false
	}
	return p.pending, true
}

// startTurn commits what starts a turn and then waits for the turn, unless another turn of the session comes first. fn is given
// the id of the run to make.
func (c *Call) startTurn(ctx context.Context, o once, fn func(tx store.Tx, runID string) (pending, error)) (Result, error) {
	if err := c.opts.Quota.Message(c.Caller.Account); err != nil {
		return Result{}, err
	}
	runID := c.opts.IDs()
	// The run may end before the commit returns to us.
	waiter := c.opts.Runs.Expect(runID)
	defer waiter.Close()
	out, err := c.commit(ctx, o, func(tx store.Tx) (any, error) { return fn(tx, runID) })
	if err != nil {
		return Result{}, err
	}
	if p, ok := out.Value.(pending); ok {
		c.opts.Point(PointUserAppended)
		return c.answer(ctx, p, waiter.Wait)
	}
	return out, nil
}

// follow answers like the first time, when the run may have ended long ago.
func (c *Call) follow(ctx context.Context, p pending) (Result, error) {
	return c.answer(ctx, p, func(ctx context.Context) (runs.Run, error) { return c.opts.Runs.Await(ctx, p.Run) })
}

func (c *Call) answer(ctx context.Context, p pending, await func(context.Context) (runs.Run, error)) (Result, error) {
	if c.Caller.Async {
		return Result{Value: p}, nil
	}
	answer := wire.MessageSessionResponse{SessionID: p.Session}
	if !p.Wait {
		return Result{Value: answer}, nil
	}
	run, err := await(ctx)
	if err != nil {
		return Result{}, err
	}
	if run.Status == runs.Failed {
		return Result{}, turnError(run.Error)
	}
	var output spawn.Output
	if len(run.Output) > 0 {
		if err := json.Unmarshal(run.Output, &output); err != nil {
			return Result{}, fmt.Errorf("decode output of run %s: %w", run.ID, err)
		}
	}
	answer.AssistantEventID, answer.ContinuedToSessionID = output.AssistantEventID, output.ContinuedTo
	return Result{Value: answer}, nil
}

// turnError is the answer of a turn that failed: 400 when the configuration was wrong, else 502.
func turnError(e *wire.RunError) error {
	if e.Code == runs.CodeConfigError {
		return fault.Invalid("%s", e.Message)
	}
	f := fault.New(fault.ProviderError, "%s", e.Message)
	f.HTTPStatus = http.StatusBadGateway
	return f
}
