package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/internal/transport/live"
	"github.com/loam-agents/loam/internal/transport/rest"
	"github.com/loam-agents/loam/wire"
)

// names lists the names of events, in a row.
func names(events []servertest.StreamEvent) string {
	var out []string
	for _, ev := range events {
		if n := len(out); ev.Name == "partial" && n > 0 && out[n-1] == "partial" {
			continue
		}
		out = append(out, ev.Name)
	}
	return strings.Join(out, " ")
}

// ids are the seqs of the durable events.
func ids(events []servertest.StreamEvent) string {
	var out []string
	for _, ev := range events {
		if ev.ID != "" {
			out = append(out, ev.ID)
		}
	}
	return strings.Join(out, " ")
}

func TestAStreamReplaysThenFollows(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg, scripted.Turn{Steps: []scripted.Step{{Text: "First."}}}, scripted.Turn{Steps: []scripted.Step{{Gate: "go"}, {Text: "Second."}}})
		session := w.session(t)
		servertest.Post[object](w.api, "/sessions/"+session+"/messages", text("one"))
		events, end := w.api.Stream("/sessions/" + session + "/stream")
		past := servertest.UntilEvent(t, events, "caught_up")
		if got := names(past); got != "session event event caught_up" || ids(past) != "1 2" || past[3].Data != `{"lastSeq":2}` {
			t.Errorf("the past is %s with %s, %v", got, ids(past), past[len(past)-1])
		}
		w.api.With("Prefer", "respond-async").Do("POST", "/api/v1/sessions/"+session+"/messages", text("two"))
		<-w.model.Reached("go")
		w.model.Open("go")
		live := servertest.UntilEvent(t, events, "done")
		if ids(live) != "3 4" || !strings.Contains(names(live), "partial") || live[len(live)-1].Data != `{"status":"idle","lastSeq":4}` {
			t.Errorf("a turn is %s with %s, %v", names(live), ids(live), live[len(live)-1])
		}
		for _, ev := range live {
			switch ev.Name {
			case "event":
				var e wire.SessionEvent
				if err := json.Unmarshal([]byte(ev.Data), &e); err != nil || fmt.Sprint(e.Seq) != ev.ID {
					t.Errorf("event %v: %v", ev, err)
				}
			case "partial":
				var f wire.Frame
				if err := json.Unmarshal([]byte(ev.Data), &f); err != nil || f.Kind != wire.FrameAppendPartial || f.Patch == nil {
					t.Errorf("partial %v: %v", ev, err)
				}
			}
		}
		end()
		// A client that comes back gets what it missed, once; the header of a browser wins over the address of its page.
		for _, api := range []struct {
			r    *servertest.REST
			path string
		}{{w.api.With("Last-Event-ID", "3"), "?afterSeq=1"}, {w.api, "?afterSeq=3"}} {
			again, end := api.r.Stream("/sessions/" + session + "/stream" + api.path)
			if missed := servertest.UntilEvent(t, again, "caught_up"); ids(missed) != "4" {
				t.Errorf("after 3 come %s", ids(missed))
			}
			end()
		}
		refused(t, w.api.With("Last-Event-ID", "x").Do("GET", "/api/v1/sessions/"+session+"/stream", nil), http.StatusBadRequest, "validation_failed")
		refused(t, w.api.Do("GET", "/api/v1/sessions/"+session+"/stream?afterSeq=-1", nil), http.StatusBadRequest, "validation_failed")
	})
}

func TestManyStreamsThatComeAndGoSeeEveryEventOnce(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg)
		session := w.session(t)
		const turns = 8
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				// Each stream is left after three events and goes on from there.
				last := 0
				for last < 2*turns {
					events, end := w.api.Stream(fmt.Sprintf("/sessions/%s/stream?afterSeq=%d", session, last))
					for range 3 {
						seen := servertest.UntilEvent(t, events, "event")
						last++
						if got := seen[len(seen)-1].ID; got != fmt.Sprint(last) {
							t.Errorf("event %s came, want %d", got, last)
						}
						if last == 2*turns {
							break
						}
					}
					end()
				}
			})
		}
		for i := range turns {
			servertest.Post[object](w.api, "/sessions/"+session+"/messages", text(fmt.Sprint(i)))
		}
		wg.Wait()
	})
}

