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
	"github.com/loam-agents/loam/internal/spawn"
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
	log     *history
	partial *partial
	// waits are what the run waits for, as it was read with the log, and standing the other runs of the session that have not ended.
	waits    []runs.Wait
	standing map[string]bool
	// loaded is the state that was read with the log, for the first request.
	loaded *state
	// before are exchanges of silent calls that no event of this run holds yet.
	before []model.Message
	// said is the id of the last assistant message that this run has written.
	said string
	// contract is what a child's session is held to, and typed what its result must be; nil when it answers in words.
	contract spawn.Contract
	typed    *typed
	// plan is the session's when the model was asked last, and continued how often the turn was handed back since.
	plan      *wire.RunPlan
	continued int
	// unrecorded is what answers have used that the run does not count yet.
	unrecorded model.Usage
	// generated is the usage of this execution; what earlier ones of the run used stands on its row.
	generated model.Usage
	// context is how many tokens of the conversation the model was sent last.
	context int64
	// pictures are the images that were read for this turn's requests, by their id.
	pictures map[string][]byte
	// began is when this execution began, started when the model was asked last, and first when the first piece of its answer came.
	began, started, first time.Time
	// step counts the requests of this execution, from 0.
	step int
}

// Execute implements runs.Executor.
func (e *Engine) Execute(ctx context.Context, lease *runs.Lease) (runs.Outcome, error) {
	e.opts.Point(PointClaimed)
	t := &turn{engine: e, lease: lease, run: lease.Run(), began: e.opts.Clock.Now()}
	t.log = e.histories.take(t.run.Session)
	defer func() { e.histories.put(t.log) }()
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
	t.partial = &partial{bus: t.engine.opts.Bus, log: t.engine.opts.Logger, session: t.run.Session, id: t.engine.opts.IDs()}
}

