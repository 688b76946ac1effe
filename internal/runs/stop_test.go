package runs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/logctx"
	"github.com/loam-agents/loam/internal/runs"
)

func TestAwaitEndsWhenTheQueueHasStopped(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		r := p.enqueue(t, spec("s"))[0]
		e := p.next(t)
		answered := make(chan error, 1)
		go func() {
			_, err := p.Await(t.Context(), r.ID)
			answered <- err
		}()
		p.began <- e // for stop, which interrupts it
		p.stop()
		if err := <-answered; !errors.Is(err, runs.ErrStopping) {
			t.Errorf("who awaited a run that was queued again got %v", err)
		}
		if _, err := p.Await(t.Context(), r.ID); !errors.Is(err, runs.ErrStopping) {
			t.Errorf("who comes after the stop gets %v", err)
		}
	})
}

func TestWhatIsLoggedAboutARunNamesIt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var text bytes.Buffer
		p := w.working(t, "p", func(o *runs.Options) {
			o.Log = slog.New(logctx.Handler(slog.NewJSONHandler(&text, nil)))
		})
		panicked := p.enqueue(t, spec("s"))[0]
		p.end(t, p.next(t), result{err: errPanic})
		broken := p.enqueue(t, spec("s"))[0]
		p.end(t, p.next(t), result{err: errors.New("broken")})
		p.stop()
		for want, r := range map[string]runs.Run{"executor panicked": panicked, "execution failed": broken} {
			var line struct{ Msg, Run, Session, Account, Agent string }
			for _, l := range strings.Split(text.String(), "\n") {
				if strings.Contains(l, want) {
					if err := json.Unmarshal([]byte(l), &line); err != nil {
						t.Fatal(err)
					}
				}
			}
			if line.Run != r.ID || line.Session != r.Session || line.Account != r.Account || line.Agent != r.Agent || r.Session == "" {
				t.Errorf("%s: %+v\n%s", want, line, text.String())
			}
		}
	})
}
