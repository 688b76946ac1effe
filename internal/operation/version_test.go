package operation_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

// ask signs an action as a client of a version.
func (w world) ask(t *testing.T, protocol int, name string, request object) object {
	t.Helper()
	status, body := post(t, w.h.URL, signed(t, w.h.Key, name, request, protocol))
	if status != 200 {
		t.Fatalf("%s of protocol %d: %d %v", name, protocol, status, decode(t, body))
	}
	return decode(t, body)
}

func TestEveryChangeOfTheProtocolIsTakenBackForOlderClients(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg)
		w.large(t)
		// now tells whether a client of a version gets the new form.
		now := map[string]func(protocol int) bool{
			"sessions of an agent": func(protocol int) bool {
				read := w.ask(t, protocol, "GetAgent", object{"agentId": w.agent})
				saved := w.ask(t, protocol, "UpdateAgent", object{"agentId": w.agent, "definition": definition(nil), "attempt": protocol})
				list, before := read["sessions"].([]any)
				_, again := saved["sessions"].([]any)
				if before != again || before && len(list) != 1 || read["sessionCount"] != int64(1) {
					t.Errorf("protocol %d: GetAgent %v, UpdateAgent %v", protocol, read, saved)
				}
				return !before
			},
			"large events in pages": func(protocol int) bool {
				events := w.ask(t, protocol, "GetSession", object{"sessionId": w.session, "limit": 2})["events"].([]any)
				return events[0].(object)["truncated"] == true
			},
		}
		now["triggers of several activities"] = func(protocol int) bool {
			source := object{"type": "comment-reply", "repliedToAccounts": []string{linkedKey}}
			created, _ := post(t, w.h.URL, signed(t, w.h.Key, "CreateAgentTrigger", object{"agentId": w.agent, "attempt": protocol, "trigger": object{
				"name": "Replies", "prompt": "Reply.", "source": source,
			}}, protocol))
			made := servertest.Call[wire.AgentTriggerResponse](w.h, "CreateAgentTrigger", object{"agentId": w.agent, "trigger": object{
				"name": "Replies", "prompt": "Reply.", "source": source,
			}}).Trigger
			read, body := post(t, w.h.URL, signed(t, w.h.Key, "GetAgentTrigger", object{"triggerId": made.ID}, protocol))
			listed := strings.Contains(fmt.Sprint(w.ask(t, protocol, "ListAgentTriggers", object{"agentId": w.agent})), made.ID)
			if created != read || listed != (read == 200) || !listed && (read != 426 || decode(t, body)["code"] != wire.CodeProtocolTooOld) {
				t.Errorf("protocol %d: created %d, read %d, listed %v", protocol, created, read, listed)
			}
			return listed
		}
		changes := wire.Changes()
		if len(changes) != len(now) {
			t.Errorf("%d changes, %d tests", len(changes), len(now))
		}
		for i, c := range changes {
			if c.Since <= wire.MinClientProtocol || c.Since > wire.ProtocolNumber || i > 0 && changes[i-1].Since > c.Since {
				t.Errorf("%s came with version %d of %d", c.Name, c.Since, wire.ProtocolNumber)
			}
			for protocol := 0; protocol <= wire.ProtocolNumber+1; protocol++ {
				if got := now[c.Name](protocol); got != (protocol >= c.Since) {
					t.Errorf("%s: a client of version %d gets the new form: %v", c.Name, protocol, got)
				}
			}
		}
	})
}

// large adds a turn whose message is larger than a page shows, and returns the seq of the message.
func (w world) large(t *testing.T) int64 {
	t.Helper()
	blocks := []any{}
	for range 100 {
		blocks = append(blocks, object{"id": "b", "text": strings.Repeat("é", 1500), "deep": []any{[]any{[]any{[]any{[]any{[]any{[]any{[]any{1}}}}}}}}})
	}
	part := object{"type": "text", "text": "see the blocks", "blocks": blocks}
	answer := must(t, w.h.Client, "MessageSession", object{"sessionId": w.session, "content": []any{part}})
	events := must(t, w.h.Client, "GetSession", object{"sessionId": w.session})["events"].([]any)
	if last := events[len(events)-1].(object); last["id"] != answer["assistantEventId"] {
		t.Fatalf("the log ends with %v", last)
	}
	return events[len(events)-2].(object)["seq"].(int64)
}