// carryOut loads, repairs, and alternates between the model and the verbs until the model has answered.
func (t *turn) carryOut(ctx context.Context) error {
	t.partial.activity(wire.RunActivity{Phase: "starting"}, &wire.Usage{})
	if err := t.load(ctx); err != nil {
		return err
	}
	if parked, err := t.repair(ctx); parked || err != nil {
		return err
	}
	if t.said != "" {
		t.engine.opts.Point(PointResumed)
	}
	for t.step = range MaxSteps {
		req, err := t.request(ctx)
		if err != nil {
			return err
		}
		t.started, t.first = t.engine.opts.Clock.Now(), time.Time{}
		answer, err := t.generate(ctx, req)
		t.unrecorded = t.unrecorded.Add(answer.Usage)
		t.context = max(contextOf(answer.Usage), t.context)
		if err != nil {
			return err
		}
		total := wire.Usage(model.Usage(t.run.Usage).Add(t.used(answer.Usage)))
		t.unique(&answer.Message)
		calls := callsOf(answer.Message)
		if len(calls) == 0 {
			t.partial.activity(wire.RunActivity{Phase: "finalizing"}, &total)
			owed, err := t.owed(ctx)
			if err != nil {
				return err
			}
			if len(owed) == 0 || t.continued == MaxContinuations || t.speechless(answer) {
				return t.finish(ctx, answer, owed)
			}
			if err := t.handBack(ctx, answer, owed); err != nil {
				return err
			}
			t.newPartial()
			continue
		}
		t.partial.activity(wire.RunActivity{Phase: "thinking"}, &total)
		if ended, err := t.giveBack(ctx, answer, calls); ended || err != nil {
			return err
		}
		if parked, err := t.act(ctx, answer, calls); parked || err != nil {
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
	var fresh []entry
	err := t.engine.opts.Store.Read(ctx, func(tx store.Tx) error {
		session, err := sessionlog.Get(tx, t.run.Session)
		if err != nil {
			return err
		}
		if v := &t.log.version; v.AgentID != t.run.Agent || v.Number != t.run.AgentVersion {
			if t.log.version, err = agent.VersionOf(tx, t.run.Agent, t.run.AgentVersion); err != nil {
				return err
			}
		}
		t.session = session
		if t.contract, err = spawn.OfSession(tx, &session, &t.run); err != nil {
			return err
		}
		t.scope = space.Scope{
			Account: session.Account, Agent: t.run.Agent, Session: session.ID, Run: t.run.ID, Definition: t.contract.Apply(t.log.version.Definition),
		}
		st, err := t.engine.readState(tx, session, t.scope.Definition, &t.run)
		if err != nil {
			return err
		}
		t.loaded = &st
		if stored, err = sessionlog.Replay(tx, session.ID, t.log.upTo); err != nil {
			return err
		}
		if fresh, err = read(stored); err != nil {
			return err
		}
		return t.readWaits(tx, follow(t.log.open, fresh))
	})
	if err != nil {
		return err
	}
	t.log.add(fresh...)
	if n := len(stored); n > 0 {
		t.log.upTo = stored[n-1].Seq
	}
	t.recall()
	if err := t.expectTyped(); err != nil {
		return err
	}
	t.model, err = t.engine.opts.Models.Resolve(ctx, t.session.Account, t.scope.Definition, t.session.ModelOverride)
	t.lease.Uses(t.model.Name, t.model.ID)
	t.scope.Images = t.model.Images
	return err
}

// recall notes what this run has said in an earlier execution.
func (t *turn) recall() {
	for i := range t.log.entries {
		e := &t.log.entries[i]
		if t.says(e) {
			t.said = e.id
		}
		if e.kind == sessionlog.TypeMessage && e.message.Meta != nil && e.message.Meta.Usage != nil {
			t.context = contextOf(model.Usage(*e.message.Meta.Usage))
		}
	}
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
	st, err := t.state(ctx)
	if err != nil {
		return model.Request{}, err
	}
	t.plan = st.session.Plan
	messages, err := t.show(ctx, append(replay(t.log.entries), t.before...))
	if err != nil {
		return model.Request{}, err
	}
	st.concurrent, st.usage = t.concurrent(), t.contextUsage()
	st.idle = len(messages) > 0 && messages[len(messages)-1].Role == model.Assistant
	req := model.Request{
		Model: t.model.ID, System: stablePrompt(t.scope.Definition), Reasoning: t.model.Reasoning,
		MaxOutputTokens: int(t.model.MaxOutput), Extra: t.model.Defaults, CacheKey: t.session.ID, VolatileTail: true,
		Tools:    t.offered(st.held),
		Messages: append(messages, model.Message{Role: model.User, Parts: []model.Part{{Kind: model.PartText, Text: st.volatile()}}}),
	}
	return req, nil
}

// state is what the volatile block tells: for the first request what was loaded, and then what the calls have made of it.
func (t *turn) state(ctx context.Context) (st state, err error) {
	if t.loaded != nil {
		st, t.loaded = *t.loaded, nil
		st.session = t.session
		return st, nil
	}
	err = t.engine.opts.Store.Read(ctx, func(tx store.Tx) error {
		session, err := sessionlog.Get(tx, t.session.ID)
		if err != nil {
			return err
		}
		st, err = t.engine.readState(tx, session, t.scope.Definition, &t.run)
		return err
	})
	return st, err
}

// Input is what a run of an agent is started with.
type Input struct {
	// Kind is message, session-retry or delegate.
	Kind string `json:"kind"`
	// FirstSeq and LastSeq are the oldest and the newest user event that the run answers.
	FirstSeq int64 `json:"firstSeq,omitempty"`
	LastSeq  int64 `json:"lastSeq,omitempty"`
	// RetryOf is the run that is tried again.
	RetryOf string `json:"retryOfRunId,omitempty"`
}

// concurrent are the messages this run answers when another run's answer stands behind them in the log: they arrived while it
// was being made.
func (t *turn) concurrent() []string {
	var in Input
	if json.Unmarshal(t.run.Input, &in) != nil || in.LastSeq == 0 {
		return nil
	}
	var out []string
	overtaken := false
	for i := range t.log.entries {
		e := &t.log.entries[i]
		switch {
		case e.run == t.run.ID && !overtaken:
			// What came before its first words overtook the run; what came while it was parked did not.
			return nil
		case e.kind != sessionlog.TypeMessage:
		case e.seq > in.LastSeq:
			overtaken = overtaken || e.message.Role == "assistant" && e.run != "" && e.run != t.run.ID
		case e.seq >= in.FirstSeq && e.message.Role == "user":
			out = append(out, e.message.Content)
		}
	}
	if !overtaken {
		return nil
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
		if p.CallID == "" || t.log.ids[p.CallID] {
			p.CallID = "call_" + t.engine.opts.IDs()
		}
		t.log.ids[p.CallID] = true
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
