package crashtest_test

import (
	"slices"
	"strings"

	"github.com/loam-agents/loam/wire"
)

// event is what the audit reads of a log.
type event struct {
	Seq     int64  `json:"-"`
	EventID string `json:"-"`
	Type    string
	Role    string
	Actor   string
	Content string
	ID      string
	Name    string
	Error   string

	ToolCallID string
	Input      struct{ Address, Content string }
	Output     struct {
		Path      string
		UpdatedAt int64
		Content   string
	}
	Meta struct{ Usage wire.Usage }
}

// audit checks a session in which the given messages were sent, one after the other, and answered.
func (r *rig) audit(session string, sent []message, answers []wire.MessageSessionResponse) {
	r.t.Helper()
	got := call[wire.GetSessionResponse](r, "GetSession", map[string]any{"sessionId": session})
	if got.Session.Status != "idle" {
		r.t.Errorf("session is %s when all is answered", got.Session.Status)
	}
	events := make([]event, len(got.Events))
	for i, e := range got.Events {
		events[i] = decode(r.t, e)
		if e.Seq != int64(i+1) {
			r.t.Errorf("event %d has seq %d", i+1, e.Seq)
		}
	}
	r.auditMessages(events, sent, answers)
	r.auditCalls(events)
	r.auditRuns(session, events, len(sent))
	r.auditPlan(got.Session.Plan)
	r.auditStream(session, got.Events)
	if r.t.Failed() {
		for _, e := range got.Events {
			r.t.Logf("%d %s", e.Seq, e.Event)
		}
	}
}

// auditMessages: every message stands in the log once, in order, and its turn ends with the answer that was returned.
func (r *rig) auditMessages(events []event, sent []message, answers []wire.MessageSessionResponse) {
	r.t.Helper()
	n := -1
	last := map[int]string{}
	for _, e := range events {
		switch {
		case e.Type == "message" && e.Role == "user" && e.Actor != "system":
			n++
			if n >= len(sent) || e.Content != sent[n].text {
				r.t.Fatalf("user message %d is %q, sent were %d", n+1, e.Content, len(sent))
			}
		case e.Type == "error":
			r.t.Errorf("the log holds an error: %+v", e)
		}
		last[n] = e.EventID
	}
	if n+1 != len(sent) {
		r.t.Fatalf("%d user messages in the log, %d were sent", n+1, len(sent))
	}
	for i, a := range answers {
		if last[i] != a.AssistantEventID {
			r.t.Errorf("message %d was answered with event %s, its turn ends with %s", i+1, a.AssistantEventID, last[i])
		}
	}
}

// auditCalls: every call has one result, before the agent speaks again; a result that says written is a file with exactly
// that content and time, and no file is there without such a result.
func (r *rig) auditCalls(events []event) {
	r.t.Helper()
	open, known := map[string]event{}, map[string]bool{}
	for _, e := range events {
		switch e.Type {
		case "message":
			if len(open) > 0 {
				r.t.Errorf("%s speaks at seq %d before %d calls have results", e.Role, e.Seq, len(open))
			}
		case "tool_call":
			if known[e.ID] {
				r.t.Errorf("call id %s is used twice", e.ID)
			}
			known[e.ID], open[e.ID] = true, e
		case "tool_result":
			if _, ok := open[e.ToolCallID]; !ok {
				r.t.Errorf("result at seq %d answers no open call", e.Seq)
			}
			delete(open, e.ToolCallID)
		}
	}
	for _, e := range open {
		r.t.Errorf("call at seq %d has no result", e.Seq)
	}
}

// written is what the results in a log say of the memory: content and time by path.
type written struct {
	content string
	at      int64
}

func (r *rig) writes(session string, into map[string]written) {
	r.t.Helper()
	pending := map[string]event{}
	for _, raw := range call[wire.GetSessionResponse](r, "GetSession", map[string]any{"sessionId": session}).Events {
		e := decode(r.t, raw)
		switch {
		case e.Type == "tool_call" && e.Name == "write":
			pending[e.ID] = e
		case e.Type == "tool_result" && e.Name == "write" && e.Error == "":
			if _, twice := into[e.Output.Path]; twice {
				r.t.Errorf("%s was written twice", e.Output.Path)
			}
			into[e.Output.Path] = written{pending[e.ToolCallID].Input.Content, e.Output.UpdatedAt}
		}
	}
}

// auditMemory compares the memory with what the logs of all sessions say.
func (r *rig) auditMemory(sessions ...string) {
	r.t.Helper()
	want := map[string]written{}
	for _, s := range sessions {
		r.writes(s, want)
	}
	list := call[wire.ListAgentMemoryResponse](r, "ListAgentMemory", map[string]any{"agentId": r.agent})
	for _, entry := range list.Entries {
		w, ok := want[entry.Path]
		if !ok {
			r.t.Errorf("%s is in memory, but no result says so", entry.Path)
			continue
		}
		delete(want, entry.Path)
		file := call[wire.ReadAgentMemoryFileResponse](r, "ReadAgentMemoryFile", map[string]any{"agentId": r.agent, "path": entry.Path}).File
		if file.Content == nil || *file.Content != w.content || file.UpdatedAt != w.at {
			r.t.Errorf("%s holds %v of %d, its result says %q of %d", entry.Path, file, file.UpdatedAt, w.content, w.at)
		}
	}
	for path := range want {
		r.t.Errorf("a result says that %s was written, but it is not there", path)
	}
}

// auditRuns: one run a message, all succeeded, and each generation that was written is counted once.
func (r *rig) auditRuns(session string, events []event, messages int) {
	r.t.Helper()
	list := call[wire.ListRunsResponse](r, "ListRuns", map[string]any{"sessionId": session}).Runs
	if len(list) != messages {
		r.t.Errorf("%d runs for %d messages", len(list), messages)
	}
	var counted, said int64
	for _, run := range list {
		if run.Status != "succeeded" {
			r.t.Errorf("run %s is %s: %+v", run.ID, run.Status, run.Error)
		}
		if run.Usage != nil {
			counted += run.Usage.Total
		}
	}
	// Every generation of the script has text, so each that was written is one assistant message.
	for _, e := range events {
		if e.Type == "message" && e.Role == "assistant" {
			said += e.Meta.Usage.Total
		}
	}
	if counted != said || said == 0 {
		r.t.Errorf("runs count %d tokens, the log says %d", counted, said)
	}
}

// auditPlan: a plan is whole or not there.
func (r *rig) auditPlan(p *wire.RunPlan) {
	r.t.Helper()
	if p == nil {
		return
	}
	if len(p.Steps) != 1 || !strings.HasPrefix(p.Steps[0].Label, "Note item-") || (p.Steps[0].Status == "done") != (p.SettledAt > 0) {
		r.t.Errorf("plan of the session: %+v", p)
	}
}

// auditStream: a subscriber from the start gets the same events, each once.
func (r *rig) auditStream(session string, want []wire.SessionEvent) {
	r.t.Helper()
	var got []string
	for f, err := range r.client.Subscribe(r.ctx, wire.KeySession+session, 0) {
		if err != nil {
			r.t.Fatal(err)
		}
		if f.Kind == wire.FrameAppend {
			got = append(got, f.EventID)
		}
		if f.Kind == wire.FrameAppend && f.Seq == int64(len(want)) {
			break
		}
	}
	if !slices.EqualFunc(got, want, func(id string, e wire.SessionEvent) bool { return id == e.ID }) {
		r.t.Errorf("the stream replays %d events, the log has %d", len(got), len(want))
	}
}
