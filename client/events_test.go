package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/model/scripted"
	loam "github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

func TestAStreamOfATokenShowsATurnAndResumes(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, loam.Config{})
	c := withToken(t, h)
	m := servertest.Scripted(t, scripted.Turn{Steps: []scripted.Step{{Text: "One "}, {Text: "two."}}}, scripted.Turn{Steps: []scripted.Step{{Text: "Three."}}})
	session := h.Session(h.Agent(m))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	follow := func(after int64, until func(client.Frame) bool) (frames []client.Frame) {
		for f, err := range c.Subscribe(ctx, "sessions/"+session, after) {
			if err != nil {
				t.Fatal(err)
			}
			if frames = append(frames, f); until(f) {
				return frames
			}
		}
		t.Fatal("the stream ended")
		return nil
	}
	sent := make(chan error, 2)
	var text string
	frames := follow(0, func(f client.Frame) bool {
		if f.Kind == client.FrameCaughtUp {
			go func() {
				_, err := h.Send(session, "count")
				sent <- err
			}()
		}
		return f.Kind == client.FrameDone
	})
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	var seqs []int64
	for _, f := range frames {
		switch f.Kind {
		case wire.FrameAppend:
			seqs = append(seqs, f.Seq)
		case wire.FrameAppendPartial:
			var p wire.PartialPatch
			if err := json.Unmarshal(f.Patch, &p); err != nil {
				t.Fatal(err)
			}
			text += p.TextDelta
		}
	}
	if frames[0].Kind != wire.FrameConnected || frames[1].Kind != wire.FrameSubscribed || !slices.Equal(seqs, []int64{1, 2}) || text != "One two." {
		t.Errorf("the stream was %+v with %q", seqs, text)
	}
	if _, err := h.Send(session, "on"); err != nil {
		t.Fatal(err)
	}
	again := follow(2, func(f client.Frame) bool { return f.Kind == client.FrameCaughtUp })
	if i := slices.IndexFunc(again, func(f client.Frame) bool { return f.Seq > 0 }); i < 0 || again[i].Seq != 3 {
		t.Errorf("resumed with %+v", again)
	}
	for f, err := range c.Subscribe(ctx, "sessions/nobody", 0) {
		if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != 404 {
			t.Errorf("a session that does not exist: %+v, %v", f, err)
		}
	}
	for _, err := range c.Subscribe(ctx, "agents/a", 0) {
		if err == nil || !strings.Contains(err.Error(), "cannot be followed") {
			t.Errorf("an agent's key: %v", err)
		}
	}
}

func TestAnEventStreamResumesAfterItsLastEventUntilTheTokenEnds(t *testing.T) {
	t.Parallel()
	events := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, text)
		}
	}
	event := func(seq int) string {
		return fmt.Sprintf("id: %d\nevent: event\ndata: {\"id\":\"e%d\",\"seq\":%d}\n\n", seq, seq, seq)
	}
	l := &later{answers: []http.HandlerFunc{
		events(event(1) + ":\n\n" + event(2) + "event: partial\ndata: not json\n\n" + "event: end\ndata: {\"reason\":\"shutdown\"}\n\n"),
		says(503, "", ""),
		events(event(2) + event(3) + "event: later\ndata: {}\n\nevent: caught_up\r\ndata: {\"lastSeq\":3}\r\n\r\nevent: end\ndata: {\"reason\":\"revoked\"}\n\n"),
	}}
	s := httptest.NewServer(l)
	defer s.Close()
	c, err := client.NewWithToken(s.URL, "loam_x", client.WithClock(newStepClock()), client.WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for f, err := range c.Subscribe(t.Context(), sessionKey, 0) {
		if err != nil {
			got = append(got, err.Error())
			break
		}
		got = append(got, strings.TrimSpace(fmt.Sprint(f.Kind, " ", f.EventID)))
	}
	want := []string{"connected", "subscribed", "append e1", "append e2", "connected", "subscribed", "append e3", "later", "caughtUp", "The token does not work any more: it is revoked"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
	for i, want := range []string{"", "2", "2"} {
		if got := l.asked[i].Header.Get("Last-Event-ID"); got != want {
			t.Errorf("connection %d began after %q, want %q", i, got, want)
		}
	}
}

// FuzzEvents holds the reader of streams to its bounds: whatever arrives, an event is not larger than the limit, and a stream ends
// with an error.
func FuzzEvents(f *testing.F) {
	for _, text := range []string{"event: a\ndata: 1\n\n", "data: 1\ndata: 2\r\n\r\n", ":\n\n", "data", "id: 7\nevent\n\ndata:x\n\n", strings.Repeat("x", 5000)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		const limit = 4096
		names, data, err := client.ReadEvents(strings.NewReader(text), limit)
		if err == nil || len(names) != len(data) {
			t.Fatalf("%d names, %d data, %v", len(names), len(data), err)
		}
		for _, d := range data {
			if len(d) > limit || strings.ContainsAny(d, "\r") && !strings.Contains(text, "\r") {
				t.Errorf("an event of %d bytes", len(d))
			}
		}
	})
}

func TestTheStreamOfADeletedSessionEndsForGood(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, loam.Config{})
	session := h.Session(h.Agent(servertest.Scripted(t)))
	c := withToken(t, h)
	for f, err := range c.Subscribe(t.Context(), wire.KeySession+session, 0) {
		if err != nil {
			if refused, ok := errors.AsType[*client.Error](err); !ok || refused.Status != http.StatusNotFound || refused.Message != "What was followed has been deleted" {
				t.Errorf("the stream ends with %v", err)
			}
			return
		}
		if f.Kind == client.FrameCaughtUp {
			servertest.Call[wire.DeleteSessionResponse](h, "DeleteSession", map[string]any{"sessionId": session})
		}
	}
	t.Error("the stream ended without a reason")
}
