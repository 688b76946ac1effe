package verbs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/tooldoc"
	"github.com/loam-agents/loam/wire"
)

// ContinueName is the name of the session verb `continue_session`.
const ContinueName = "continue_session"

// Limits of a continuation: bytes of the reason and of the whole handoff, and sources.
const (
	maxReasonBytes  = 1024
	maxHandoffBytes = 64 << 10
	maxSources      = 16
)

// Continue is the session verb `continue_session`: it carries the work of a thread into a fresh one and ends the turn. The successor
// begins with what the server and the model hand over, and with the user's message word for word, and its turn answers the user
// (spec §7.8).
type Continue struct {
	log    *sessionlog.Log
	router *space.Router
	queue  func() *runs.Queue
}

// NewContinue returns the verb. queue is asked when a turn is started: the queue stands above the verbs.
func NewContinue(log *sessionlog.Log, router *space.Router, queue func() *runs.Queue) *Continue {
	return &Continue{log: log, router: router, queue: queue}
}

// Document implements Verb.
func (*Continue) Document() tooldoc.Document {
	return tooldoc.Document{
		Name: ContinueName, Kind: tooldoc.Verb, Summary: "Go on in a fresh thread, which answers the user.",
		Description: "Carry the work into a fresh thread and end this turn: when <context_usage> is high, or the topic is a new one. The new " +
			"thread gets your handoff, the sources and the user's message; nothing else of this one. Call it alone. Further keys of " +
			"handoff become sections of their own. sources: {type: memory|resource|session_event|session_events, path|address|seq|fromSeq, " +
			"toSeq}. transfer.plan: carry (default), close or omit.",
		Input: json.RawMessage(`{"type":"object","properties":{` +
			`"reason":{"type":"string"},"title":{"type":"string","maxLength":256},"description":{"type":"string","maxLength":1024},` +
			`"handoff":{"type":"object","properties":{"purpose":{"type":"string"},"currentRequest":{"type":"string"},"establishedFacts":{},` +
			`"decisions":{},"openQuestions":{},"nextActions":{},"cautions":{}},"required":["purpose","currentRequest"]},` +
			`"sources":{"type":"array","items":{"type":"object"}},"transfer":{"type":"object"}},` +
			`"required":["reason","title","handoff"],"additionalProperties":false}`),
	}
}

// handover is the input of the verb.
type handover struct {
	Reason, Title string
	Description   *string
	Handoff       map[string]json.RawMessage
	Sources       []source
	Transfer      struct{ Plan string }
}

// source is something that the successor is shown or told of.
type source struct {
	Type      string `json:"type"`
	Path      string `json:"path,omitempty"`
	Address   string `json:"address,omitempty"`
	SessionID string `json:"sessionId,omitempty"`
	Seq       int64  `json:"seq,omitempty"`
	FromSeq   int64  `json:"fromSeq,omitempty"`
	ToSeq     int64  `json:"toSeq,omitempty"`
}

// Prepare implements Verb.
func (v *Continue) Prepare(_ context.Context, scope space.Scope, input json.RawMessage) Action {
	return Action{Effect: tooldoc.Idempotent, Ends: true, Run: func(ctx context.Context) (Result, error) { return v.prepare(ctx, scope, input) }}
}

func (v *Continue) prepare(ctx context.Context, scope space.Scope, input json.RawMessage) (Result, error) {
	var req handover
	if err := decode(input, &req); err != nil {
		return Result{}, err
	}
	if err := req.hoist(); err != nil {
		return Result{}, err
	}
	title, description := line(&req.Title), trimmed(req.Description)
	switch {
	case title == "" || len(title) > maxTitle:
		return Result{}, fault.Invalid("Title is required and has at most %d bytes", maxTitle)
	case description == "" || len(description) > maxDescription:
		return Result{}, fault.Invalid("Description is required and has at most %d bytes", maxDescription)
	case strings.TrimSpace(req.Reason) == "" || len(req.Reason) > maxReasonBytes:
		return Result{}, fault.Invalid("Reason is required and has at most %d bytes", maxReasonBytes)
	case len(input) > maxHandoffBytes:
		return Result{}, fault.Invalid("The handoff is too large: at most %d bytes. Write what is long to memory and name it in sources", maxHandoffBytes)
	case len(req.Sources) > maxSources:
		return Result{}, fault.Invalid("Too many sources: at most %d", maxSources)
	case !slices.Contains([]string{"", "carry", "close", "omit"}, req.Transfer.Plan):
		return Result{}, fault.Invalid("transfer.plan must be carry, close or omit")
	}
	excerpts, err := v.excerpts(ctx, scope, req.Sources)
	if err != nil {
		return Result{}, err
	}
	return Result{Change: change(func(tx store.Tx) (space.Result, error) {
		return v.apply(tx, scope, &req, title, description, excerpts)
	})}, nil
}

