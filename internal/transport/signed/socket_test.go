package signed_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/internal/transport/signed"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

func seqOf(f map[string]any) int64 {
	event, ok := f["event"].(map[string]any)
	if !ok {
		return 0
	}
	return int64(event["seq"].(float64))
}

func TestASubscriptionGetsTheStateThenWhatItMissedThenWhatHappens(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		m := servertest.Scripted(t,
			scripted.Turn{Steps: []scripted.Step{{Text: "One."}}}, scripted.Turn{Steps: []scripted.Step{{Text: "Two."}}},
			scripted.Turn{Steps: []scripted.Step{{Text: "Thr"}, {Text: "ee."}}})
		session := h.Session(h.Agent(m))
		for range 2 {
			if _, err := h.Send(session, "next"); err != nil {
				t.Fatal(err)
			}
		}
		s := dial(t, h)
		s.subscribe(h.Key, "sessions/"+session, 1)
		f := s.next()
		if f["_"] != "change" || f["key"] != "sessions/"+session || f["value"].(map[string]any)["id"] != session || len(f) != 3 {
			t.Fatalf("after subscribed comes %v", f)
		}
		for want := int64(2); want <= 4; want++ {
			if f := s.next(); f["_"] != "append" || seqOf(f) != want || len(f) != 3 {
				t.Fatalf("replay: %v, want seq %d", f, want)
			}
		}
		if _, err := h.Send(session, "next"); err != nil {
			t.Fatal(err)
		}
		live := s.until(func(f map[string]any) bool { return seqOf(f) == 6 })
		before := live[len(live)-2]
		patch, _ := before["patch"].(map[string]any)
		if before["_"] != "appendPartial" || patch["done"] != true {
			t.Errorf("before the answer's event comes %v, want done", before)
		}
		text, partials := "", map[any]bool{}
		for _, f := range live {
			if f["_"] == "appendPartial" {
				partials[f["partialId"]] = true
				delta, _ := f["patch"].(map[string]any)["textDelta"].(string)
				text += delta
			}
		}
		if text != "Three." || len(partials) != 1 {
			t.Errorf("the partial said %q in %d partials", text, len(partials))
		}
	})
}

func TestReplayAndLiveJoinWithoutGapOrDoubleUnderLoad(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		m := servertest.Scripted(t, scripted.Turn{Repeat: true, Steps: []scripted.Step{{Gate: "never"}}})
		session := h.Session(h.Agent(m))
		go func() { _, _ = h.Send(session, "first") }()
		<-m.Reached("never")
		const writers, each, readers = 4, 15, 6
		const last = writers*each + 1
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					// Equal texts in one millisecond would be one and the same message.
					if out, err := h.Send(session, fmt.Sprintf("%d of writer %d", i, w)); err != nil || out.AssistantEventID != "" {
						t.Errorf("a message during a turn: %+v, %v", out, err)
					}
				}
			})
		}
		for r := range readers {
			s := dial(t, h)
			wg.Go(func() {
				after := int64(r % 2)
				s.subscribe(h.Key, "sessions/"+session, after)
				want := after + 1
				for want <= last {
					if got := seqOf(s.next()); got == want {
						want++
					} else if got != 0 {
						t.Errorf("reader %d got seq %d, want %d", r, got, want)
						return
					}
				}
			})
		}
		wg.Wait()
		servertest.Call[wire.StopSessionResponse](h, "StopSession", map[string]any{"sessionId": session})
	})
}

func TestACursorBeyondTheLogHidesNothingNew(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	session := h.Session(h.Agent(servertest.Scripted(t, scripted.Turn{Steps: []scripted.Step{{Text: "Hi."}}})))
	s := dial(t, h)
	s.subscribe(h.Key, "sessions/"+session, 1000)
	if _, err := h.Send(session, "hello"); err != nil {
		t.Fatal(err)
	}
	s.until(func(f map[string]any) bool { return seqOf(f) == 1 })
	s.until(func(f map[string]any) bool { return seqOf(f) == 2 })
}