func TestALargeEventIsShortInAPageAndWholeByItself(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg)
		seq := w.large(t)
		whole := servertest.Call[wire.SessionEventResponse](w.h, "GetSessionEvent", object{"sessionId": w.session, "seq": seq}).Event
		log := servertest.Call[wire.GetSessionResponse](w.h, "GetSession", object{"sessionId": w.session}).Events
		page := servertest.Call[wire.GetSessionResponse](w.h, "GetSession", object{"sessionId": w.session, "beforeSeq": seq + 1, "limit": 2})
		short := page.Events[1]
		if full := log[seq-1]; whole.Truncated || full.Truncated || string(whole.Event) != string(full.Event) || whole.ID != short.ID {
			t.Errorf("by itself it has %d bytes, in the log %d", len(whole.Event), len(full.Event))
		}
		var payload wire.MessageEvent
		if err := json.Unmarshal(short.Event, &payload); err != nil {
			t.Fatal(err)
		}
		if !short.Truncated || len(short.Event) > 64<<10 || !utf8.Valid(short.Event) || payload.Role != "user" || payload.Content != "see the blocks" ||
			payload.Meta == nil || payload.Meta.AccountID == "" || !strings.Contains(string(payload.Blocks), "…") {
			t.Errorf("in a page it has %d bytes: %.300s", len(short.Event), short.Event)
		}
		if first := page.Events[0]; first.Truncated || first.Seq != seq-1 || !page.HasMoreBefore {
			t.Errorf("beside it stands %+v, more before: %v", first, page.HasMoreBefore)
		}
		// The routes of REST, which no older client uses, answer events whole.
		api := w.h.REST(w.h.Token())
		rest := servertest.Get[wire.GetSessionResponse](api, "/sessions/"+w.session+"?limit=2").Events[0]
		one := servertest.Get[wire.SessionEventResponse](api, "/sessions/"+w.session+"/events/3").Event
		if rest.Truncated || len(rest.Event) != len(whole.Event) || one.ID != whole.ID {
			t.Errorf("REST: %d bytes in a page, by itself %s", len(rest.Event), one.ID)
		}
		for seq, want := range map[any]string{
			0: "seq must be a positive integer", -1: "seq must be a positive integer", 99: "Session event not found", "x": "seq must be an integer in the range of int64, not text",
		} {
			if _, _, text := act(t, w.h.Client, "GetSessionEvent", object{"sessionId": w.session, "seq": seq}); text != want {
				t.Errorf("event %v: %s, want %s", seq, text, want)
			}
		}
	})
}

func TestSessionsOfTriggersCanBeLeftOut(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg)
		w.h.Session(w.agent)
		for _, exclude := range []any{nil, false, true} {
			// No trigger has started one yet.
			out := must(t, w.h.Client, "ListSessions", object{"excludeTriggered": exclude})
			if n := len(out["sessions"].([]any)); n != 2 {
				t.Errorf("excludeTriggered %v: %d sessions", exclude, n)
			}
		}
		if _, status, _ := act(t, w.h.Client, "ListSessions", object{"excludeTriggered": "yes"}); status != 400 {
			t.Errorf("excludeTriggered as text: %d", status)
		}
	})
}

func TestATurnKeepsNoJournal(t *testing.T) {
	t.Parallel()
	w := build(t, server.Config{})
	out := must(t, w.h.Client, "GetRunJournal", object{"runId": w.run, "afterSeq": 0})
	if entries, ok := out["entries"].([]any); !ok || len(entries) != 0 || out["runId"] != w.run || out["_"] != "GetRunJournalResponse" {
		t.Errorf("the journal of a turn: %v", out)
	}
	if _, status, text := act(t, w.h.Client, "GetRunJournal", object{"runId": w.run, "afterSeq": -1}); status != 400 || text != wire.MsgAfterSeq {
		t.Errorf("afterSeq -1: %d %s", status, text)
	}
}
