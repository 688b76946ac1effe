package trigger

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// The statuses of firings.
const (
	// StatusCreated: a thread was begun or gone on with.
	StatusCreated = "created"
	// StatusRunning and StatusSucceeded: a run without a conversation is at work, or has ended well.
	StatusRunning, StatusSucceeded = "running", "succeeded"
	// StatusDelivered and StatusNoListener: a signal reached a run, or nobody waited for it.
	StatusDelivered, StatusNoListener = "delivered", "no-listener"
	// StatusError: nothing was begun, or it failed. StatusEscalated: it failed, and a thread was opened about that.
	StatusError, StatusEscalated = "error", "escalated"
)

// Origin is that of runs which triggers start.
const Origin = "trigger"

// MaxAttempts is how often a run that a trigger started is tried.
const MaxAttempts = 3

// event is what may make a trigger fire.
type event struct {
	// key is the same for the same event. summary says in a line what happened, in our own words or made safe.
	key, summary string
	// activity is told to the agent.
	activity map[string]any
	// author says who wrote what stands in the activity, when it is not the server: it is fenced then.
	author string
	// matched are the conditions that the event meets.
	matched []wire.TriggerCondition
	// cause is the run whose end the event is; nil for others.
	cause *runs.Run
}

// firing is one that is being made.
type firing struct {
	s     *Service
	tx    store.Tx
	t     *Trigger
	e     event
	id    string
	now   int64
	chain []string

	status, problem, run, session string
	activity                      json.RawMessage
}

// fire makes a trigger fire for an event, in the transaction that has found out about it. It returns the firing, and false when the
// event has made this trigger fire before or the loop guard keeps it from firing. What goes wrong with what the trigger does is told by
// the firing and is no error; an error undoes everything.
func (s *Service) fire(tx store.Tx, t *Trigger, e event) (wire.TriggerFiring, bool, error) {
	if err := tx.Lock("trigger/" + t.ID); err != nil {
		return wire.TriggerFiring{}, false, err
	}
	f := &firing{s: s, tx: tx, t: t, e: e, id: s.opts.IDs(), now: s.now()}
	if claimed, err := f.claim(); err != nil || !claimed {
		return wire.TriggerFiring{}, false, err
	}
	chain, err := chainOf(tx, e.cause)
	if err != nil {
		return wire.TriggerFiring{}, false, err
	}
	if slices.Contains(chain, t.ID) {
		s.opts.Logger.Info("a trigger does not fire for what it has led to itself", "trigger", t.ID, "depth", len(chain))
		return wire.TriggerFiring{}, false, nil
	}
	f.chain = append(chain, t.ID)
	if f.activity, err = f.encodeActivity(); err != nil {
		return wire.TriggerFiring{}, false, err
	}
	err = f.act()
	if problem, ok := errors.AsType[*fault.Error](err); ok && problem.Code != fault.Internal {
		f.status, f.problem = StatusError, problem.Message
	} else if err != nil {
		return wire.TriggerFiring{}, false, err
	}
	return f.record()
}

// claim takes the event for the trigger; false says that it was taken before.
func (f *firing) claim() (bool, error) {
	n, err := f.tx.Exec(`INSERT INTO trigger_claims (trigger_id, event_key, firing_id, created_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (trigger_id, event_key) DO NOTHING`, f.t.ID, f.e.key, f.id, f.now)
	if err != nil {
		return false, fmt.Errorf("claim an event: %w", err)
	}
	return n == 1, nil
}

// encodeActivity bounds what is kept of the event.
func (f *firing) encodeActivity() (json.RawMessage, error) {
	raw, err := json.Marshal(f.e.activity)
	if err != nil {
		return nil, fmt.Errorf("encode an activity: %w", err)
	}
	if len(raw) > MaxActivity {
		kept := map[string]any{"type": f.e.activity["type"], "truncated": true}
		if raw, err = json.Marshal(kept); err != nil {
			return nil, fmt.Errorf("encode an activity: %w", err)
		}
	}
	return raw, nil
}

// act does what the trigger does.
func (f *firing) act() error {
	if len(f.chain) > MaxChain {
		return fault.New(fault.BudgetExceeded, "Loop guard: %d triggers stand behind one another already, so this one did not fire", MaxChain)
	}
	switch f.t.kind() {
	case Wake:
		return f.wake()
	case Tool, Script:
		return f.headless()
	case Send:
		return f.send()
	}
	return f.thread(f.message())
}