// hoist takes out of the handoff what models put there that belongs beside it (seeds/000 "continue_session").
func (h *handover) hoist() error {
	for key, into := range map[string]any{"sources": &h.Sources, "transfer": &h.Transfer, "description": &h.Description} {
		raw, nested := h.Handoff[key]
		if !nested {
			continue
		}
		delete(h.Handoff, key)
		if key == "sources" && h.Sources != nil || key == "transfer" && h.Transfer.Plan != "" || key == "description" && h.Description != nil {
			continue
		}
		if err := json.Unmarshal(raw, into); err != nil {
			return fault.Invalid("%s could not be read", key)
		}
	}
	return nil
}

// apply makes the successor and its turn. The same call makes one successor, however often it comes.
func (v *Continue) apply(tx store.Tx, scope space.Scope, req *handover, title, description string, excerpts []excerpt) (space.Result, error) {
	if before, found, err := sessionlog.ContinuedBy(tx, scope.Session, scope.Call); err != nil || found {
		return continued(before), err
	}
	from, run, err := v.standing(tx, scope)
	if err != nil {
		return nil, err
	}
	messages, err := initiating(tx, from.ID, run)
	if err != nil {
		return nil, err
	}
	to, err := v.log.Create(tx, sessionlog.CreateParams{Account: from.Account, Agent: from.Agent, CreatedBy: from.CreatedBy, ModelOverride: from.ModelOverride, Thoroughness: from.Thoroughness})
	if err != nil {
		return nil, err
	}
	if _, err := v.log.SetTitle(tx, to.ID, title, sessionlog.TitleAgent); err != nil {
		return nil, err
	}
	if err := v.log.SetDescription(tx, to.ID, description); err != nil {
		return nil, err
	}
	if err := v.carryPlan(tx, &from, to.ID, req.Transfer.Plan); err != nil {
		return nil, err
	}
	recent, err := sessionlog.EventsBefore(tx, from.ID, messages[0].Seq, maxRecent)
	if err != nil {
		return nil, err
	}
	entries := []sessionlog.Entry{{Payload: wire.MessageEvent{
		Type: sessionlog.TypeMessage, Role: "user", Actor: string(sessionlog.ActorSystem), Content: project(&from, req, excerpts, recent),
	}}}
	for i := range messages {
		if err := v.log.CopyAttachments(tx, from.ID, to.ID, messages[i].event.Attachments); err != nil {
			return nil, err
		}
		entries = append(entries, sessionlog.Entry{Payload: messages[i].event})
	}
	events, err := v.log.Append(tx, to.ID, nil, entries...)
	if err != nil {
		return nil, err
	}
	next, err := v.enqueue(tx, &run, &to, events[1].Seq, events[len(events)-1].Seq)
	if err != nil {
		return nil, err
	}
	manifest, err := json.Marshal(map[string]any{"sources": req.Sources, "plan": req.Transfer.Plan, "runId": next.ID, "messages": len(messages)})
	if err != nil {
		return nil, fmt.Errorf("encode a manifest: %w", err)
	}
	c, err := v.log.Continue(tx, sessionlog.Continuation{
		Predecessor: from.ID, Successor: to.ID, ToolCall: scope.Call, Run: run.ID, InitiatingEvent: messages[0].ID, Reason: req.Reason, Manifest: manifest,
	})
	return continued(c), err
}

func continued(c sessionlog.Continuation) space.Result {
	return space.Result{
		"summary": "The thread goes on in thread:" + c.Successor, "continuedToSessionId": c.Successor, "continuationId": c.ID,
	}
}