func TestRunsAndHintsAreStreams(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg, scripted.Turn{Steps: []scripted.Step{{Gate: "go"}, {Text: "Yes."}}})
		account, _ := w.api.Stream("/stream")
		servertest.UntilEvent(t, account, "caught_up")
		session := w.session(t)
		for {
			hint := servertest.UntilEvent(t, account, "hint")
			var h wire.AccountHint
			if err := json.Unmarshal([]byte(hint[len(hint)-1].Data), &h); err != nil {
				t.Fatal(err)
			}
			if h.Reason == "session-created" && h.SessionID == session {
				break
			}
		}
		a := w.api.With("Prefer", "respond-async").Do("POST", "/api/v1/sessions/"+session+"/messages", text("hi"))
		run := servertest.JSON[struct{ RunID string }](t, a).RunID
		events, _ := w.api.Stream("/runs/" + run + "/stream")
		if past := servertest.UntilEvent(t, events, "caught_up"); names(past) != "run caught_up" {
			t.Errorf("a tree of one run begins with %s", names(past))
		}
		w.model.Open("go")
		for status := ""; status != "succeeded"; {
			seen := servertest.UntilEvent(t, events, "run")
			var info wire.RunInfo
			if err := json.Unmarshal([]byte(seen[len(seen)-1].Data), &info); err != nil || info.ID != run {
				t.Fatalf("%v: %v", seen, err)
			}
			status = info.Status
		}
	})
}

func TestAStreamEndsWithItsServer(t *testing.T) {
	t.Parallel()
	w := build(t, server.Config{})
	events, _ := w.api.Stream("/stream")
	servertest.UntilEvent(t, events, "caught_up")
	w.h.Stop()
	if last := servertest.UntilEvent(t, events, "end"); last[len(last)-1].Data != `{"reason":"shutdown"}` {
		t.Errorf("the end says %v", last)
	}
	if ev, open := <-events; open {
		t.Errorf("after the end comes %v", ev)
	}
}

func TestAStreamEndsWhenItsSessionIsDeleted(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg)
		session, kept := w.session(t), w.session(t)
		events, _ := w.api.Stream("/sessions/" + session + "/stream")
		servertest.UntilEvent(t, events, "caught_up")
		others, _ := w.api.Stream("/sessions/" + kept + "/stream")
		servertest.UntilEvent(t, others, "caught_up")
		w.api.Do("DELETE", "/api/v1/sessions/"+session, nil)
		if last := servertest.UntilEvent(t, events, "end"); last[len(last)-1].Data != `{"reason":"deleted"}` {
			t.Errorf("the end says %v", last)
		}
		if ev, open := <-events; open {
			t.Errorf("after the end comes %v", ev)
		}
		servertest.Post[object](w.api, "/sessions/"+kept+"/messages", text("still here?"))
		servertest.UntilEvent(t, others, "done")
		// With its agent goes every session of it.
		w.api.Do("DELETE", "/api/v1/agents/"+w.agent, nil)
		if last := servertest.UntilEvent(t, others, "end"); last[len(last)-1].Data != `{"reason":"deleted"}` {
			t.Errorf("the end says %v", last)
		}
	})
}

