package trigger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/trigger/schedule"
)

const (
	// lookEvery is the longest pause of the scheduler: another process may have written a trigger.
	lookEvery = 30 * time.Second
	// maxDue is how many triggers one look fires, each in a transaction of its own.
	maxDue = 100
	// pruneEvery is how often old claims are forgotten, pruneBatch how many at once.
	pruneEvery = time.Hour
	pruneBatch = 1000
)

// Start begins to fire schedules, and to follow the source of activities if there is one. A second Start does nothing.
func (s *Service) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	s.done.Go(func() { s.work(ctx) })
	if s.opts.Activities != nil {
		s.done.Go(func() { s.follow(ctx) })
	}
}

// Stop fires nothing more and waits for what is being fired.
func (s *Service) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop == nil {
		return
	}
	s.stop()
	s.done.Wait()
}

// Wake makes the scheduler look at the triggers now.
func (s *Service) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// work fires what is due and sleeps until the next trigger is.
func (s *Service) work(ctx context.Context) {
	prune := s.opts.Clock.Now()
	for {
		pause, err := s.FireDue(ctx)
		if err == nil && !s.opts.Clock.Now().Before(prune) {
			prune = s.opts.Clock.Now().Add(pruneEvery)
			err = s.prune(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.opts.Logger.ErrorContext(ctx, "fire schedules", "error", err)
		}
		select {
		case <-s.opts.Clock.After(pause):
		case <-s.wake:
		case <-ctx.Done():
			return
		}
	}
}

// FireDue fires the schedules that are due and returns how long nothing will be, as far as this process knows. One that cannot be fired
// keeps none of the others from it.
func (s *Service) FireDue(ctx context.Context) (pause time.Duration, err error) {
	for {
		now := s.opts.Clock.Now()
		var due []Trigger
		var next int64
		err := s.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
			if due, err = list(tx, `next_at > 0 AND next_at <= ? ORDER BY next_at, id LIMIT ?`, now.UnixMilli(), maxDue); err != nil {
				return err
			}
			return tx.QueryRow(`SELECT COALESCE(MIN(next_at), 0) FROM triggers WHERE next_at > ?`, now.UnixMilli()).Scan(&next)
		})
		if err != nil {
			return lookEvery, fmt.Errorf("look for schedules that are due: %w", err)
		}
		var failed error
		for i := range due {
			if err := s.fireSchedule(ctx, &due[i]); err != nil {
				failed = errors.Join(failed, fmt.Errorf("fire trigger %s: %w", due[i].ID, err))
			}
		}
		if failed != nil {
			return lookEvery, failed
		}
		if len(due) == maxDue {
			continue
		}
		if next == 0 {
			return lookEvery, nil
		}
		return min(lookEvery, max(time.UnixMilli(next).Sub(now), time.Millisecond)), nil
	}
}

// fireSchedule fires a trigger whose time has come, unless another process was quicker or a person has changed it.
func (s *Service) fireSchedule(ctx context.Context, seen *Trigger) error {
	return s.opts.Store.Write(ctx, store.Background, func(tx store.Tx) error {
		if err := tx.Lock("trigger/" + seen.ID); err != nil {
			return err
		}
		rows, err := list(tx, `id = ? AND next_at = ?`, seen.ID, seen.NextAt)
		if err != nil || len(rows) == 0 {
			return err
		}
		t, now := &rows[0], s.opts.Clock.Now()
		sched, err := schedule.Parse(*t.Source.Schedule)
		if err != nil {
			// A zone that this system does not know any more.
			return s.disarm(tx, t, err.Error())
		}
		due, skipped := sched.Due(time.UnixMilli(t.NextAt), now)
		if err := s.proceed(tx, t, &sched, now); err != nil {
			return err
		}
		_, _, err = s.fire(tx, t, scheduled(t, due, now, skipped))
		return err
	})
}

// proceed sets when the schedule is due next. One that comes once is switched off.
func (s *Service) proceed(tx store.Tx, t *Trigger, sched *schedule.Schedule, now time.Time) error {
	t.NextAt, t.LastCheckedAt = millis(sched.Next(now)), now.UnixMilli()
	t.Enabled = t.NextAt != 0
	_, err := tx.Exec(`UPDATE triggers SET next_at = ?, last_checked_at = ?, enabled = ? WHERE id = ?`, t.NextAt, t.LastCheckedAt, t.Enabled, t.ID)
	if err != nil {
		return fmt.Errorf("set the next time of a schedule: %w", err)
	}
	return nil
}

func (s *Service) disarm(tx store.Tx, t *Trigger, why string) error {
	if _, err := tx.Exec(`UPDATE triggers SET next_at = 0, last_error = ? WHERE id = ?`, why, t.ID); err != nil {
		return fmt.Errorf("disarm a schedule: %w", err)
	}
	s.opts.Changed(tx, t.Account, t.Agent, ReasonUpdated)
	return nil
}

// scheduled is the event of a schedule that is due. Times that were missed come to this one.
func scheduled(t *Trigger, due, now time.Time, skipped int64) event {
	summary := "Scheduled for " + due.UTC().Format("2006-01-02 15:04 MST")
	activity := map[string]any{"type": Schedule, "scheduledAt": due.UnixMilli(), "firedAt": now.UnixMilli()}
	if skipped > 0 {
		summary += fmt.Sprintf(", %d earlier missed", skipped)
		activity["missed"] = skipped
	}
	return event{key: fmt.Sprintf("schedule:%s:%d", t.ID, due.UnixMilli()), summary: summary, activity: activity}
}

// prune forgets claims on events that cannot come again.
func (s *Service) prune(ctx context.Context) error {
	return s.opts.Store.Write(ctx, store.Background, func(tx store.Tx) error {
		_, err := tx.Exec(`DELETE FROM trigger_claims WHERE (trigger_id, event_key) IN
			(SELECT trigger_id, event_key FROM trigger_claims WHERE created_at < ? ORDER BY created_at LIMIT ?)`, s.now()-ClaimLife.Milliseconds(), pruneBatch)
		if err != nil {
			return fmt.Errorf("forget old claims: %w", err)
		}
		return nil
	})
}
