package operation_test

import (
	"bytes"
	"sync"
	"testing"

	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

func sessions(h *servertest.Harness) int {
	return len(servertest.Call[wire.ListSessionsResponse](h, "ListSessions", nil).Sessions)
}

func TestTheSameBytesActOnceAndAnswerTheSameAlsoAfterARestart(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		cfg.DataDir = t.TempDir()
		h := servertest.Start(t, cfg)
		agent := h.Agent(servertest.Scripted(t))
		body := signed(t, h.Key, "CreateSession", object{"agentId": agent}, 2)
		_, first := post(t, h.URL, body)
		_, second := post(t, h.URL, body)
		h.Stop()
		h = servertest.Start(t, cfg)
		status, third := post(t, h.URL, body)
		if status != 200 || !bytes.Equal(first, second) || !bytes.Equal(first, third) {
			t.Errorf("answers of the same bytes: %x, %x, %d %x", first, second, status, third)
		}
		if n := sessions(h); n != 1 {
			t.Errorf("%d sessions", n)
		}
		// Other bytes are another action, even when they ask for the same.
		must(t, h.Client, "CreateSession", object{"agentId": agent, "title": "another"})
		if n := sessions(h); n != 2 {
			t.Errorf("%d sessions after another action", n)
		}
	})
}

func TestADuplicateInFlightWaitsForTheFirst(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		m := servertest.Scripted(t, scripted.Turn{Steps: []scripted.Step{{Gate: "go"}, {Text: "Once."}}})
		agent := h.Agent(m)
		session := h.Session(agent)
		doomed := h.Session(agent)
		// Of many deletions with the same bytes all answer what the first did, and none that the session is gone.
		together := func(body []byte, release func()) [][]byte {
			answers := make([][]byte, 6)
			var wg sync.WaitGroup
			for i := range answers {
				wg.Go(func() {
					var status int
					if status, answers[i] = post(t, h.URL, body); status != 200 {
						t.Errorf("a duplicate: %d %v", status, decode(t, answers[i]))
					}
				})
			}
			release()
			wg.Wait()
			return answers
		}
		for _, got := range together(signed(t, h.Key, "DeleteSession", object{"sessionId": doomed}, 2), func() {}) {
			if f := decode(t, got); f["_"] != "DeleteSessionResponse" || f["sessionId"] != doomed || f["agentId"] != agent {
				t.Errorf("a deletion answered %v", f)
			}
		}
		message := signed(t, h.Key, "MessageSession", object{"sessionId": session, "content": text("hi")}, 2)
		var event any
		for _, got := range together(message, func() {
			<-m.Reached("go")
			m.Open("go")
		}) {
			f := decode(t, got)
			if event == nil {
				event = f["assistantEventId"]
			}
			if event == "" || f["assistantEventId"] != event {
				t.Errorf("a message answered %v, another %v", f, event)
			}
		}
		if events := h.Events(session); len(events) != 2 || len(m.Requests()) != 1 {
			t.Errorf("%d events, the model was asked %d times", len(events), len(m.Requests()))
		}
	})
}

func TestAReadRunsAgainAndAFailedActionMayBeRepeated(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	list := signed(t, h.Key, "ListAgents", nil, 2)
	_, before := post(t, h.URL, list)
	create := signed(t, h.Key, "CreateAgent", object{"definition": definition(nil)}, 2)
	if status, body := post(t, h.URL, create); status != 400 {
		t.Fatalf("without the provider: %d %v", status, decode(t, body))
	}
	h.Agent(servertest.Scripted(t))
	if status, body := post(t, h.URL, create); status != 200 {
		t.Errorf("the same bytes once the provider is there: %d %v", status, decode(t, body))
	}
	if _, after := post(t, h.URL, list); bytes.Equal(before, after) {
		t.Error("a repeated read answered what it answered before")
	}
}

func TestAClientsOwnIDMakesARepetitionTheSame(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		m := servertest.Scripted(t, scripted.Turn{Steps: []scripted.Step{{Text: "One."}}})
		agent := h.Agent(m)
		session := h.Session(agent)
		for name, c := range map[string]struct{ request, other object }{
			"CreateAgent": {
				object{"definition": definition(nil), "clientRequestId": "c"},
				object{"definition": definition(object{"name": "Other"}), "clientRequestId": "c"},
			},
			"CreateSession": {
				object{"agentId": agent, "clientRequestId": "c"}, object{"agentId": agent, "title": "x", "clientRequestId": " c "},
			},
			"MessageSession": {
				object{"sessionId": session, "content": text("a"), "clientMessageId": "c"},
				object{"sessionId": session, "content": text("b"), "clientMessageId": "c"},
			},
		} {
			first := must(t, h.Client, name, c.request)
			var wg sync.WaitGroup
			for i := range 3 {
				wg.Go(func() {
					again := object{"attempt": i}
					for k, v := range c.request {
						again[k] = v
					}
					out, status, message := act(t, h.Client, name, again)
					for k, v := range first {
						if out[k] != v {
							t.Errorf("%s again: %d %s %v, first %v", name, status, message, out, first)
						}
					}
				})
			}
			wg.Wait()
			want := wire.MsgRequestIDMismatch
			if name == "MessageSession" {
				want = wire.MsgMessageIDMismatch
			}
			if _, status, message := act(t, h.Client, name, c.other); status != 409 || message != want {
				t.Errorf("%s with another payload: %d %s", name, status, message)
			}
			for _, bad := range []any{"", 5, string(make([]byte, 300))} {
				field := "clientRequestId"
				if name == "MessageSession" {
					field = "clientMessageId"
				}
				request := object{}
				for k, v := range c.request {
					request[k] = v
				}
				request[field] = bad
				if _, status, _ := act(t, h.Client, name, request); status != 400 {
					t.Errorf("%s with id %v: %d", name, bad, status)
				}
			}
		}
		if n := len(m.Requests()); n != 1 {
			t.Errorf("the model was asked %d times", n)
		}
		if first := h.Events(session)[0]; first.Content != "a" {
			t.Errorf("the log begins with %+v", first)
		}
	})
}

func TestConcurrentSendsWithOneMessageIDAreOneMessage(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		m := servertest.Scripted(t, scripted.Turn{Steps: []scripted.Step{{Text: "One."}}})
		session := h.Session(h.Agent(m))
		var wg sync.WaitGroup
		answers := make([]any, 5)
		for i := range answers {
			wg.Go(func() {
				answers[i] = must(t, h.Client, "MessageSession", object{
					"sessionId": session, "content": text("a"), "clientMessageId": "c", "attempt": i,
				})["assistantEventId"]
			})
		}
		wg.Wait()
		for _, a := range answers {
			if a == "" || a != answers[0] {
				t.Errorf("answers: %v", answers)
			}
		}
		if events := h.Events(session); len(events) != 2 {
			t.Errorf("%d events", len(events))
		}
	})
}
