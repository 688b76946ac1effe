package tutor_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/tutor"
)

func requestText(t *testing.T, req model.Request) string {
	t.Helper()
	var out strings.Builder
	for ev, err := range tutor.New(tutor.Config{}).Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString(ev.Text)
	}
	return out.String()
}

func TestTheSameRequestGetsTheSameStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t, verbs...)
	w.ask("remember tea")
	collect := func() (out []model.Event) {
		for ev, err := range tutor.New(tutor.Config{}).Stream(t.Context(), w.request()) {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, ev)
		}
		return out
	}
	one, two := collect(), collect()
	if diff := cmp.Diff(one, two); diff != "" {
		t.Errorf("two streams differ:\n%s", diff)
	}
	done := one[len(one)-1]
	if done.Kind != model.EventDone || done.Usage.Input == 0 || done.Usage.Output == 0 || done.Usage.Total != done.Usage.Input+done.Usage.Output {
		t.Errorf("the last event is %+v", done)
	}
}

func TestWordsArriveAtTheGivenPace(t *testing.T) {
	t.Parallel()
	fake := clock.NewFake(time.UnixMilli(0))
	provider := tutor.New(tutor.Config{Clock: fake, Pace: 15 * time.Millisecond})
	req := newWorld(t).request()
	req.Messages = []model.Message{{Role: model.User, Parts: []model.Part{{Kind: model.PartText, Text: "hello"}}}}
	got := make(chan string)
	go func() {
		defer close(got)
		for ev := range provider.Stream(t.Context(), req) {
			got <- ev.Text
		}
	}()
	for _, want := range []string{"Hello! ", "I ", "am "} {
		<-fake.Waiting()
		select {
		case word := <-got:
			t.Fatalf("%q came before its time", word)
		default:
		}
		fake.Advance(15 * time.Millisecond)
		if word := <-got; word != want {
			t.Fatalf("got %q, want %q", word, want)
		}
	}
	for open := true; open; {
		select {
		case <-fake.Waiting():
			fake.Advance(15 * time.Millisecond)
		case _, open = <-got:
		}
	}
}

func TestACanceledStreamEndsWithThatError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	fake := clock.NewFake(time.UnixMilli(0))
	for _, cfg := range []tutor.Config{{}, {Clock: fake, Pace: time.Hour}} {
		var last error
		events := 0
		for _, err := range tutor.New(cfg).Stream(ctx, newWorld(t).request()) {
			events++
			last = err
		}
		if e, ok := model.AsError(last); !ok || e.Kind != model.ErrCanceled || events != 1 {
			t.Errorf("%d events, the last error is %v, want canceled at once", events, last)
		}
	}
}

func TestAConsumerMayLeaveAtAnyEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, verbs...)
	w.messages = []model.Message{{Role: model.User, Parts: []model.Part{{Kind: model.PartText, Text: "tools"}}}}
	total := 0
	for range tutor.New(tutor.Config{}).Stream(t.Context(), w.request()) {
		total++
	}
	for leaveAt := 1; leaveAt <= total; leaveAt++ {
		seen := 0
		for range tutor.New(tutor.Config{}).Stream(t.Context(), w.request()) {
			if seen++; seen == leaveAt {
				break
			}
		}
	}
}

func TestTheTutorListsItself(t *testing.T) {
	t.Parallel()
	p := tutor.New(tutor.Config{})
	list, err := p.Models(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != tutor.ModelID || p.Dialect() != model.TutorDialect {
		t.Errorf("Models = %v, %v; Dialect = %s", list, err, p.Dialect())
	}
}
