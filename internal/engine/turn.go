package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// turn is one execution of an agent run.
type turn struct {
	engine  *Engine
	lease   *runs.Lease
	run     runs.Run
	session sessionlog.Session
	scope   space.Scope
	model   Model
	entries []entry
	partial *partial
	// before are exchanges of silent calls that no event of this run holds yet.
	before []model.Message
	// ids of all calls in the log: a provider may use one twice.
	ids map[string]bool
	// said is the id of the last assistant message that this run has written.
	said string
	// unrecorded is what answers have used that the run does not count yet.
	unrecorded model.Usage
	// generated is the usage of this execution; what earlier ones of the run used stands on its row.
	generated model.Usage
	// started is when the model was asked last.
	started time.Time
}

// Execute implements runs.Executor.
func (e *Engine) Execute(ctx context.Context, lease *runs.Lease) (runs.Outcome, error) {
	e.opts.Point(PointClaimed)
	t := &turn{engine: e, lease: lease, run: lease.Run(), ids: map[string]bool{}}
	t.newPartial()
	defer t.markRunning(ctx)()
	err := t.carryOut(ctx)
	if err == nil {
		return runs.Outcome{}, nil
	}
	t.partial.done()
	switch {
	case errors.Is(context.Cause(ctx), runs.ErrCanceled), errors.Is(err, runs.ErrCanceled):
		t.stopped(context.WithoutCancel(ctx))
		return runs.Outcome{}, runs.ErrCanceled
	case ctx.Err() != nil || errors.Is(err, runs.ErrLeaseLost):
		return runs.Outcome{}, err
	}
	t.count(ctx)
	return failure(err)
}

// markAfter is how long a turn works before readers are told, with a write of its own, that its run is running. A turn that is
// quicker than a person notices ends without it, and one that writes something says it there.
const markAfter = 100 * time.Millisecond

// markRunning tells readers that the run has begun, beside the work, since nothing depends on it. The function that it returns
// waits for it; a mark that is still on its way when the turn has ended is not worth waiting for.
func (t *turn) markRunning(ctx context.Context) (wait func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-t.engine.opts.Clock.After(markAfter):
		case <-ctx.Done():
			return
		}
		if err := t.lease.Start(ctx); err != nil && ctx.Err() == nil {
			t.engine.opts.Logger.WarnContext(ctx, "mark a run as running", "error", err)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// count adds what an answer has used that led to no event. A run that fails still says what it cost.
func (t *turn) count(ctx context.Context) {
	if t.unrecorded == (model.Usage{}) {
		return
	}
	err := t.engine.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error { return t.addUsage(tx) })
	if err != nil {
		t.engine.opts.Logger.WarnContext(ctx, "count the usage of a failed turn", "error", err)
	}
}

// addUsage counts, in the transaction of whatever else is written, what is not counted yet.
func (t *turn) addUsage(tx store.Tx) error {
	if t.unrecorded == (model.Usage{}) {
		return nil
	}
	if err := t.lease.AddUsage(tx, wire.Usage(t.unrecorded)); err != nil {
		return err
	}
	tx.AfterCommit(func() { t.unrecorded = model.Usage{} })
	return nil
}

// failure turns an error into how the run ends: the configuration is wrong, the provider failed, or we did.
func failure(err error) (runs.Outcome, error) {
	if m, ok := model.AsError(err); ok {
		return runs.Outcome{
			Status: runs.Failed, Code: runs.CodeProviderError, Message: m.Error(), Retry: m.Retryable(), RetryAfter: m.RetryAfter,
		}, nil
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return runs.Outcome{Status: runs.Failed, Code: runs.CodeConfigError, Message: f.Message}, nil
	}
	return runs.Outcome{}, err
}

func (t *turn) newPartial() {
	t.partial = &partial{bus: t.engine.opts.Bus, session: t.run.Session, id: t.engine.opts.IDs()}
}

