package sessionlog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

func TestSeqIsDenseFromOneUnderConcurrentAppenders(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		sessions := []string{b.create(t, sessionlog.CreateParams{}).ID, b.create(t, sessionlog.CreateParams{}).ID}
		watched := b.watch(t, sessions[0])
		const writers, rounds = 6, 5
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for r := range rounds {
					err := b.store.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
						_, err := b.log.Append(tx, sessions[w%2], nil, says("user", fmt.Sprint(w, r, "a")), says("assistant", fmt.Sprint(w, r, "b")))
						return err
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		for _, s := range sessions {
			events := b.events(t, s)
			if len(events) != writers*rounds || b.session(t, s).LastSeq != int64(len(events)) {
				t.Fatalf("%d events, last seq %d; want %d", len(events), b.session(t, s).LastSeq, writers*rounds)
			}
			for i, e := range events {
				if e.Seq != int64(i+1) {
					t.Fatalf("event %d has seq %d", i, e.Seq)
				}
			}
			for i := 0; i < len(events); i += 2 {
				first, second := string(events[i].Event), string(events[i+1].Event)
				if strings.Replace(first, `a"`, `b"`, 1) != strings.Replace(second, "assistant", "user", 1) {
					t.Errorf("the events of one call are not neighbours: %s, %s", first, second)
				}
			}
		}
		announced := map[int64]string{}
		for _, m := range frames(t, b, watched) {
			announced[m.Frame.Event.Seq] += m.Frame.Event.ID
		}
		for _, e := range b.events(t, sessions[0]) {
			if announced[e.Seq] != e.ID {
				t.Errorf("seq %d was announced as %q, want %q once", e.Seq, announced[e.Seq], e.ID)
			}
		}
	})
}

func TestAppendedEventsAreAnnouncedInOrderWithTheirDurableJSON(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		s := b.create(t, sessionlog.CreateParams{})
		watched := b.watch(t, s.ID)
		b.write(t, func(tx store.Tx) error {
			for i := range 3 {
				entries := []sessionlog.Entry{says("user", fmt.Sprint("<", i, "&")), says("assistant", "so")}
				if _, err := b.log.Append(tx, s.ID, nil, entries...); err != nil {
					return err
				}
			}
			if got := frames(t, b, watched); len(got) > 0 {
				t.Errorf("%d frames before the commit", len(got))
			}
			return nil
		})
		b.append(t, s.ID, says("user", "last"))
		got := frames(t, b, watched)
		stored := b.events(t, s.ID)
		if len(got) != 7 || len(stored) != 7 {
			t.Fatalf("%d frames of %d events, want 7", len(got), len(stored))
		}
		for i, m := range got {
			var frame struct {
				Kind  string          `json:"_"`
				Event json.RawMessage `json:"event"`
			}
			if err := json.Unmarshal(m.JSON(), &frame); err != nil {
				t.Fatal(err)
			}
			durable, err := json.Marshal(stored[i])
			if err != nil || frame.Kind != wire.FrameAppend || string(frame.Event) != string(durable) {
				t.Errorf("frame %d is %s, want the append of %s", i, m.JSON(), durable)
			}
		}
		if reasons := b.reasons(); !slices.Equal(reasons, []string{"session-created", "session-event", "session-event", "session-event", "session-event"}) {
			t.Errorf("changes are %q", reasons)
		}
	})
}

func TestEventsStayAsTheyWereWritten(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		s := b.create(t, sessionlog.CreateParams{})
		entries := []sessionlog.Entry{
			{Payload: wire.MessageEvent{Type: "message", Role: "user", Content: "<b>\u2028 \x00 \xff 🌱", Blocks: json.RawMessage(`[ {"b":1.50, "a":1e2} ]`)}},
			{Payload: wire.ToolCallEvent{Type: "tool_call", ID: "c1", Name: "read", Input: json.RawMessage(`{"z":1,"a":[null,0.10]}`)}, Run: "run-1"},
			{Payload: wire.ToolResultEvent{Type: "tool_result", ToolCallID: "c1", Name: "read", Output: json.RawMessage(`9007199254740993`)}},
			{Payload: wire.ErrorEvent{Type: "error", Message: "no"}},
		}
		returned := b.append(t, s.ID, entries...)
		want := make([]string, len(entries))
		for i, e := range entries {
			encoded, err := json.Marshal(e.Payload)
			if err != nil {
				t.Fatal(err)
			}
			want[i] = string(encoded)
		}
		b.clock.Advance(time.Hour)
		b.append(t, s.ID, says("assistant", "more"))
		stored := b.events(t, s.ID)[:len(entries)]
		if diff := cmp.Diff(returned, stored); diff != "" {
			t.Errorf("Append returned other events than the log has (-returned +stored):\n%s", diff)
		}
		for i, e := range stored {
			if string(e.Event) != want[i] || e.CreatedAt != start.UnixMilli() || e.SessionID != s.ID {
				t.Errorf("event %d is %+v %s, want payload %s", i, e, e.Event, want[i])
			}
		}
	})
}