// standing is the session and the run of a call, if they may be continued: a conversation of a person, with a turn that waits for nothing.
func (v *Continue) standing(tx store.Tx, scope space.Scope) (s sessionlog.Session, r runs.Run, err error) {
	if scope.Run == "" {
		return s, r, fault.New(fault.PermissionDenied, "Only the agent's own turn can be carried over")
	}
	if s, err = sessionlog.Get(tx, scope.Session); err != nil {
		return s, r, err
	}
	if r, err = runs.Get(tx, scope.Run); err != nil {
		return s, r, err
	}
	if s.Parent != "" || r.Parent != "" {
		return s, r, fault.New(fault.PermissionDenied, "A delegated task ends where it began: answer instead")
	}
	waits, err := runs.Waits(tx, r.ID)
	if err == nil && len(waits) > 0 {
		err = fault.New(fault.PreconditionFailed, "The turn still waits for its children: go on when they have answered")
	}
	return s, r, err
}

// initiator is a person's message that a turn answers, as it goes into the successor.
type initiator struct {
	ID    string
	Seq   int64
	event wire.MessageEvent
}

// initiating are the messages that a run answers, or, for one that tries again, that the first attempt answered.
func initiating(tx store.Tx, session string, r runs.Run) ([]initiator, error) {
	var in struct {
		FirstSeq, LastSeq int64
		RetryOf           string `json:"retryOfRunId"`
	}
	for range 100 {
		in.FirstSeq, in.LastSeq, in.RetryOf = 0, 0, ""
		if len(r.Input) > 0 {
			if err := json.Unmarshal(r.Input, &in); err != nil {
				return nil, fmt.Errorf("decode the input of run %s: %w", r.ID, err)
			}
		}
		if in.FirstSeq > 0 || in.RetryOf == "" {
			break
		}
		var err error
		if r, err = runs.Get(tx, in.RetryOf); err != nil {
			return nil, err
		}
	}
	if in.FirstSeq == 0 {
		return nil, fault.New(fault.PreconditionFailed, "No message of a person began this turn, so there is nothing that a fresh thread could answer")
	}
	events, err := sessionlog.Events(tx, session, in.FirstSeq-1, in.LastSeq-in.FirstSeq+1)
	if err != nil {
		return nil, err
	}
	var out []initiator
	for i := range events {
		m := initiator{ID: events[i].ID, Seq: events[i].Seq}
		if json.Unmarshal(events[i].Event, &m.event) != nil || m.event.Type != sessionlog.TypeMessage || m.event.Role != "user" || m.event.Actor == string(sessionlog.ActorSystem) {
			continue
		}
		meta := wire.EventMeta{}
		if m.event.Meta != nil {
			meta = *m.event.Meta
		}
		if meta.ContinuedFrom != nil {
			return nil, fault.New(fault.PreconditionFailed, "This thread has just been continued with the same message: answer it here")
		}
		meta.ContinuedFrom = &wire.ContinuedFrom{SessionID: session, EventID: m.ID, Seq: m.Seq}
		m.event.Meta = &meta
		out = append(out, m)
	}
	if len(out) == 0 {
		return nil, errors.New("the message that began the turn is not in the log")
	}
	return out, nil
}

// carryPlan gives the successor the plan that is still open, or gives its open steps up.
func (v *Continue) carryPlan(tx store.Tx, from *sessionlog.Session, to, how string) error {
	p := from.Plan
	if p == nil || p.SettledAt > 0 || how == "omit" {
		return nil
	}
	if how != "close" {
		return v.log.SetPlan(tx, to, p)
	}
	closed := *p
	closed.Steps = slices.Clone(p.Steps)
	for i := range closed.Steps {
		if s := &closed.Steps[i]; s.Status == "pending" || s.Status == "running" {
			s.Status = "skipped"
		}
	}
	return v.log.SetPlan(tx, from.ID, &closed)
}

// enqueue starts the turn that answers the user.
func (v *Continue) enqueue(tx store.Tx, r *runs.Run, to *sessionlog.Session, first, last int64) (runs.Run, error) {
	input, err := json.Marshal(map[string]any{"kind": "message", "firstSeq": first, "lastSeq": last})
	if err != nil {
		return runs.Run{}, fmt.Errorf("encode run input: %w", err)
	}
	return v.queue().Enqueue(tx, runs.Spec{
		Account: r.Account, Kind: runs.KindAgent, Agent: r.Agent, AgentVersion: r.AgentVersion, Session: to.ID, Origin: r.Origin,
		ContinuedFrom: r.ID, Title: r.Title, Lane: runs.Interactive, MaxAttempts: 1, Input: input, Budget: r.Budget,
	})
}