func TestAStreamFindsWhatAnotherServerAnnouncedToNobodyHere(t *testing.T) {
	t.Parallel()
	fake := clock.NewFake(time.Now())
	cfg := server.Config{Clock: fake, DatabaseURL: storetest.PostgresURL(t)}
	w := build(t, cfg)
	session := w.session(t)
	events, _ := w.api.Stream("/sessions/" + session + "/stream")
	servertest.UntilEvent(t, events, "caught_up")
	other := servertest.NewElsewhere(t, cfg.DatabaseURL)
	other.Say(session, "the last words", "From elsewhere")
	fake.Advance(live.CompareEvery)
	found := servertest.UntilEvent(t, events, "done")
	if names(found) != "event session done" || ids(found) != "1" || !strings.Contains(found[0].Data, "the last words") ||
		!strings.Contains(found[1].Data, "From elsewhere") {
		t.Errorf("the comparison brings %v", found)
	}
	other.Delete(session)
	fake.Advance(live.CompareEvery)
	if last := servertest.UntilEvent(t, events, "end"); len(last) != 1 || last[0].Data != `{"reason":"deleted"}` {
		t.Errorf("a deleted session brings %v", last)
	}
}

func TestAStreamEndsWhenItsTokenIsRevoked(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg)
		made := servertest.Post[wire.CreateTokenResponse](w.api, "/tokens", object{"name": "x", "scopes": []string{"read"}})
		session := w.session(t)
		for _, path := range []string{"/stream", "/sessions/" + session + "/stream"} {
			events, _ := w.h.REST(made.Token).Stream(path)
			servertest.UntilEvent(t, events, "caught_up")
			defer func() {
				if last := servertest.UntilEvent(t, events, "end"); last[len(last)-1].Data != `{"reason":"revoked"}` {
					t.Errorf("the end says %v", last)
				}
			}()
		}
		kept, _ := w.api.Stream("/stream")
		servertest.UntilEvent(t, kept, "caught_up")
		w.api.Do("DELETE", "/api/v1/tokens/"+made.Info.ID, nil)
		// The stream of another token goes on.
		w.session(t)
		servertest.UntilEvent(t, kept, "hint")
	})
}

func TestAnIdleStreamSaysThatItLivesAndEndsWithItsToken(t *testing.T) {
	t.Parallel()
	fake := clock.NewFake(time.Now())
	w := build(t, server.Config{Clock: fake})
	const minute = 60_000
	made := servertest.Post[wire.CreateTokenResponse](w.api, "/tokens", object{
		"name": "short", "scopes": []string{"read"}, "expiresAt": fake.Now().UnixMilli() + minute,
	})
	api := w.h.REST(made.Token)
	events, _ := api.Stream("/stream")
	servertest.UntilEvent(t, events, "caught_up")
	fake.Advance(16 * time.Second)
	servertest.UntilEvent(t, events, "")
	fake.Advance(time.Minute)
	if last := servertest.UntilEvent(t, events, "end"); last[len(last)-1].Data != `{"reason":"expired"}` {
		t.Errorf("the end says %v", last)
	}
	refused(t, api.Do("GET", "/api/v1/me", nil), http.StatusUnauthorized, "unauthenticated")
}

func TestTheStreamsOfAnAccountAreBounded(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	token := h.Token()
	api := h.REST(token)
	var end func()
	for range rest.MaxStreams {
		var events <-chan servertest.StreamEvent
		events, end = api.Stream("/stream")
		servertest.UntilEvent(t, events, "caught_up")
	}
	refusal := api.Do("GET", "/api/v1/stream", nil)
	if refused(t, refusal, http.StatusTooManyRequests, "rate_limited"); refusal.Header.Get("Retry-After") == "" {
		t.Errorf("headers %v", refusal.Header)
	}
	// Another account has its own, and one that ends makes room.
	other, _ := h.REST(tokenOf(t, h, 7)).Stream("/stream")
	servertest.UntilEvent(t, other, "caught_up")
	end()
	// The server sees that a connection is closed a moment later.
	for opened(t, h.URL, token) != http.StatusOK {
	}
}

// opened is the status of a stream that is left at once.
func opened(t *testing.T, url, token string) int {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/v1/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}