func TestErrorsKeepTheSocketAndItsSubscriptions(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	stranger := key(t, 3)
	agent := h.Agent(servertest.Scripted(t, scripted.Turn{Repeat: true, Steps: []scripted.Step{{Text: "Yes."}}}))
	session := h.Session(agent)
	if _, err := h.Send(session, "hello"); err != nil {
		t.Fatal(err)
	}
	run := servertest.Call[wire.ListRunsResponse](h, "ListRuns", map[string]any{"agentId": agent}).Runs[0].ID
	sub := func(key any) map[string]any { return map[string]any{"_": "Subscribe", "key": key} }
	after := func(v any) map[string]any {
		a := sub("sessions/" + session)
		a["afterSeq"] = v
		return a
	}
	old := sub("sessions/" + session)
	old["ts"] = time.Now().Add(-time.Hour).UnixMilli()
	s := dial(t, h)
	s.subscribe(h.Key, "sessions/"+session, 2)
	s.next()
	for _, c := range []struct {
		name string
		body []byte
		want string
	}{
		{"garbage", []byte("garbage"), "Invalid CBOR request"},
		{"empty", []byte{}, "Invalid CBOR request"},
		{"list", []byte{0x80}, "Invalid envelope"},
		{"other action", sign(t, h.Key, map[string]any{"_": "ListAgents"}), "Expected Subscribe action"},
		{"old", sign(t, h.Key, old), "Action timestamp is outside allowed window"},
		{"account switch", sign(t, stranger, sub("account/"+stranger.ID().String())), "WebSocket account switch is not allowed"},
		{"no key", sign(t, h.Key, map[string]any{"_": "Subscribe"}), "Invalid subscription"},
		{"numeric key", sign(t, h.Key, sub(1)), "Invalid subscription"},
		{"unknown prefix", sign(t, h.Key, sub("tools/x")), "Subscription key is not authorized"},
		{"no slash", sign(t, h.Key, sub("sessions")), "Subscription key is not authorized"},
		{"empty id", sign(t, h.Key, sub("sessions/")), "Subscription key is not authorized"},
		{"NUL", sign(t, h.Key, sub("sessions/\x00")), "Subscription key is not authorized"},
		{"long", sign(t, h.Key, sub("sessions/"+strings.Repeat("x", 300))), "Subscription key is not authorized"},
		{"foreign account", sign(t, h.Key, sub("account/"+stranger.ID().String())), "Subscription key is not authorized"},
		{"missing agent", sign(t, h.Key, sub("agents/none")), "Agent not found"},
		{"missing session", sign(t, h.Key, sub("sessions/none")), "Session not found"},
		{"missing run", sign(t, h.Key, sub("runs/none")), "Run not found"},
		{"negative afterSeq", sign(t, h.Key, after(-1)), "afterSeq must be a non-negative integer"},
		{"fraction", sign(t, h.Key, after(1.5)), "afterSeq must be a non-negative integer"},
		{"text afterSeq", sign(t, h.Key, after("1")), "afterSeq must be a non-negative integer"},
		{"huge afterSeq", sign(t, h.Key, after(1e300)), "afterSeq must be a non-negative integer"},
	} {
		s.send(c.body)
		if f := s.next(); f["_"] != "error" || f["message"] != c.want || len(f) != 2 {
			t.Errorf("%s: %v, want %q", c.name, f, c.want)
		}
	}
	if err := s.Write(t.Context(), websocket.MessageText, []byte(`"not a list"`)); err != nil {
		t.Fatal(err)
	}
	if f := s.next(); f["message"] != "Invalid CBOR request" {
		t.Errorf("a text frame that is no list: %v", f)
	}
	other := dial(t, h)
	for k, want := range map[string]string{
		"agents/" + agent: "Agent not found", "sessions/" + session: "Session not found", "runs/" + run: "Run not found",
		"account/" + h.Key.ID().String(): "Subscription key is not authorized",
	} {
		other.send(sign(t, stranger, sub(k)))
		if f := other.next(); f["_"] != "error" || f["message"] != want {
			t.Errorf("a stranger's %s: %v", k, f)
		}
	}
	if _, err := h.Send(session, "still there?"); err != nil {
		t.Fatal(err)
	}
	s.until(func(f map[string]any) bool { return seqOf(f) == 4 })
}