func TestOpaqueStateIsReplayedByteForByteAndNeverShown(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		s := b.create(t, sessionlog.CreateParams{})
		const secret = `{"signature":"s3cr3t==", "z":1.0,  "a":"\u003c"}`
		said := says("assistant", "hello")
		said.Opaque, said.Run = json.RawMessage(secret), "run-1"
		watched := b.watch(t, s.ID)
		b.append(t, s.ID, says("user", "hi"), said)
		replayed := read(t, b, func(tx store.Tx) ([]sessionlog.Stored, error) { return sessionlog.Replay(tx, s.ID, 0) })
		if len(replayed) != 2 || replayed[0].Opaque != nil || string(replayed[1].Opaque) != secret {
			t.Fatalf("replayed %+v", replayed)
		}
		if e := replayed[1]; e.Run != "run-1" || e.Actor != sessionlog.ActorAgent || e.Type != sessionlog.TypeMessage || e.Seq != 2 {
			t.Errorf("the replayed event is %+v", e)
		}
		shown, err := json.Marshal(b.events(t, s.ID))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range frames(t, b, watched) {
			shown = append(shown, m.JSON()...)
		}
		if strings.Contains(string(shown), "s3cr3t") {
			t.Errorf("opaque state is shown: %s", shown)
		}
	})
}

func TestAppendToAMissingSessionWritesNothing(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		watched := b.watch(t, "nowhere")
		err := b.store.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
			_, err := b.log.Append(tx, "nowhere", nil, says("user", "hello"))
			return err
		})
		wantCode(t, err, fault.NotFound, "Session not found")
		if n := len(b.events(t, "nowhere")) + len(frames(t, b, watched)) + len(b.reasons()); n > 0 {
			t.Errorf("%d events, frames or changes of a session that does not exist", n)
		}
	})
}

func TestAFailedFenceWritesAndAnnouncesNothing(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		s := b.create(t, sessionlog.CreateParams{})
		b.reasons()
		watched := b.watch(t, s.ID)
		down, up := &fence{err: errFence}, &fence{}
		err := b.store.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
			_, err := b.log.Append(tx, s.ID, down, says("user", "hello"))
			return err
		})
		if !errors.Is(err, errFence) || down.asked != 1 {
			t.Errorf("Append = %v after %d questions, want the fence's error", err, down.asked)
		}
		if n := len(b.events(t, s.ID)) + len(frames(t, b, watched)) + len(b.reasons()); n > 0 {
			t.Errorf("%d events, frames or changes behind the fence", n)
		}
		err = b.store.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
			_, err := b.log.Append(tx, s.ID, down)
			return err
		})
		if !errors.Is(err, errFence) {
			t.Errorf("Append of nothing = %v, want the fence's error", err)
		}
		b.write(t, func(tx store.Tx) error {
			_, err := b.log.Append(tx, s.ID, up, says("user", "hello"))
			return err
		})
		if events := b.events(t, s.ID); len(events) != 1 || events[0].Seq != 1 {
			t.Errorf("the log is %v; a refused append must not use up a seq", events)
		}
	})
}

func TestARollbackLeavesNoEventAndAnnouncesNothing(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		s := b.create(t, sessionlog.CreateParams{})
		b.reasons()
		watched := b.watch(t, s.ID)
		err := b.store.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
			if _, err := b.log.Append(tx, s.ID, nil, says("user", "hello")); err != nil {
				return err
			}
			if err := b.log.SetStatus(tx, s.ID, sessionlog.StatusStreaming); err != nil {
				return err
			}
			return errFence
		})
		if !errors.Is(err, errFence) {
			t.Errorf("Write = %v", err)
		}
		if n := len(b.events(t, s.ID)) + len(frames(t, b, watched)) + len(b.reasons()); n > 0 {
			t.Errorf("%d events, frames or changes of a transaction that was rolled back", n)
		}
		if got := b.session(t, s.ID); got.Status != sessionlog.StatusIdle || got.LastSeq != 0 {
			t.Errorf("the session is %+v", got)
		}
	})
}

func TestAnUnknownPayloadIsRefused(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		s := b.create(t, sessionlog.CreateParams{})
		err := b.store.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
			_, err := b.log.Append(tx, s.ID, nil, says("user", "fine"), sessionlog.Entry{Payload: "not an event"})
			return err
		})
		if err == nil || len(b.events(t, s.ID)) > 0 {
			t.Errorf("Append = %v with %d events", err, len(b.events(t, s.ID)))
		}
	})
}

func TestPagesOfALogMeetWithoutGapOrOverlap(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		s := b.create(t, sessionlog.CreateParams{})
		for range 11 {
			b.append(t, s.ID, says("user", "x"))
		}
		seqs := func(fn func(tx store.Tx) ([]wire.SessionEvent, error)) (out []int64) {
			for _, e := range read(t, b, fn) {
				out = append(out, e.Seq)
			}
			return out
		}
		var backwards []int64
		for before := int64(12); ; {
			page := seqs(func(tx store.Tx) ([]wire.SessionEvent, error) { return sessionlog.EventsBefore(tx, s.ID, before, 4) })
			if len(page) == 0 {
				break
			}
			backwards = append(slices.Clone(page), backwards...)
			before = page[0]
		}
		var forwards []int64
		for after := int64(0); ; {
			page := seqs(func(tx store.Tx) ([]wire.SessionEvent, error) { return sessionlog.Events(tx, s.ID, after, 4) })
			if len(page) == 0 {
				break
			}
			forwards = append(forwards, page...)
			after = page[len(page)-1]
		}
		want := []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
		if !slices.Equal(backwards, want) || !slices.Equal(forwards, want) {
			t.Errorf("backwards %v, forwards %v", backwards, forwards)
		}
	})
}
