package limit_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/egress"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/limit"
	"github.com/loam-agents/loam/internal/model/openai"
	"github.com/loam-agents/loam/internal/model/scripted"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// steered is a provider whose streams say which account they belong to, wait for a permission and end as they are told.
type steered struct {
	account string
	started chan string
	answers chan error
}

func (s steered) Dialect() model.Dialect { return model.OpenAIChat }

func (s steered) Models(context.Context) ([]model.ModelRef, error) { return nil, nil }

func (s steered) Stream(context.Context, model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		s.started <- s.account
		if err := <-s.answers; err != nil {
			yield(model.Event{}, err)
			return
		}
		yield(model.Event{Kind: model.EventDone}, nil)
	}
}

// bench is a limiter on the clock of the bubble, with streams that the test starts and ends.
type bench struct {
	limiter *limit.Limiter
	key     string
	started chan string
	answers chan error
	wg      sync.WaitGroup
	mu      sync.Mutex
	failed  []error
}

func newBench(o limit.Options) *bench {
	return &bench{limiter: limit.New(o), key: limit.Key("http://a", "k"), started: make(chan string, 100), answers: make(chan error, 100)}
}

// start runs a stream of the account until the bubble is idle.
func (b *bench) start(ctx context.Context, account string) {
	p := limit.Wrap(steered{account, b.started, b.answers}, b.limiter.For(b.key, account))
	b.wg.Go(func() {
		for _, err := range p.Stream(ctx, model.Request{}) {
			if err != nil {
				b.mu.Lock()
				b.failed = append(b.failed, err)
				b.mu.Unlock()
			}
		}
	})
	synctest.Wait()
}

func (b *bench) answer(err error) {
	b.answers <- err
	synctest.Wait()
}

// running takes the accounts whose streams have begun since the last call.
func (b *bench) running() []string {
	var out []string
	for len(b.started) > 0 {
		out = append(out, <-b.started)
	}
	return out
}

func (b *bench) expect(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := b.running(); !slices.Equal(got, want) {
		t.Errorf("started %v, want %v", got, want)
	}
}

func bubble(t *testing.T, o limit.Options, f func(t *testing.T, b *bench)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(o)
		f(t, b)
		close(b.answers)
		b.wg.Wait()
	})
}

func slow(after time.Duration) error {
	return fmt.Errorf("wrapped: %w", &model.Error{Kind: model.ErrRateLimited, RetryAfter: after})
}

func TestAKeyRunsAtMostItsConcurrency(t *testing.T) {
	bubble(t, limit.Options{Concurrency: 2}, func(t *testing.T, b *bench) {
		for range 4 {
			b.start(t.Context(), "a")
		}
		b.expect(t, "a", "a")
		b.answer(nil)
		b.expect(t, "a")
		if n := b.limiter.For(b.key, "a").Queued(); n != 1 {
			t.Errorf("queued %d", n)
		}
	})
}

func TestKeysDoNotShareTheirPlaces(t *testing.T) {
	bubble(t, limit.Options{Concurrency: 1}, func(t *testing.T, b *bench) {
		b.start(t.Context(), "a")
		b.key = limit.Key("http://a", "other")
		b.start(t.Context(), "b")
		b.expect(t, "a", "b")
	})
}

func TestAccountsTakeTurns(t *testing.T) {
	bubble(t, limit.Options{Concurrency: 1}, func(t *testing.T, b *bench) {
		for _, account := range []string{"a", "a", "a", "a", "b", "b", "c"} {
			b.start(t.Context(), account)
		}
		b.expect(t, "a")
		for _, next := range []string{"a", "b", "c", "a", "b", "a"} {
			b.answer(nil)
			b.expect(t, next)
		}
	})
}

func TestOne429PausesEverybodyWithTheKeyForTheProvidersTime(t *testing.T) {
	bubble(t, limit.Options{Concurrency: 1}, func(t *testing.T, b *bench) {
		b.start(t.Context(), "a")
		b.start(t.Context(), "b")
		b.expect(t, "a")
		b.answer(slow(7 * time.Second))
		b.start(t.Context(), "c")
		time.Sleep(6999 * time.Millisecond)
		b.expect(t)
		time.Sleep(time.Millisecond)
		b.expect(t, "b")
		b.answer(nil)
		b.expect(t, "c")
	})
}

func TestAPauseThatGrowsMovesThoseWhoWait(t *testing.T) {
	bubble(t, limit.Options{Concurrency: 2}, func(t *testing.T, b *bench) {
		for _, account := range []string{"a", "b", "c"} {
			b.start(t.Context(), account)
		}
		b.expect(t, "a", "b")
		b.answer(slow(2 * time.Second))
		time.Sleep(time.Second)
		b.answer(slow(5 * time.Second))
		time.Sleep(4 * time.Second)
		b.expect(t)
		time.Sleep(time.Second)
		b.expect(t, "c")
	})
}

