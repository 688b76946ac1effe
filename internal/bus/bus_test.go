package bus_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/wire"
)

func appendFrame(topic string, seq int64) *bus.Message {
	return bus.New(topic, wire.Frame{Kind: wire.FrameAppend, Event: &wire.SessionEvent{Seq: seq, Event: wire.Payload(`{}`)}})
}

func TestSubscribersReceiveTheirTopicsInOrder(t *testing.T) {
	t.Parallel()
	b := bus.NewLocal()
	s := b.Subscribe()
	defer s.Close()
	s.Join("sessions/a")
	s.Join("sessions/a")
	for i := range 3 {
		b.Publish(appendFrame("sessions/a", int64(i)))
		b.Publish(appendFrame("sessions/b", int64(i)))
	}
	got, err := s.Next(t.Context())
	if err != nil || len(got) != 3 {
		t.Fatalf("Next() = %d messages, %v; want the 3 of the topic", len(got), err)
	}
	for i, m := range got {
		if m.Frame.Event.Seq != int64(i) || m.Frame.Key != "sessions/a" {
			t.Errorf("message %d is seq %d of %q", i, m.Frame.Event.Seq, m.Frame.Key)
		}
	}
	s.Leave("sessions/a")
	b.Publish(appendFrame("sessions/a", 9))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Next() after Leave = %v, want context.Canceled", err)
	}
}

func TestASlowSubscriberKeepsTextAndDurableFrames(t *testing.T) {
	t.Parallel()
	b := bus.NewLocal()
	s := b.Subscribe()
	defer s.Close()
	s.Join("sessions/a")
	var want strings.Builder
	for i := range 5000 {
		if i%100 == 0 {
			b.Publish(appendFrame("sessions/a", int64(i)))
			continue
		}
		text := fmt.Sprintf("<%d>", i)
		want.WriteString(text)
		b.Publish(bus.Partial("a", "p", wire.PartialPatch{TextDelta: text}))
	}
	b.Publish(bus.Partial("a", "p", wire.PartialPatch{Done: true}))
	got, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	durable := 0
	for _, m := range got {
		if m.Frame.Kind == wire.FrameAppend {
			durable++
			continue
		}
		text.WriteString(m.Frame.Patch.TextDelta)
	}
	if text.String() != want.String() || durable != 50 {
		t.Errorf("lost text or durable frames: %d durable, text equal: %v", durable, text.String() == want.String())
	}
	if len(got) > 250 {
		t.Errorf("%d messages wait; deltas of a backlog are not merged", len(got))
	}
	if last := got[len(got)-1]; !last.Frame.Patch.Done {
		t.Error("the done patch was merged away")
	}
	if stats := b.Stats(); stats.Merged != int64(5001-len(got)) || stats.Lost != 0 {
		t.Errorf("counted %+v, and %d of 5001 messages waited", stats, len(got))
	}
}

func TestMergingChangesNoMessageOfOthers(t *testing.T) {
	t.Parallel()
	b := bus.NewLocal()
	s := b.Subscribe()
	defer s.Close()
	s.Join("sessions/a")
	sent := make([]*bus.Message, 100)
	for i := range sent {
		sent[i] = bus.Partial("a", "p", wire.PartialPatch{TextDelta: "x", Usage: &wire.Usage{Total: int64(i)}})
		b.Publish(sent[i])
	}
	for i, m := range sent {
		if p := m.Frame.Patch; p.TextDelta != "x" || p.Usage.Total != int64(i) {
			t.Errorf("message %d became %+v", i, p)
		}
	}
	got, err := s.Next(t.Context())
	if err != nil || len(got) == len(sent) || got[len(got)-1].Frame.Patch.Usage.Total != 99 {
		t.Errorf("Next() = %d messages, %v", len(got), err)
	}
}

// Not parallel, so that only this test allocates.
func TestPublishingToAStuckSubscriberCostsWhatIsPublished(t *testing.T) {
	b := bus.NewLocal()
	s := b.Subscribe()
	defer s.Close()
	s.Join("sessions/a")
	const deltas, size, factor = 10_000, 100, 50
	text := strings.Repeat("x", size)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range deltas {
		b.Publish(bus.Partial("a", "p", wire.PartialPatch{TextDelta: text}))
	}
	runtime.ReadMemStats(&after)
	if spent := after.TotalAlloc - before.TotalAlloc; spent > factor*deltas*size {
		t.Errorf("%d bytes were allocated for %d of text", spent, deltas*size)
	}
	got, err := s.Next(t.Context())
	total := 0
	for _, m := range got {
		total += len(m.Frame.Patch.TextDelta)
	}
	if err != nil || total != deltas*size {
		t.Errorf("%d bytes of text came, %v", total, err)
	}
}

func TestAHopelessSubscriberIsToldThatItIsTooSlow(t *testing.T) {
	t.Parallel()
	b := bus.NewLocal()
	s := b.Subscribe()
	defer s.Close()
	s.Join("sessions/a")
	for i := range bus.MaxPending {
		b.Publish(appendFrame("sessions/a", int64(i)))
	}
	if got, err := s.Next(t.Context()); err != nil || len(got) != bus.MaxPending {
		t.Fatalf("Next() at the limit = %d, %v", len(got), err)
	}
	for i := range bus.MaxPending + 1 {
		b.Publish(appendFrame("sessions/a", int64(i)))
	}
	if _, err := s.Next(t.Context()); !errors.Is(err, bus.ErrTooSlow) {
		t.Errorf("Next() over the limit = %v, want ErrTooSlow", err)
	}
	if stats := b.Stats(); stats.Lost != 1 || stats.Merged != 0 {
		t.Errorf("counted %+v", stats)
	}
}

func TestCloseWakesABlockedReader(t *testing.T) {
	t.Parallel()
	b := bus.NewLocal()
	s := b.Subscribe()
	s.Join("x")
	done := make(chan error, 1)
	go func() {
		_, err := s.Next(context.Background())
		done <- err
	}()
	s.Close()
	if err := <-done; !errors.Is(err, bus.ErrClosed) {
		t.Errorf("Next() = %v, want ErrClosed", err)
	}
	s.Join("y")
	b.Publish(appendFrame("y", 1))
	if _, err := s.Next(t.Context()); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("Next() after Close = %v, want ErrClosed", err)
	}
}

func TestConcurrentPublishersAndSubscribersLoseNothing(t *testing.T) {
	t.Parallel()
	b := bus.NewLocal()
	const publishers, each = 4, 500
	s := b.Subscribe()
	defer s.Close()
	s.Join("t")
	var wg sync.WaitGroup
	for p := range publishers {
		wg.Go(func() {
			for i := range each {
				b.Publish(appendFrame("t", int64(p*each+i)))
			}
		})
	}
	seen := map[int64]bool{}
	for len(seen) < publishers*each {
		batch, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range batch {
			if seen[m.Frame.Event.Seq] {
				t.Fatalf("seq %d twice", m.Frame.Event.Seq)
			}
			seen[m.Frame.Event.Seq] = true
		}
	}
	wg.Wait()
}

func BenchmarkFanOut500(b *testing.B) {
	bb := bus.NewLocal()
	for range 500 {
		s := bb.Subscribe()
		s.Join("sessions/a")
		go func() {
			for {
				if _, err := s.Next(b.Context()); err != nil {
					return
				}
			}
		}()
	}
	for b.Loop() {
		m := bus.Partial("a", "p", wire.PartialPatch{TextDelta: "word "})
		m.JSON()
		bb.Publish(m)
	}
}