func TestATextFrameOfByteNumbersIsAnEnvelope(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	s := dial(t, h)
	body := sign(t, h.Key, map[string]any{"_": "Subscribe", "key": "account/" + h.Key.ID().String(), "afterSeq": nil})
	numbers := make([]int, len(body))
	for i, b := range body {
		numbers[i] = int(b)
	}
	text, err := json.Marshal(numbers)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), websocket.MessageText, text); err != nil {
		t.Fatal(err)
	}
	if f := s.next(); f["_"] != "subscribed" {
		t.Errorf("answer: %v", f)
	}
}

// watched follows a turn on one socket with several keys and returns the frames of each key.
func watched(t *testing.T, h *servertest.Harness, k *principal.Key, session string, keys ...string) map[string][]map[string]any {
	t.Helper()
	s := dial(t, h)
	for _, key := range keys {
		s.subscribe(k, key, nil)
	}
	if _, err := h.Send(session, "hello"); err != nil {
		t.Fatal(err)
	}
	out := map[string][]map[string]any{}
	// A hint shows the session as it is when the hint is sent, which may be before its run is announced.
	idle, grew, ended := false, false, false
	for _, f := range s.until(func(f map[string]any) bool {
		value, _ := f["value"].(map[string]any)
		snapshot, _ := value["session"].(map[string]any)
		idle = idle || value["reason"] == "session-updated" && snapshot["status"] == "idle"
		grew = grew || value["reason"] == "session-event"
		ended = ended || value["status"] == "succeeded"
		return idle && grew && ended
	}) {
		name := f["key"].(string)
		out[name] = append(out[name], f)
	}
	return out
}

func TestAnAccountGetsHintsAndRunsAndNeverTheTranscript(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		agent := h.Agent(servertest.Scripted(t, scripted.Turn{Repeat: true, Steps: []scripted.Step{{Text: "Yes."}}}))
		session := h.Session(agent)
		account := "account/" + h.Key.ID().String()
		got := watched(t, h, h.Key, session, account)
		runs, reasons := 0, map[any]bool{}
		for name, frames := range got {
			for _, f := range frames {
				value, _ := f["value"].(map[string]any)
				switch {
				case f["_"] != "change":
					t.Errorf("an account got %v", f)
				case strings.HasPrefix(name, "runs/"):
					runs++
				case name == account:
					reasons[value["reason"]] = true
					if reason, _ := value["reason"].(string); !strings.HasPrefix(reason, "session-") {
						continue
					}
					if value["agentId"] != agent || value["sessionId"] != session || value["session"] == nil || value["activity"] == nil {
						t.Errorf("a hint without its snapshot: %v", value)
					}
				default:
					t.Errorf("an account got a frame of %s", name)
				}
			}
		}
		if runs < 2 || !reasons["session-event"] || !reasons["session-updated"] {
			t.Errorf("%d run changes, reasons %v", runs, slices.Collect(maps.Keys(reasons)))
		}
	})
}

func TestAnAgentsWatcherGetsItsSessionsHintsAndUpdates(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	agent := h.Agent(servertest.Scripted(t, scripted.Turn{Repeat: true, Steps: []scripted.Step{{Text: "Yes."}}}))
	session := h.Session(agent)
	s := dial(t, h)
	s.subscribe(h.Key, "agents/"+agent, nil)
	if _, err := h.Send(session, "hello"); err != nil {
		t.Fatal(err)
	}
	def := map[string]any{"name": "Renamed", "systemPrompt": "x", "modelProvider": "scripted", "model": "scripted-1"}
	servertest.Call[wire.GetAgentResponse](h, "UpdateAgent", map[string]any{"agentId": agent, "definition": def})
	kinds := map[string]bool{}
	for _, f := range s.until(func(f map[string]any) bool { return f["key"] == "agents/"+agent }) {
		kinds[strings.Split(f["key"].(string), "/")[0]] = true
		if f["_"] != "change" {
			t.Errorf("an agent's watcher got %v", f)
		}
	}
	if !kinds["account"] || !kinds["sessions"] || !kinds["agents"] || len(kinds) != 3 {
		t.Errorf("kinds of keys: %v", kinds)
	}
}

