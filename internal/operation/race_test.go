package operation_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

// outcome is how one of several racing requests was answered.
type outcome struct {
	answer object
	status int
	text   string
}

// race sends requests at the same moment, each in an envelope of its own.
func race(t *testing.T, h *servertest.Harness, name string, requests ...object) []outcome {
	t.Helper()
	out := make([]outcome, len(requests))
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i, request := range requests {
		body := object{"attempt": i}
		for k, v := range request {
			body[k] = v
		}
		wg.Go(func() {
			<-start
			out[i].answer, out[i].status, out[i].text = act(t, h.Client, name, body)
		})
	}
	close(start)
	wg.Wait()
	return out
}

// TestOfEqualRequestsThatRaceOneRuns sends requests with one client id at the same moment, most with one content and some with
// another: whichever content comes first is carried out once, everybody who sent it is answered the same, and the others are
// told of the mismatch.
func TestOfEqualRequestsThatRaceOneRuns(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		cfg.DataDir = t.TempDir()
		h := servertest.Start(t, cfg)
		m := servertest.Scripted(t, scripted.Turn{Repeat: true, Steps: []scripted.Step{{Text: "Once."}}})
		agent := h.Agent(m)
		session := h.Session(agent)
		for name, c := range map[string]struct {
			request, other object
			answer         string
			mismatch       string
		}{
			"CreateAgent": {
				object{"definition": definition(nil), "clientRequestId": "c"},
				object{"definition": definition(object{"name": "Other"}), "clientRequestId": "c"},
				"agentId", wire.MsgRequestIDMismatch,
			},
			"CreateSession": {
				object{"agentId": agent, "clientRequestId": "c"}, object{"agentId": agent, "title": "other", "clientRequestId": "c"},
				"sessionId", wire.MsgRequestIDMismatch,
			},
			"MessageSession": {
				object{"sessionId": session, "content": text("a"), "clientMessageId": "c"},
				object{"sessionId": session, "content": text("b"), "clientMessageId": "c"},
				"assistantEventId", wire.MsgMessageIDMismatch,
			},
		} {
			requests := []object{c.request, c.request, c.other, c.request, c.request, c.other, c.request, c.request}
			answers := map[string][]bool{}
			check := func(list []outcome) {
				for i, got := range list {
					isOther := fmt.Sprint(requests[i]) == fmt.Sprint(c.other)
					switch {
					case got.status == http.StatusOK && got.answer[c.answer] != "":
						id := fmt.Sprint(got.answer[c.answer])
						answers[id] = append(answers[id], isOther)
					case got.status != http.StatusConflict || got.text != c.mismatch:
						t.Errorf("%s: %d %s %v", name, got.status, got.text, got.answer)
					}
				}
			}
			check(race(t, h, name, requests...))
			check(race(t, h, name, requests...))
			if len(answers) != 1 {
				t.Errorf("%s ran %d times: %v", name, len(answers), answers)
			}
			for id, winners := range answers {
				// All of one content won, in both rounds, and none of the other.
				want := 6 * 2
				if winners[0] {
					want = 2 * 2
				}
				for _, w := range winners {
					if w != winners[0] {
						t.Errorf("%s %s answers both contents", name, id)
					}
				}
				if len(winners) != want {
					t.Errorf("%s: %d answers of %d", name, len(winners), want)
				}
			}
		}
		agents := servertest.Call[wire.ListAgentsResponse](h, "ListAgents", nil).Agents
		if events := h.Events(session); len(events) != 2 || len(m.Requests()) != 1 || len(agents) != 3 || sessions(h) != 2 {
			t.Errorf("%d events, the model was asked %d times, %d agents, %d sessions", len(events), len(m.Requests()), len(agents), sessions(h))
		}
		// The record outlives the process.
		before := must(t, h.Client, "ListSessions", nil)["sessions"].([]any)
		h.Stop()
		h = servertest.Start(t, cfg)
		again := race(t, h, "CreateSession", object{"agentId": agent, "clientRequestId": "c"}, object{"agentId": agent, "title": "other", "clientRequestId": "c"})
		if after := must(t, h.Client, "ListSessions", nil)["sessions"].([]any); len(after) != len(before) || (again[0].status == 200) == (again[1].status == 200) {
			t.Errorf("after a restart: %v, %d sessions", again, len(after))
		}
	})
}

func TestDeletingAndCommittingTwiceAtOnceIsDoneOnce(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg)
		id := w.beginUpload("race.txt", 1)
		must(t, w.h.Client, "AppendFileUploadChunk", object{"uploadId": id, "offset": 0, "content": []byte("x")})
		commit := object{"uploadId": id}
		for _, got := range race(t, w.h, "CommitFileUpload", commit, commit, commit, commit) {
			if entry, _ := got.answer["entry"].(object); got.status != 200 || entry["path"] != "race.txt" {
				t.Errorf("a commit: %d %s %v", got.status, got.text, got.answer)
			}
		}
		gone := 0
		session := object{"sessionId": w.session}
		for _, got := range race(t, w.h, "DeleteSession", session, session, session, session) {
			switch {
			case got.status == http.StatusOK:
				gone++
			case got.status != http.StatusNotFound || got.text != wire.MsgSessionNotFound:
				t.Errorf("a deletion: %d %s", got.status, got.text)
			}
		}
		if gone != 1 {
			t.Errorf("%d envelopes deleted one session", gone)
		}
	})
}
