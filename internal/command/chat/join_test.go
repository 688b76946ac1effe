package chat_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/command/chat"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

// lateSocket makes the live stream slower than the message, as a busy machine does now and then.
type lateSocket struct{}

// RoundTrip implements http.RoundTripper.
func (lateSocket) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == wire.SocketPath {
		<-clock.System{}.After(5 * time.Millisecond)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func TestTheFirstAnswerOfEveryNewConversationIsShownOnceAndWhole(t *testing.T) {
	t.Parallel()
	const conversations = 40
	var steps []scripted.Step
	var whole strings.Builder
	for i := range 30 {
		word := fmt.Sprintf("word%d ", i)
		steps = append(steps, scripted.Step{Text: word})
		whole.WriteString(word)
	}
	turns := make([]scripted.Turn, conversations)
	for i := range turns {
		turns[i] = scripted.Turn{Steps: steps}
	}
	h := servertest.Start(t, server.Config{})
	cl, err := client.New(h.URL, h.Key, client.WithHTTPClient(&http.Client{Transport: lateSocket{}}))
	if err != nil {
		t.Fatal(err)
	}
	agent := h.Agent(servertest.Scripted(t, turns...))
	for range conversations {
		s := newStage(chat.Style{})
		c := chat.New(cl, agent, s)
		err := c.Say(t.Context(), "hello", s.Own)
		c.Close()
		if got := strings.TrimSpace(s.out.String()); err != nil || got != strings.TrimSpace(whole.String()) {
			t.Fatalf("Say() = %v, screen %q", err, got)
		}
	}
}

func TestAnAnswerThatBeganBeforeOneJoinedIsShownWithItsEvent(t *testing.T) {
	t.Parallel()
	c, s, h, m := setup(t,
		scripted.Turn{Steps: []scripted.Step{{Text: "One."}}},
		scripted.Turn{Steps: []scripted.Step{{Text: "The begin"}, {Gate: "joined"}, {Text: "ning and the end."}}},
		scripted.Turn{Steps: []scripted.Step{{Text: "Three."}}},
	)
	if err := c.Say(t.Context(), "first", s.Own); err != nil {
		t.Fatal(err)
	}
	session := c.SessionID()
	c.Leave()
	s.out.Reset()
	elsewhere := make(chan error, 1)
	go func() {
		_, err := h.Send(session, "second")
		elsewhere <- err
	}()
	<-m.Reached("joined")
	c.Resume(t.Context(), session, 0)
	s.shown = func(text string) {
		if strings.Contains(text, `"third"`) {
			m.Open("joined")
		}
	}
	if err := c.Say(t.Context(), "third", s.Own); err != nil {
		t.Fatalf("Say() = %v", err)
	}
	if err := <-elsewhere; err != nil {
		t.Fatal(err)
	}
	if got := s.out.String(); strings.Count(got, "ning and the end.") != 1 || !strings.Contains(got, "\nThe beginning and the end.\n") {
		t.Errorf("screen %q", got)
	}
}