// thread begins a conversation, or goes on in the one that the trigger names, with a message, and queues the turn that answers it.
func (f *firing) thread(message string) error {
	session, err := f.conversation()
	if err != nil {
		return err
	}
	a, err := agent.Get(f.tx, f.t.Agent)
	if err != nil {
		return err
	}
	events, err := f.s.opts.Log.Append(f.tx, session.ID, nil, sessionlog.Entry{Payload: wire.MessageEvent{
		Type: sessionlog.TypeMessage, Role: "user", Content: message,
	}, Actor: sessionlog.ActorTrigger})
	if err != nil {
		return err
	}
	input, err := f.s.opts.Turn(events[0].Seq, events[0].Seq)
	if err != nil {
		return err
	}
	run, err := f.s.opts.Runs().Enqueue(f.tx, runs.Spec{
		Account: f.t.Account, Kind: runs.KindAgent, Agent: f.t.Agent, AgentVersion: a.Version, Session: session.ID, Origin: Origin,
		Title: f.title(), Lane: runs.Background, MaxAttempts: MaxAttempts, Input: input,
		Budget: runs.BudgetOf(cmp.Or(session.Thoroughness, a.Definition.Thoroughness)),
	})
	f.status, f.run, f.session = StatusCreated, run.ID, session.ID
	return err
}

// title names what a firing begins.
func (f *firing) title() string {
	const limit = 200
	title := f.t.Name + " — " + f.e.summary
	if len(title) > limit {
		title = strings.ToValidUTF8(title[:limit], "") + "…"
	}
	return title
}

// conversation is the one that the trigger goes on with, or a new one.
func (f *firing) conversation() (sessionlog.Session, error) {
	if c := f.t.Continuation; c != nil && c.Kind == NewThread && c.SessionID != "" {
		session, err := sessionlog.Get(f.tx, c.SessionID)
		if fault.CodeOf(err) == fault.NotFound || err == nil && session.Agent != f.t.Agent {
			return session, fault.Missing("The conversation that this trigger goes on with is gone")
		}
		if err != nil {
			return session, err
		}
		return session, f.tx.Lock(wire.KeySession + session.ID)
	}
	session, err := f.s.opts.Log.Create(f.tx, sessionlog.CreateParams{
		Account: f.t.Account, Agent: f.t.Agent, CreatedBy: f.t.Account, Title: f.title(), StartedByTrigger: &wire.SessionTrigger{
			TriggerID: f.t.ID, TriggerName: f.t.Name, FiringID: f.id, ActivityKey: f.e.key, ActivitySummary: f.e.summary, Source: f.t.Source,
			FiredAt: f.now, MatchedConditions: f.e.matched,
		},
	})
	if err != nil {
		return session, err
	}
	if full := f.s.opts.Opened(f.tx, f.t.Account); full != nil {
		return session, errors.Join(full, f.s.opts.Log.Delete(f.tx, session.ID))
	}
	return session, nil
}

// wake gives the signal of the trigger to the run that it names, or to those of its agent that wait for it.
func (f *firing) wake() error {
	c := f.t.Continuation
	payload, err := f.template(c.Payload)
	if err != nil {
		return err
	}
	if c.Payload == nil {
		payload = f.activity
	}
	delivery := runs.Delivery{Source: Origin, Signal: c.Signal, Payload: payload}
	listeners := []string{c.RunID}
	if c.RunID == "" {
		if listeners, err = runs.Listening(f.tx, f.t.Agent, c.Signal); err != nil {
			return err
		}
	} else if run, err := runs.Get(f.tx, c.RunID); err != nil || run.Agent != f.t.Agent {
		listeners = nil
		if err != nil && fault.CodeOf(err) != fault.NotFound {
			return err
		}
	}
	f.status = StatusNoListener
	for _, id := range listeners {
		delivered, err := f.s.opts.Runs().Deliver(f.tx, id, delivery)
		if err != nil {
			return err
		}
		if delivered {
			f.status, f.run = StatusDelivered, id
		}
	}
	return nil
}

// template is a value of the continuation with what happened put into it.
func (f *firing) template(value any) (json.RawMessage, error) {
	var happened any
	if err := json.Unmarshal(f.activity, &happened); err != nil {
		return nil, fmt.Errorf("decode an activity: %w", err)
	}
	raw, err := json.Marshal(expand(value, happened))
	if err != nil {
		return nil, fmt.Errorf("encode a template: %w", err)
	}
	return raw, nil
}