// carryOut loads, repairs, and alternates between the model and the verbs until the model has answered.
func (t *turn) carryOut(ctx context.Context) error {
	t.partial.activity(wire.RunActivity{Phase: "starting"}, &wire.Usage{})
	if err := t.load(ctx); err != nil {
		return err
	}
	if err := t.repair(ctx); err != nil {
		return err
	}
	for range MaxSteps {
		req, err := t.request(ctx)
		if err != nil {
			return err
		}
		t.started = t.engine.opts.Clock.Now()
		answer, err := t.generate(ctx, req)
		t.unrecorded = t.unrecorded.Add(answer.Usage)
		if err != nil {
			return err
		}
		total := wire.Usage(model.Usage(t.run.Usage).Add(t.used(answer.Usage)))
		t.unique(&answer.Message)
		calls := callsOf(answer.Message)
		if len(calls) == 0 {
			t.partial.activity(wire.RunActivity{Phase: "finalizing"}, &total)
			return t.finish(ctx, answer)
		}
		t.partial.activity(wire.RunActivity{Phase: "thinking"}, &total)
		if err := t.act(ctx, answer, calls); err != nil {
			return err
		}
		t.newPartial()
		t.partial.activity(wire.RunActivity{Phase: "thinking"}, nil)
	}
	return &model.Error{Kind: model.ErrBadRequest, Message: fmt.Sprintf("The model made calls in %d answers in a row without ending its turn.", MaxSteps)}
}

// used adds a generation to what this execution of the run has used.
func (t *turn) used(u model.Usage) model.Usage {
	t.generated = t.generated.Add(u)
	return t.generated
}

// load reads what the turn works on.
func (t *turn) load(ctx context.Context) error {
	var stored []sessionlog.Stored
	err := t.engine.opts.Store.Read(ctx, func(tx store.Tx) error {
		session, err := sessionlog.Get(tx, t.run.Session)
		if err != nil {
			return err
		}
		version, err := agent.VersionOf(tx, t.run.Agent, t.run.AgentVersion)
		if err != nil {
			return err
		}
		t.session = session
		t.scope = space.Scope{Account: session.Account, Agent: t.run.Agent, Session: session.ID, Run: t.run.ID, Definition: version.Definition}
		stored, err = sessionlog.Replay(tx, session.ID)
		return err
	})
	if err != nil {
		return err
	}
	if t.entries, err = read(stored); err != nil {
		return err
	}
	for i := range t.entries {
		t.know(&t.entries[i])
	}
	t.model, err = t.engine.opts.Models.Resolve(ctx, t.session.Account, t.scope.Definition, t.session.ModelOverride)
	return err
}

// repair answers calls that a killed process left open, before anything else is asked of the model.
func (t *turn) repair(ctx context.Context) error {
	results := t.unanswered("The server restarted before this call had a result. Whether it took effect is not known: check before you repeat it.")
	if len(results) == 0 && t.settledBefore() == nil {
		return nil
	}
	return t.engine.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		if err := t.retirePlan(tx); err != nil {
			return err
		}
		_, err := t.append(tx, t.lease, nil, results...)
		return err
	})
}

// unanswered is a failed result for every call of the log that has none. A person's own calls are theirs to repeat.
func (t *turn) unanswered(why string) []sessionlog.Entry {
	answered := map[string]bool{}
	for i := range t.entries {
		if t.entries[i].kind == sessionlog.TypeToolResult {
			answered[t.entries[i].result.ToolCallID] = true
		}
	}
	var results []sessionlog.Entry
	for i := range t.entries {
		e := &t.entries[i]
		if e.kind == sessionlog.TypeToolCall && e.actor != sessionlog.ActorUser && !answered[e.call.ID] {
			results = append(results, t.entry(wire.ToolResultEvent{
				Type: sessionlog.TypeToolResult, ToolCallID: e.call.ID, Name: e.call.Name, Error: why,
			}))
		}
	}
	return results
}

// settledBefore is a plan that an earlier run settled; it has been copied onto that run and leaves the session now.
func (t *turn) settledBefore() *wire.RunPlan {
	if p := t.session.Plan; p != nil && p.SettledAt > 0 && p.OwnerRunID != t.run.ID {
		return p
	}
	return nil
}