func TestARunTreeStartsWithASnapshotOfEveryRun(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	model := servertest.Scripted(t, scripted.Turn{Steps: []scripted.Step{{Gate: "go"}, {Text: "Yes."}}})
	session := h.Session(h.Agent(model))
	m := make(chan error, 1)
	go func() {
		_, err := h.Send(session, "hello")
		m <- err
	}()
	<-model.Reached("go")
	run := servertest.Call[wire.ListRunsResponse](h, "ListRuns", map[string]any{"sessionId": session}).Runs[0].ID
	s := dial(t, h)
	s.subscribe(h.Key, "runs/"+run, 0)
	f := s.next()
	if value := f["value"].(map[string]any); f["_"] != "change" || f["key"] != "runs/"+run || value["id"] != run || value["rootRunId"] != run {
		t.Errorf("snapshot: %v", f)
	}
	servertest.Call[wire.CancelRunResponse](h, "CancelRun", map[string]any{"runId": run})
	s.until(func(f map[string]any) bool { return f["value"].(map[string]any)["status"] == "canceled" })
	if err := <-m; err != nil {
		t.Errorf("the message of a canceled turn: %v", err)
	}
}

func TestOneSocketHoldsSoManyKeysAndNoMore(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	agent := h.Agent(servertest.Scripted(t))
	s := dial(t, h)
	var first string
	for i := range signed.DefaultSubscriptions {
		session := h.Session(agent)
		if i == 0 {
			first = session
		}
		s.subscribe(h.Key, "sessions/"+session, nil)
		s.next()
	}
	s.send(sign(t, h.Key, map[string]any{"_": "Subscribe", "key": "agents/" + agent}))
	want := fmt.Sprintf("Too many subscriptions on one socket: at most %d", signed.DefaultSubscriptions)
	if f := s.next(); f["_"] != "error" || f["message"] != want {
		t.Errorf("one more: %v", f)
	}
	// A key that the socket holds may be asked for again.
	s.subscribe(h.Key, "sessions/"+first, 0)
}

func TestAFrameBeyondTheLimitClosesTheSocket(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	s := dial(t, h)
	s.send(make([]byte, 256<<10))
	if f := s.next(); f["message"] != "Invalid CBOR request" {
		t.Errorf("a frame at the limit: %v", f)
	}
	if err := s.Write(t.Context(), websocket.MessageBinary, make([]byte, 257<<10)); err == nil {
		_, _, err = s.Read(t.Context())
		if got := websocket.CloseStatus(err); got != websocket.StatusMessageTooBig {
			t.Errorf("close code %d after an oversize frame: %v", got, err)
		}
	}
}

func TestAStoppingServerSaysSoToEverySocket(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	session := h.Session(h.Agent(servertest.Scripted(t)))
	sockets := []*socket{dial(t, h), dial(t, h), dial(t, h)}
	sockets[1].subscribe(h.Key, "sessions/"+session, nil)
	sockets[1].next()
	errs := make(chan error, len(sockets))
	for _, s := range sockets {
		go func() {
			for {
				if _, _, err := s.Read(context.Background()); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	h.Stop()
	for range sockets {
		var closed websocket.CloseError
		if err := <-errs; !errors.As(err, &closed) || closed.Code != websocket.StatusGoingAway || closed.Reason != "Server shutting down" {
			t.Errorf("a socket ended with %v", err)
		}
	}
}

func TestTheClientLibraryFollowsASession(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	session := h.Session(h.Agent(servertest.Scripted(t, scripted.Turn{Steps: []scripted.Step{{Text: "Hi."}}})))
	frames := h.Watch("sessions/"+session, 0)
	if _, err := h.Send(session, "hello"); err != nil {
		t.Fatal(err)
	}
	servertest.Until(t, frames, func(f client.Frame) bool { return f.Kind == wire.FrameAppend && f.Seq == 2 })
}