func TestWithoutATimeTheBackoffDoublesUntilASuccess(t *testing.T) {
	bubble(t, limit.Options{MaxWait: time.Minute}, func(t *testing.T, b *bench) {
		for _, pause := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
			b.start(t.Context(), "a")
			b.expect(t, "a")
			b.answer(slow(0))
			b.start(t.Context(), "b")
			time.Sleep(pause*time.Second - time.Millisecond)
			b.expect(t)
			time.Sleep(time.Millisecond)
			b.expect(t, "b")
			b.answer(&model.Error{Kind: model.ErrServer})
		}
		b.start(t.Context(), "a")
		b.expect(t, "a")
		b.answer(nil)
		b.start(t.Context(), "a")
		b.expect(t, "a")
		b.answer(slow(0))
		b.start(t.Context(), "a")
		time.Sleep(time.Second)
		b.expect(t, "a")
	})
}

func TestAnOverloadedServicePausesOnlyWhenItNamesATime(t *testing.T) {
	bubble(t, limit.Options{}, func(t *testing.T, b *bench) {
		b.start(t.Context(), "a")
		b.answer(&model.Error{Kind: model.ErrOverloaded})
		b.start(t.Context(), "a")
		b.expect(t, "a", "a")
		b.answer(&model.Error{Kind: model.ErrOverloaded, RetryAfter: time.Second})
		b.start(t.Context(), "a")
		b.expect(t)
		time.Sleep(time.Second)
		b.expect(t, "a")
	})
}

func TestALongPauseFailsAtOnceWithWhatIsLeftOfIt(t *testing.T) {
	bubble(t, limit.Options{Concurrency: 2, MaxWait: 10 * time.Second}, func(t *testing.T, b *bench) {
		for _, account := range []string{"a", "b", "c"} {
			b.start(t.Context(), account)
		}
		b.answer(slow(time.Minute))
		time.Sleep(time.Second)
		b.start(t.Context(), "d")
		b.mu.Lock()
		defer b.mu.Unlock()
		want := []time.Duration{time.Minute, time.Minute, 59 * time.Second}
		if len(b.failed) != len(want) {
			t.Fatalf("failed %v", b.failed)
		}
		for i, err := range b.failed {
			if e, ok := model.AsError(err); !ok || e.Kind != model.ErrRateLimited || e.RetryAfter != want[i] || !e.Retryable() {
				t.Errorf("%d: %+v", i, err)
			}
		}
	})
}

func TestAWaitEndsWithItsContextAndLeavesTheQueue(t *testing.T) {
	bubble(t, limit.Options{Concurrency: 1}, func(t *testing.T, b *bench) {
		b.start(t.Context(), "a")
		ctx, cancel := context.WithCancelCause(t.Context())
		b.start(ctx, "b")
		b.start(t.Context(), "c")
		why := errors.New("stopped")
		cancel(why)
		synctest.Wait()
		b.mu.Lock()
		e, ok := model.AsError(b.failed[0])
		b.mu.Unlock()
		if !ok || e.Kind != model.ErrCanceled || !errors.Is(e, why) {
			t.Errorf("%+v", e)
		}
		b.expect(t, "a")
		b.answer(nil)
		b.expect(t, "c")
	})
}

func TestALaneIsForgottenWhenNothingIsLeftToRemember(t *testing.T) {
	bubble(t, limit.Options{}, func(t *testing.T, b *bench) {
		b.start(t.Context(), "a")
		if b.limiter.Lanes() != 1 {
			t.Error("a lane in use is forgotten")
		}
		b.answer(nil)
		if b.limiter.Lanes() != 0 {
			t.Error("an idle lane stays")
		}
		b.start(t.Context(), "a")
		b.answer(slow(time.Second))
		if b.limiter.Lanes() != 1 {
			t.Error("a pause is forgotten")
		}
	})
}

func TestAConsumerThatLeavesGivesItsPlaceBack(t *testing.T) {
	t.Parallel()
	server, err := scripted.New(scripted.Options{Script: scripted.Script{Turns: []scripted.Turn{{Repeat: true, Steps: []scripted.Step{{Text: "a"}, {Text: "b"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	e, err := egress.New(egress.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	base := server.BaseURL(model.OpenAIChat)
	client, err := e.Operator(base)
	if err != nil {
		t.Fatal(err)
	}
	l := limit.New(limit.Options{Concurrency: 1})
	p := limit.Wrap(openai.NewChat(openai.Config{BaseURL: base, HTTP: client}), l.For(limit.Key(base, ""), "a"))
	for range 3 {
		for _, err := range p.Stream(t.Context(), model.Request{Model: "m", Messages: []model.Message{{Role: model.User, Parts: []model.Part{{Kind: model.PartText, Text: "hi"}}}}}) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if list, err := p.Models(t.Context()); err != nil || len(list) != 1 || p.Dialect() != model.OpenAIChat || l.Lanes() != 0 {
		t.Errorf("%v %v %s %d", list, err, p.Dialect(), l.Lanes())
	}
}

func TestAKeyIsNotHeld(t *testing.T) {
	t.Parallel()
	if k := limit.Key("http://a", "secret"); len(k) != 32 || k == limit.Key("http://a", "other") || k == limit.Key("http://b", "secret") {
		t.Errorf("key %q", k)
	}
}
