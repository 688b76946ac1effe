package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/wire"
)

const sessionKey = "sessions/s1"

func appendEvent(seq int) map[string]any {
	return map[string]any{"_": "append", "key": sessionKey, "event": map[string]any{"id": fmt.Sprintf("e%d", seq), "seq": seq}}
}

func subscribed(key string) map[string]any {
	return map[string]any{"_": "subscribed", "key": key, "accountId": "z6Mk"}
}

// expect reads frames and compares their kind and position, such as "append 3".
func expect(t *testing.T, frames <-chan delivered, want ...string) {
	t.Helper()
	for _, w := range want {
		select {
		case d, open := <-frames:
			if !open || d.err != nil {
				t.Fatalf("want %s, the stream ended: %v", w, d.err)
			}
			got := d.frame.Kind
			if d.frame.Seq != 0 {
				got = fmt.Sprintf("%s %d", got, d.frame.Seq)
			}
			if got != w {
				t.Fatalf("frame %s, want %s", got, w)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("no frame, want %s", w)
		}
	}
}

func TestSessionResumesAfterTheLastEventAndRepeatsNone(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	frames, stop := stream(t, s.client(), sessionKey, 0)

	p := s.next()
	if _, sent := p.envelope.Action["afterSeq"]; sent || p.envelope.Action["key"] != sessionKey {
		t.Errorf("first subscription %v", p.envelope.Action)
	}
	p.send(subscribed(sessionKey), map[string]any{"_": "change", "key": sessionKey, "value": map[string]any{"id": "s1"}},
		appendEvent(1), appendEvent(2), appendEvent(2))
	expect(t, frames, "connected", "subscribed", "change", "append 1", "append 2")
	p.drop()

	if wait := <-s.clock.waits; wait != 500*time.Millisecond {
		t.Errorf("first wait %v", wait)
	}
	p = s.next()
	if p.envelope.Action["afterSeq"] != int64(2) || p.envelope.TS != startTime.Add(500*time.Millisecond).UnixMilli() {
		t.Errorf("second subscription %v", p.envelope.Action)
	}
	p.send(subscribed(sessionKey), appendEvent(2), appendEvent(3))
	expect(t, frames, "connected", "subscribed", "append 3")
	stop()
	if d, open := <-frames; open {
		t.Errorf("after the end: %+v", d)
	}
	p.drop()
}

func TestFirstSubscriptionTakesTheCallersCursor(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	stream(t, s.client(), sessionKey, 42)
	if p := s.next(); p.envelope.Action["afterSeq"] != int64(42) {
		t.Errorf("subscription %v", p.envelope.Action)
	}
	stream(t, s.client(), "account/z6Mk", 42)
	if p := s.next(); p.envelope.Action["afterSeq"] != nil {
		t.Errorf("subscription %v", p.envelope.Action)
	}
}

func TestRunEntriesAreKnownByRunAndSeq(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	entry := func(run string, seq int) map[string]any {
		return map[string]any{"_": "append", "key": "runs/r1", "runId": run, "seq": seq, "entry": map[string]any{"k": 1}, "createdAt": 9}
	}
	frames, _ := stream(t, s.client(), "runs/r1", 7)
	for range 2 {
		p := s.next()
		if _, sent := p.envelope.Action["afterSeq"]; sent {
			t.Errorf("subscription %v", p.envelope.Action)
		}
		p.send(subscribed("runs/r1"), entry("r1", 1), entry("r2", 1))
		p.drop()
	}
	p := s.next()
	p.send(entry("r1", 2))
	expect(t, frames, "connected", "subscribed", "append 1", "append 1", "connected", "subscribed", "connected", "append 2")
}

func TestWaitsDoubleUntilASubscriptionSucceeds(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	lost := make(chan error, 64)
	frames, _ := stream(t, s.client(
		client.WithJitter(func() float64 { return 0.5 }),
		client.WithOnDisconnect(func(key string, err error, _ time.Duration) {
			if key != sessionKey {
				t.Errorf("disconnect of %s", key)
			}
			lost <- err
		}),
	), sessionKey, 0)
	// Half of the jitter takes a quarter off: 375 ms instead of 500 ms.
	for _, want := range []time.Duration{375, 750, 1500, 3000, 6000, 7500, 7500} {
		s.next().drop()
		if got := <-s.clock.waits; got != want*time.Millisecond {
			t.Errorf("wait %v, want %v ms", got, int(want))
		}
		if err := <-lost; err == nil {
			t.Error("a disconnect without reason")
		}
		expect(t, frames, "connected")
	}
	p := s.next()
	p.send(subscribed(sessionKey))
	expect(t, frames, "connected", "subscribed")
	p.drop()
	if got := <-s.clock.waits; got != 375*time.Millisecond {
		t.Errorf("wait after a success %v", got)
	}
}

func TestErrorFramesAreDeliveredAndBadFramesSkipped(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	frames, _ := stream(t, s.client(), sessionKey, 0)
	s.next().send(
		"not JSON", `{"_":"append","key":"sessions/s1","event":[1]}`, `[]`,
		map[string]any{"_": "error", "message": wire.MsgSessionNotFound, "code": "c"},
		map[string]any{"_": "appendPartial", "key": sessionKey, "partialId": "p", "patch": map[string]any{"textDelta": "hi"}},
		map[string]any{"_": "appendPartial", "key": sessionKey, "partialId": "p", "patch": map[string]any{"textDelta": "hi"}},
		map[string]any{"_": "heartbeat", "later": true},
	)
	expect(t, frames, "connected")
	if d := <-frames; d.frame.Kind != wire.FrameError || d.frame.Message != wire.MsgSessionNotFound || d.frame.Code != "c" {
		t.Errorf("error frame %+v", d)
	}
	for range 2 {
		if d := <-frames; d.frame.PartialID != "p" || string(d.frame.Patch) != `{"textDelta":"hi"}` {
			t.Errorf("partial %+v", d)
		}
	}
	expect(t, frames, "heartbeat")
}

func TestBreakClosesTheSocketNormally(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	code := make(chan websocket.StatusCode, 1)
	go func() { code <- s.next().closed() }()
	for range s.client().Subscribe(t.Context(), sessionKey, 0) {
		break
	}
	if got := <-code; got != websocket.StatusNormalClosure {
		t.Errorf("close code %v", got)
	}
}

func TestRefusedUpgradeEndsTheStream(t *testing.T) {
	t.Parallel()
	for status, permanent := range map[int]bool{301: true, 400: true, 403: true, 404: true, 429: false, 500: false, 503: false} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(status)
			}))
			defer ts.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			clock := newStepClock()
			c, err := client.New(ts.URL, testKey(t, 1), client.WithClock(clock),
				client.WithOnDisconnect(func(string, error, time.Duration) { cancel() }))
			if err != nil {
				t.Fatal(err)
			}
			var last error
			for _, err := range c.Subscribe(ctx, sessionKey, 0) {
				last = err
			}
			var refused *client.Error
			if permanent && (!errors.As(last, &refused) || refused.Status != status) {
				t.Errorf("error %v, want a refusal", last)
			}
			if retried := ctx.Err() != nil; retried == permanent || (!permanent && last != nil) {
				t.Errorf("retried %v, error %v", retried, last)
			}
		})
	}
}

func TestSilentPeerIsFoundByPings(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	stream(t, s.client(client.WithKeepAlive(10*time.Millisecond)), sessionKey, 0)
	// The server's end is open but nobody reads it, so no pong comes back.
	first := s.next()
	second := s.next()
	if first == second {
		t.Error("the same socket came twice")
	}
}

func TestEndedContextSubscribesNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for f, err := range newServer(t).client().Subscribe(ctx, sessionKey, 0) {
		t.Errorf("delivered %v, %v", f, err)
	}
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte(`{"_":"append","event":{"id":"x","seq":1}}`))
	f.Add([]byte(`{"_":"append","runId":"r","seq":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		frame, err := client.ParseFrame(data)
		if err == nil && frame.EventID != "" && frame.Kind != wire.FrameAppend {
			t.Fatalf("an event in a frame of kind %q", frame.Kind)
		}
	})
}