func (t *turn) retirePlan(tx store.Tx) error {
	if t.settledBefore() == nil {
		return nil
	}
	if err := t.lease.Check(tx); err != nil {
		return err
	}
	if err := t.engine.opts.Log.SetPlan(tx, t.session.ID, nil); err != nil {
		return err
	}
	tx.AfterCommit(func() { t.session.Plan = nil })
	return nil
}

// request builds the provider payload: stable prompt, tools, the log, and the volatile block.
func (t *turn) request(ctx context.Context) (model.Request, error) {
	var st state
	err := t.engine.opts.Store.Read(ctx, func(tx store.Tx) error {
		session, err := sessionlog.Get(tx, t.session.ID)
		if err != nil {
			return err
		}
		st, err = readState(tx, t.engine.opts.Clock.Now(), session)
		return err
	})
	if err != nil {
		return model.Request{}, err
	}
	messages := append(replay(t.entries), t.before...)
	st.concurrent = t.concurrent()
	st.idle = len(messages) > 0 && messages[len(messages)-1].Role == model.Assistant
	req := model.Request{
		Model: t.model.ID, System: stablePrompt(t.scope.Definition), Reasoning: t.model.Reasoning,
		MaxOutputTokens: int(t.model.MaxOutput), Extra: t.model.Defaults, CacheKey: t.session.ID, VolatileTail: true,
		Messages: append(messages, model.Message{Role: model.User, Parts: []model.Part{{Kind: model.PartText, Text: st.volatile()}}}),
	}
	for _, d := range t.engine.opts.Verbs.Documents() {
		req.Tools = append(req.Tools, model.ToolSpec{Name: d.Name, Description: d.Description, Schema: d.Input})
	}
	return req, nil
}

// Input is what a run of an agent is started with.
type Input struct {
	// Kind is message or session-retry.
	Kind string `json:"kind"`
	// LastSeq is the newest user event that the run answers.
	LastSeq int64 `json:"lastSeq,omitempty"`
	// RetryOf is the run that is tried again.
	RetryOf string `json:"retryOfRunId,omitempty"`
}

// Output is what an agent's run leaves behind.
type Output struct {
	// AssistantEventID is the event that ended the turn.
	AssistantEventID string `json:"assistantEventId,omitempty"`
}

// concurrent are the messages this run answers when another run's answer stands behind them in the log: they arrived while it
// was being made.
func (t *turn) concurrent() []string {
	var in Input
	if json.Unmarshal(t.run.Input, &in) != nil || in.LastSeq == 0 {
		return nil
	}
	last := int64(0)
	for i := range t.entries {
		if e := &t.entries[i]; e.run != "" && e.run != t.run.ID && e.kind == sessionlog.TypeMessage && e.message.Role == "assistant" {
			last = e.seq
		}
	}
	if last < in.LastSeq {
		return nil
	}
	var out []string
	for i := len(t.entries) - 1; i >= 0; i-- {
		e := &t.entries[i]
		if e.seq > in.LastSeq || e.kind != sessionlog.TypeMessage {
			continue
		}
		if e.message.Role != "user" {
			break
		}
		out = append([]string{e.message.Content}, out...)
		if len(out) == 1 && e.seq == in.LastSeq {
			break
		}
	}
	return out
}

// unique gives calls whose id is missing or was used before a fresh one, so that every result finds its call.
func (t *turn) unique(m *model.Message) {
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind != model.PartToolCall {
			continue
		}
		if p.CallID == "" || t.ids[p.CallID] {
			p.CallID = "call_" + t.engine.opts.IDs()
		}
		t.ids[p.CallID] = true
	}
}

func callsOf(m model.Message) []model.Part {
	var out []model.Part
	for _, p := range m.Parts {
		if p.Kind == model.PartToolCall {
			out = append(out, p)
		}
	}
	return out
}

func textOf(m model.Message) string {
	text := ""
	for _, p := range m.Parts {
		if p.Kind == model.PartText {
			text += p.Text
		}
	}
	return text
}