// runID is that of the run which a firing starts without a conversation (spec §3.0).
func (f *firing) runID() string { return "firing-" + f.id }

// headless queues the program of the trigger.
func (f *firing) headless() error {
	input, err := f.template(f.t.Continuation.Input)
	if err != nil {
		return err
	}
	if f.t.Continuation.Input == nil {
		input = f.activity
	}
	if input, err = f.s.opts.Workflow(f.t.Program, input); err != nil {
		return err
	}
	return f.enqueue(runs.KindWorkflow, 1, input)
}

func (f *firing) enqueue(kind string, attempts int64, input json.RawMessage) error {
	a, err := agent.Get(f.tx, f.t.Agent)
	if err != nil {
		return err
	}
	run, err := f.s.opts.Runs().Enqueue(f.tx, runs.Spec{
		ID: f.runID(), Account: f.t.Account, Kind: kind, Agent: f.t.Agent, AgentVersion: a.Version, Origin: Origin, Title: f.title(),
		Lane: runs.Background, MaxAttempts: attempts, Input: input, Budget: runs.BudgetOf(a.Definition.Thoroughness),
	})
	f.status, f.run = StatusRunning, run.ID
	return err
}

// record writes the firing and what the trigger shows of it.
func (f *firing) record() (wire.TriggerFiring, bool, error) {
	source, err := json.Marshal(f.t.Source)
	if err != nil {
		return wire.TriggerFiring{}, false, fmt.Errorf("encode trigger source: %w", err)
	}
	chain, err := json.Marshal(f.chain)
	if err != nil {
		return wire.TriggerFiring{}, false, fmt.Errorf("encode the chain of a firing: %w", err)
	}
	blocks, err := encodePrompt(f.t.Prompt)
	if err != nil {
		return wire.TriggerFiring{}, false, err
	}
	var matched any
	if len(f.e.matched) > 0 {
		raw, err := json.Marshal(f.e.matched)
		if err != nil {
			return wire.TriggerFiring{}, false, fmt.Errorf("encode matched conditions: %w", err)
		}
		matched = string(raw)
	}
	onFailure := ""
	if f.t.Continuation != nil {
		onFailure = f.t.Continuation.OnFailure
	}
	_, err = f.tx.Exec(`INSERT INTO trigger_firings (id, trigger_id, account_id, agent_id, trigger_name, source, prompt, activity_key, activity_summary,
		activity, matched, chain, on_failure, status, error, run_id, session_id, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		f.id, f.t.ID, f.t.Account, f.t.Agent, f.t.Name, string(source), blocks, f.e.key, f.e.summary, string(f.activity), matched, string(chain), onFailure,
		f.status, f.problem, nullable(f.run), nullable(f.session), f.now)
	if err != nil {
		return wire.TriggerFiring{}, false, fmt.Errorf("record a firing: %w", err)
	}
	if err := f.settle(); err != nil {
		return wire.TriggerFiring{}, false, err
	}
	f.s.opts.Changed(f.tx, f.t.Account, f.t.Agent, ReasonUpdated)
	f.tx.AfterCommit(func() { f.s.opts.Point(PointFired) })
	return wire.TriggerFiring{
		ID: f.id, ActivityKey: f.e.key, ActivitySummary: f.e.summary, Status: f.status, Error: f.problem, RunID: f.run, SessionID: f.session,
		MatchedConditions: f.e.matched, CreatedAt: f.now,
	}, true, nil
}

// settle notes on the trigger that it fired, and forgets its oldest firings.
func (f *firing) settle() error {
	f.t.LastFiredAt, f.t.LastError = f.now, f.problem
	if _, err := f.tx.Exec(`UPDATE triggers SET last_fired_at = ?, last_error = ? WHERE id = ?`, f.now, f.problem, f.t.ID); err != nil {
		return fmt.Errorf("note a firing: %w", err)
	}
	_, err := f.tx.Exec(`DELETE FROM trigger_firings WHERE trigger_id = ? AND status NOT IN ('created', 'running') AND id NOT IN
		(SELECT id FROM trigger_firings WHERE trigger_id = ? ORDER BY created_at DESC, id DESC LIMIT ?)`, f.t.ID, f.t.ID, KeptFirings)
	if err != nil {
		return fmt.Errorf("forget old firings: %w", err)
	}
	return nil
}

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}
