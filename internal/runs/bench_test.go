package runs_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
)

// quick ends every run at once.
type quick struct{}

func (quick) Execute(context.Context, *runs.Lease) (runs.Outcome, error) {
	return runs.Outcome{Status: runs.Succeeded}, nil
}

// benchmark runs fn on both databases with a queue that works in real time.
func benchmark(b *testing.B, fn func(b *testing.B, s store.Store, q *runs.Queue)) {
	for name, open := range map[string]func(testing.TB, ...storetest.Option) store.Store{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		b.Run(name, func(b *testing.B) {
			s := open(b)
			c := clock.System{}
			q := runs.New(runs.Options{
				Store: s, Clock: c, IDs: id.NewSource(c, nil), Owner: "bench", Workers: 1, Sweep: time.Hour,
				Executors: map[string]runs.Executor{runs.KindAgent: quick{}},
			})
			fn(b, s, q)
		})
	}
}

func enqueue(b *testing.B, s store.Store, q *runs.Queue, specs ...runs.Spec) []string {
	b.Helper()
	var ids []string
	err := s.Write(b.Context(), store.Interactive, func(tx store.Tx) error {
		ids = nil
		for _, spec := range specs {
			r, err := q.Enqueue(tx, spec)
			if err != nil {
				return err
			}
			ids = append(ids, r.ID)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return ids
}

// BenchmarkRun is one run from its enqueue to its end, awaited. commits/run counts transactions that were committed, among
// them the claims that found nothing, which write and flush nothing.
func BenchmarkRun(b *testing.B) {
	benchmark(b, func(b *testing.B, s store.Store, q *runs.Queue) {
		working(b, q)
		before := s.Stats().Commits
		for b.Loop() {
			await(b, q, enqueue(b, s, q, spec("s"))[0])
		}
		b.ReportMetric(float64(s.Stats().Commits-before)/float64(b.N), "commits/run")
	})
}

// BenchmarkRunBehind10000 is the same when 10,000 runs of 1,000 sessions wait in the background lane, not yet due or behind
// others of their session.
func BenchmarkRunBehind10000(b *testing.B) {
	benchmark(b, func(b *testing.B, s store.Store, q *runs.Queue) {
		var waiting []runs.Spec
		for i := range 10_000 {
			w := spec(fmt.Sprint("waiting", i%1000))
			w.Lane = runs.Background
			waiting = append(waiting, w)
		}
		enqueue(b, s, q, waiting...)
		err := s.Write(b.Context(), store.Interactive, func(tx store.Tx) error {
			_, err := tx.Exec(`UPDATE runs SET not_before = ?`, tx.Now()+time.Hour.Milliseconds())
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
		working(b, q)
		for b.Loop() {
			await(b, q, enqueue(b, s, q, spec("s"))[0])
		}
	})
}

// BenchmarkDrain10000 is the time per run to work off 10,000 queued runs of 1,000 sessions.
func BenchmarkDrain10000(b *testing.B) {
	benchmark(b, func(b *testing.B, s store.Store, q *runs.Queue) {
		for b.Loop() {
			b.StopTimer()
			var waiting []runs.Spec
			for i := range 10_000 {
				waiting = append(waiting, spec(fmt.Sprint(i%1000)))
			}
			ids := enqueue(b, s, q, waiting...)
			b.StartTimer()
			working(b, q)
			await(b, q, ids[len(ids)-1])
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/10_000, "us/run")
	})
}

func working(b *testing.B, q *runs.Queue) {
	b.Helper()
	if err := q.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { q.Stop(context.Background()) })
}

func await(b *testing.B, q *runs.Queue, runID string) {
	b.Helper()
	if _, err := q.Await(b.Context(), runID); err != nil {
		b.Fatal(err)
	}
}
