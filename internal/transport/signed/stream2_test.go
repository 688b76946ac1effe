package signed_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/internal/transport/live"
	"github.com/loam-agents/loam/internal/transport/signed"
	"github.com/loam-agents/loam/wire"
)

// plain is a frame in its JSON form, whatever it was sent in.
func plain(t *testing.T, f map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// second runs a test on sockets of stream 2 in both encodings.
func second(t *testing.T, fn func(t *testing.T, stream string)) {
	t.Parallel()
	for _, stream := range []string{wire.StreamJSON, wire.StreamCBOR} {
		t.Run(stream, func(t *testing.T) {
			t.Parallel()
			fn(t, stream)
		})
	}
}

func TestStream2SaysWhenAReplayHasCaughtUp(t *testing.T) {
	second(t, func(t *testing.T, stream string) {
		h := servertest.Start(t, server.Config{})
		session := h.Session(h.Agent(servertest.Scripted(t, scripted.Turn{Repeat: true, Steps: []scripted.Step{{Text: "An "}, {Text: "answer."}}})))
		if _, err := h.Send(session, "one"); err != nil {
			t.Fatal(err)
		}
		s := dial(t, h, stream)
		s.subscribe(h.Key, "sessions/"+session, nil)
		replay := s.until(func(f map[string]any) bool { return f["_"] == "caught_up" })
		if n := len(replay); n != 4 || seqOf(plain(t, replay[1])) != 1 || seqOf(plain(t, replay[2])) != 2 {
			t.Fatalf("the replay is %v", replay)
		}
		if f := plain(t, replay[3]); f["key"] != "sessions/"+session || f["seq"] != 2.0 || len(f) != 3 {
			t.Errorf("its end is %v", f)
		}
		s.subscribe(h.Key, "account/"+h.Key.ID().String(), nil)
		if f := s.next(); f["_"] != "caught_up" || f["seq"] != nil {
			t.Errorf("a key without events says %v", f)
		}
		if _, err := h.Send(session, "two"); err != nil {
			t.Fatal(err)
		}
		text := ""
		live := s.until(func(f map[string]any) bool { return f["event"] != nil && seqOf(plain(t, f)) == 4 })
		for _, f := range live {
			if patch, ok := f["patch"].(map[string]any); ok {
				delta, _ := patch["textDelta"].(string)
				text += delta
			}
		}
		event := plain(t, live[len(live)-1])["event"].(map[string]any)["event"].(map[string]any)
		if text != "An answer." || event["content"] != "An answer." {
			t.Errorf("the partials said %q, the event is %v", text, event)
		}
	})
}

func TestStream2EndsASubscriptionAndOnlyThat(t *testing.T) {
	second(t, func(t *testing.T, stream string) {
		h := servertest.Start(t, server.Config{})
		agent := h.Agent(servertest.Scripted(t, scripted.Turn{Repeat: true, Steps: []scripted.Step{{Text: "x"}}}))
		left, kept := h.Session(agent), h.Session(agent)
		s := dial(t, h, stream)
		for _, session := range []string{left, kept} {
			s.subscribe(h.Key, "sessions/"+session, nil)
			s.until(func(f map[string]any) bool { return f["_"] == "caught_up" })
		}
		text, err := json.Marshal(map[string]any{"_": "Unsubscribe", "key": "sessions/" + left})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Write(t.Context(), websocket.MessageText, text); err != nil {
			t.Fatal(err)
		}
		if f := s.next(); f["_"] != "unsubscribed" || f["key"] != "sessions/"+left || len(f) != 2 {
			t.Fatalf("the answer is %v", f)
		}
		for _, session := range []string{left, kept} {
			if _, err := h.Send(session, "one"); err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range s.until(func(f map[string]any) bool { return f["event"] != nil && seqOf(plain(t, f)) == 2 }) {
			if f["key"] != "sessions/"+kept {
				t.Errorf("after the end comes %v", f)
			}
		}
		// In binary, for a key that is none, and then again from the cursor.
		body, err := dagcbor.Marshal(map[string]any{"_": "Unsubscribe", "key": "nothing"})
		if err != nil {
			t.Fatal(err)
		}
		s.send(body)
		s.until(func(f map[string]any) bool { return f["_"] == "unsubscribed" && f["key"] == "nothing" })
		s.subscribe(h.Key, "sessions/"+left, 1)
		again := s.until(func(f map[string]any) bool { return f["_"] == "caught_up" })
		if len(again) != 3 || seqOf(plain(t, again[1])) != 2 {
			t.Errorf("a new subscription gets %v", again)
		}
	})
}

func TestStream2EndsTheSubscriptionOfADeletedSession(t *testing.T) {
	second(t, func(t *testing.T, stream string) {
		h := servertest.Start(t, server.Config{})
		agent := h.Agent(servertest.Scripted(t))
		deleted, kept := h.Session(agent), h.Session(agent)
		s := dial(t, h, stream)
		for _, session := range []string{deleted, kept} {
			s.subscribe(h.Key, "sessions/"+session, nil)
			s.until(func(f map[string]any) bool { return f["_"] == "caught_up" })
		}
		for _, session := range []string{deleted, kept} {
			servertest.Call[wire.DeleteSessionResponse](h, "DeleteSession", map[string]any{"sessionId": session})
			if f := s.next(); f["_"] != "unsubscribed" || f["key"] != "sessions/"+session || f["code"] != wire.CodeDeleted || len(f) != 3 {
				t.Fatalf("a deletion is %v", f)
			}
		}
	})
}

func TestTheFirstStreamSaysNothingOfADeletedSession(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	session := h.Session(h.Agent(servertest.Scripted(t)))
	s := dial(t, h)
	s.subscribe(h.Key, "sessions/"+session, nil)
	if f := s.next(); f["_"] != "change" {
		t.Fatalf("a subscription begins with %v", f)
	}
	servertest.Call[wire.DeleteSessionResponse](h, "DeleteSession", map[string]any{"sessionId": session})
	s.send(sign(t, h.Key, map[string]any{"_": "Subscribe", "key": "sessions/" + session}))
	if f := s.next(); f["_"] != "error" || f["message"] != "Session not found" {
		t.Errorf("after a deletion comes %v", f)
	}
}

func TestASocketFindsWhatAnotherServerAnnouncedToNobodyHere(t *testing.T) {
	t.Parallel()
	fake := clock.NewFake(time.Now())
	cfg := server.Config{Clock: fake, DatabaseURL: storetest.PostgresURL(t)}
	h := servertest.Start(t, cfg)
	agent := h.Agent(servertest.Scripted(t))
	session, quiet := h.Session(agent), h.Session(agent)
	s := dial(t, h, wire.StreamJSON)
	for _, session := range []string{session, quiet} {
		s.subscribe(h.Key, "sessions/"+session, nil)
		s.until(func(f map[string]any) bool { return f["_"] == "caught_up" })
	}
	other := servertest.NewElsewhere(t, cfg.DatabaseURL)
	other.Say(session, "the last words", "From elsewhere")
	fake.Advance(live.CompareEvery)
	if f := s.next(); f["_"] != "append" || seqOf(f) != 1 || f["key"] != "sessions/"+session {
		t.Fatalf("the comparison brings %v", f)
	}
	if f := s.next(); f["_"] != "change" || f["value"].(map[string]any)["title"] != "From elsewhere" {
		t.Fatalf("then %v", f)
	}
	other.Delete(quiet)
	fake.Advance(live.CompareEvery)
	if f := s.next(); f["_"] != "unsubscribed" || f["key"] != "sessions/"+quiet {
		t.Errorf("a deleted session brings %v", f)
	}
}

func TestTheJournalsOfATreeAreReplayedAndFollowed(t *testing.T) {
	t.Parallel()
	fake := clock.NewFake(time.Now())
	cfg := server.Config{Clock: fake, DatabaseURL: storetest.PostgresURL(t)}
	h := servertest.Start(t, cfg)
	session := h.Session(h.Agent(servertest.Scripted(t, scripted.Say("Yes."))))
	if _, err := h.Send(session, "go"); err != nil {
		t.Fatal(err)
	}
	run := servertest.Call[wire.ListRunsResponse](h, "ListRuns", map[string]any{"sessionId": session}).Runs[0].ID
	other := servertest.NewElsewhere(t, cfg.DatabaseURL)
	other.Note(run, `{"kind":"log","message":"one"}`, `{"kind":"log","message":"two"}`)
	s := dial(t, h, wire.StreamJSON)
	entry := func(f map[string]any) string {
		text, _ := f["entry"].(map[string]any)["message"].(string)
		return fmt.Sprintf("%v %v %v %v %v %v", f["_"], f["key"] == "runs/"+run, f["runId"] == run, f["seq"], text, f["createdAt"] != nil)
	}
	s.subscribe(h.Key, "runs/"+run, 1)
	frames := s.until(func(f map[string]any) bool { return f["_"] == "caught_up" })
	if len(frames) != 3 || frames[0]["_"] != "change" || entry(frames[1]) != "append true true 2 two true" {
		t.Fatalf("the replay is %v", frames)
	}
	other.Note(run, `{"kind":"log","message":"three"}`)
	fake.Advance(live.CompareEvery)
	if f := s.next(); entry(f) != "append true true 3 three true" {
		t.Errorf("then %v", f)
	}
	journal := servertest.Call[wire.RunJournalResponse](h, "GetRunJournal", map[string]any{"runId": run, "afterSeq": 2})
	if len(journal.Entries) != 1 || journal.Entries[0].Seq != 3 || journal.Entries[0].RunID != run {
		t.Errorf("the journal is %+v", journal)
	}
}

func TestKeysThatWereLeftMakeRoom(t *testing.T) {
	t.Parallel()
	// No heartbeat comes in between, however long it takes.
	h := servertest.Start(t, server.Config{Clock: clock.NewFake(time.Now())})
	agent := h.Agent(servertest.Scripted(t))
	s := dial(t, h, wire.StreamJSON)
	first := ""
	for range signed.DefaultSubscriptions {
		key := "sessions/" + h.Session(agent)
		if first == "" {
			first = key
		}
		s.subscribe(h.Key, key, nil)
		s.until(func(f map[string]any) bool { return f["_"] == "caught_up" })
	}
	another := "sessions/" + h.Session(agent)
	s.send(sign(t, h.Key, map[string]any{"_": "Subscribe", "key": "agents/" + agent}))
	if f := s.next(); f["_"] != "error" {
		t.Fatalf("over the limit: %v", f)
	}
	body, err := dagcbor.Marshal(map[string]any{"_": "Unsubscribe", "key": first})
	if err != nil {
		t.Fatal(err)
	}
	s.send(body)
	if f := s.next(); f["_"] != "unsubscribed" {
		t.Fatalf("a key is left with %v", f)
	}
	s.subscribe(h.Key, another, nil)
}

func TestStream2BeatsWithTheSeqsThatWereSent(t *testing.T) {
	second(t, func(t *testing.T, stream string) {
		time := clock.NewFake(time.Now())
		h := servertest.Start(t, server.Config{Clock: time})
		session := h.Session(h.Agent(servertest.Scripted(t, scripted.Turn{Repeat: true, Steps: []scripted.Step{{Text: "x"}}})))
		s := dial(t, h, stream)
		s.subscribe(h.Key, "sessions/"+session, nil)
		s.until(func(f map[string]any) bool { return f["_"] == "caught_up" })
		if _, err := h.Send(session, "one"); err != nil {
			t.Fatal(err)
		}
		s.until(func(f map[string]any) bool { return f["event"] != nil && seqOf(plain(t, f)) == 2 })
		beat := make(chan map[string]any, 1)
		go func() {
			frames := s.until(func(f map[string]any) bool { return f["_"] == "heartbeat" })
			beat <- frames[len(frames)-1]
		}()
		for {
			select {
			case f := <-beat:
				f = plain(t, f)
				seqs, _ := f["seqs"].(map[string]any)
				if seqs["sessions/"+session] != 2.0 || len(seqs) != 1 || f["at"] == nil {
					t.Errorf("the heartbeat is %v", f)
				}
				return
			default:
				time.Advance(signed.Heartbeat)
				runtime.Gosched()
			}
		}
	})
}

func TestASocketOfTheFirstStreamKnowsNothingOfTheSecond(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	session := h.Session(h.Agent(servertest.Scripted(t)))
	s := dial(t, h, "another.protocol")
	if s.Subprotocol() != "" {
		t.Errorf("the server chose %q", s.Subprotocol())
	}
	body, err := dagcbor.Marshal(map[string]any{"_": "Unsubscribe", "key": "sessions/" + session})
	if err != nil {
		t.Fatal(err)
	}
	s.send(body)
	if f := s.next(); f["_"] != "error" {
		t.Errorf("a bare Unsubscribe is answered with %v", f)
	}
	s.subscribe(h.Key, "sessions/"+session, nil)
	if f := s.next(); f["_"] != "change" {
		t.Errorf("after the subscription comes %v", f)
	}
	s.subscribe(h.Key, "account/"+h.Key.ID().String(), nil)
}
