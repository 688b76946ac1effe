package runs_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/runs"
)

func TestRunsOfAProcessThatIsGoneAreTakenOverBeforeTheirLeasesRunOut(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		dead := w.working(t, "dead", one)
		left := dead.enqueue(t, spec("a"))[0]
		dead.nextOf(t, left.ID)
		busy := w.working(t, "busy", one)
		working := busy.nextOf(t, busy.enqueue(t, spec("b"))[0].ID)
		var gone atomic.Value
		heir := w.working(t, "heir", func(o *runs.Options) {
			o.Gone = func(_ context.Context, owner string) (bool, error) { return owner == gone.Load(), nil }
		})
		if err := w.try(t, working.Check); err != nil {
			t.Errorf("Check while both live = %v", err)
		}
		gone.Store("dead")
		heir.sweep <- time.Time{}
		heir.nextOf(t, left.ID)
		if err := w.try(t, working.Check); err != nil {
			t.Errorf("Check of the process that lives = %v", err)
		}
	})
}

func TestAStartFailsWhenItCannotLearnWhoIsGone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		dead := w.working(t, "dead", one)
		dead.enqueue(t, spec("s"))
		dead.next(t)
		unknown := errors.New("unknown")
		p := w.process("p", func(o *runs.Options) { o.Gone = func(context.Context, string) (bool, error) { return false, unknown } })
		if err := p.Start(t.Context()); !errors.Is(err, unknown) {
			t.Errorf("Start = %v", err)
		}
	})
}
