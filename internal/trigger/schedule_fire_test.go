package trigger_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/trigger"
	"github.com/loam-agents/loam/wire"
)

func TestAScheduleOpensAThreadWithItsPromptWhenItIsDue(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		made := b.create(wire.TriggerInput{Source: every(1, "hours"), Prompt: "# Look\n\nWhat is new?"})
		if pause := b.due(); pause != 30*time.Second || len(b.firings(made.ID)) != 0 {
			t.Errorf("before its time: a pause of %s, %d firings", pause, len(b.firings(made.ID)))
		}
		b.clock.Advance(time.Hour - time.Second)
		if pause := b.due(); pause != time.Second {
			t.Errorf("a second before its time the pause is %s", pause)
		}
		b.clock.Advance(time.Second)
		b.due()
		b.due()
		list := b.firings(made.ID)
		if len(list) != 1 {
			t.Fatalf("%d firings", len(list))
		}
		f := list[0]
		if f.Status != "created" || f.ActivitySummary != "Scheduled for 2026-11-30 09:00 UTC" || f.ActivityKey != "schedule:"+made.ID+":1796029200000" {
			t.Errorf("%+v", f)
		}
		run := b.run(f.RunID)
		if run.Origin != "trigger" || run.Lane != runs.Background || run.MaxAttempts != 3 || run.Session != f.SessionID || string(run.Input) != "[1,1]" {
			t.Errorf("the run is %+v", run)
		}
		text, actor, payload := b.said(f.SessionID)
		contains(t, text, "# Look\n\nWhat is new?", "<trigger_context>", `"firingId":"`+f.ID+`"`, `"scheduledAt":1796029200000`, "<trigger_instructions>")
		if actor != "trigger" || json.Valid([]byte(payload)) && len(payload) > 0 && containsKey(payload, "actor") {
			t.Errorf("the event is stamped %q: %s", actor, payload)
		}
		now := b.get(made.ID)
		if now.LastFiredAt != b.clock.Now().UnixMilli() || now.NextAt != b.clock.Now().Add(time.Hour).UnixMilli() || now.UpdatedAt != made.UpdatedAt {
			t.Errorf("the trigger is %+v", now)
		}
		b.read(func(tx store.Tx) error {
			s, err := sessionlog.Get(tx, f.SessionID)
			if err != nil {
				return err
			}
			info := s.Info()
			if info.Title != "Morning — "+f.ActivitySummary || info.StartedByTrigger == nil || info.StartedByTrigger.FiringID != f.ID {
				t.Errorf("the session is %+v", info)
			}
			about, err := trigger.ContextOf(tx, s.StartedByTrigger)
			if err != nil || about.Prompt != "# Look\n\nWhat is new?" || about.Status != "created" || !containsKey(string(about.Activity), "scheduledAt") {
				t.Errorf("its context is %+v, %v", about, err)
			}
			return nil
		})
	})
}

func containsKey(object, key string) bool {
	var fields map[string]any
	if json.Unmarshal([]byte(object), &fields) != nil {
		return false
	}
	_, ok := fields[key]
	return ok
}

func TestTimesThatWereMissedComeToOneFiringThatTellsHowMany(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		hourly := b.create(wire.TriggerInput{Source: every(1, "hours")})
		daily := b.create(wire.TriggerInput{Source: wire.TriggerSource{Type: "schedule", Schedule: &wire.TriggerSchedule{Kind: "cron", Cron: "30 9 * * *", Timezone: "Europe/Berlin"}}})
		// The server was away for two days and a half.
		b.clock.Advance(60 * time.Hour)
		b.due()
		for id, want := range map[string]string{hourly.ID: "Scheduled for 2026-12-02 20:00 UTC, 59 earlier missed", daily.ID: "Scheduled for 2026-12-02 08:30 UTC, 2 earlier missed"} {
			list := b.firings(id)
			if len(list) != 1 || list[0].ActivitySummary != want {
				t.Errorf("%+v, want %s", list, want)
				continue
			}
			text, _, _ := b.said(list[0].SessionID)
			contains(t, text, `"missed":`)
		}
		if next := time.UnixMilli(b.get(daily.ID).NextAt).UTC(); !next.Equal(time.Date(2026, 12, 3, 8, 30, 0, 0, time.UTC)) {
			t.Errorf("the next time is %s", next)
		}
	})
}

func TestOnceFiresOnceAndIsSwitchedOff(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		at := start.Add(10 * time.Minute)
		made := b.create(wire.TriggerInput{Source: wire.TriggerSource{Type: "schedule", Schedule: &wire.TriggerSchedule{Kind: "once", RunAt: at.UnixMilli()}}})
		b.clock.Advance(3 * time.Hour)
		b.due()
		now := b.get(made.ID)
		if now.Enabled || now.NextAt != 0 || len(b.firings(made.ID)) != 1 {
			t.Fatalf("%+v, %d firings", now, len(b.firings(made.ID)))
		}
		on := true
		if _, err := b.change(now, wire.TriggerPatch{Enabled: &on}); err != nil {
			t.Fatal(err)
		}
		b.due()
		if now := b.get(made.ID); now.Enabled || len(b.firings(made.ID)) != 1 {
			t.Errorf("switched on again it fires again: %+v", now)
		}
	})
}

func TestAScheduleFiresOnceHoweverManyProcessesLook(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		made := b.create(wire.TriggerInput{Source: every(1, "hours")})
		other := trigger.New(b.opts)
		b.clock.Advance(time.Hour)
		var wait sync.WaitGroup
		for i := range 8 {
			wait.Go(func() {
				s := b.Service
				if i%2 == 1 {
					s = other
				}
				if _, err := s.FireDue(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if list := b.firings(made.ID); len(list) != 1 {
			t.Errorf("%d firings", len(list))
		}
	})
}

func TestTheSchedulerSleepsUntilSomethingIsDueAndHearsOfChanges(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.Start()
		b.Start()
		defer b.Stop()
		b.create(wire.TriggerInput{Source: every(20, "minutes")})
		fired := func() {
			for hint := range b.hints {
				if hint == "trigger-updated agent" {
					return
				}
			}
		}
		for range 3 {
			// It waits for its next look, 30 s away at most.
			for range 20 * 60 / 30 {
				<-b.clock.Waiting()
				b.clock.Advance(30 * time.Second)
			}
			fired()
		}
	})
}

func TestASwitchedOffTriggerDoesNotFireAndCountsFromWhenItIsSwitchedOn(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		off, on := false, true
		made := b.create(wire.TriggerInput{Source: every(1, "hours"), Enabled: &off})
		b.clock.Advance(5 * time.Hour)
		b.due()
		now, err := b.change(made, wire.TriggerPatch{Enabled: &on})
		if err != nil || now.NextAt != b.clock.Now().Add(time.Hour).UnixMilli() {
			t.Errorf("%+v, %v", now, err)
		}
		b.due()
		if n := len(b.firings(made.ID)); n != 0 {
			t.Errorf("%d firings", n)
		}
	})
}

func TestAStaleEditIsRefusedAndAFiringMakesNoneStale(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		made := b.create(wire.TriggerInput{Source: every(1, "hours")})
		b.clock.Advance(time.Hour)
		b.due()
		name, other := "Evening", "Night"
		first, err := b.change(made, wire.TriggerPatch{Name: &name})
		if err != nil || first.Name != name || first.UpdatedAt <= made.UpdatedAt || first.NextAt == 0 {
			t.Fatalf("%+v, %v", first, err)
		}
		if _, err := b.change(made, wire.TriggerPatch{Name: &other}); fault.CodeOf(err) != fault.Conflict {
			t.Errorf("a stale edit: %v", err)
		}
		if _, err := b.change(first, wire.TriggerPatch{}); fault.CodeOf(err) != fault.ValidationFailed {
			t.Errorf("an empty patch: %v", err)
		}
	})
}

func TestAnAgentHasAtMostSoManyTriggersAndTheyGoWithIt(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		for range trigger.MaxPerAgent {
			b.create(wire.TriggerInput{Source: wire.TriggerSource{Type: "webhook"}})
		}
		d, err := b.Check(t.Context(), wire.TriggerInput{Name: "n", Prompt: "p", Source: every(1, "hours")})
		if err != nil {
			t.Fatal(err)
		}
		err = b.store.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
			_, err := b.Create(tx, owner, "agent", &d)
			return err
		})
		if fault.CodeOf(err) != fault.BudgetExceeded {
			t.Errorf("one too many: %v", err)
		}
		b.write(func(tx store.Tx) error { return b.DeleteAll(tx, "agent") })
		b.read(func(tx store.Tx) error {
			list, err := trigger.List(tx, "agent")
			secrets, vaultErr := b.vault.List(tx, owner)
			if len(list) != 0 || len(secrets) != 0 {
				t.Errorf("%d triggers and %d secrets are left", len(list), len(secrets))
			}
			if err == nil {
				err = vaultErr
			}
			return err
		})
	})
}

func TestAScheduleThatCannotBeFiredKeepsNoOtherFromIt(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		broken := b.create(wire.TriggerInput{Name: "broken", Source: every(1, "hours"), Continuation: &wire.TriggerContinuation{Kind: "script", Script: "unreadable"}})
		b.clock.Advance(time.Second)
		sound := b.create(wire.TriggerInput{Name: "sound", Source: every(1, "hours")})
		b.clock.Advance(2 * time.Hour)
		if pause, err := b.FireDue(t.Context()); err == nil || pause != 30*time.Second {
			t.Errorf("a pause of %s, %v", pause, err)
		}
		if len(b.firings(broken.ID)) != 0 || len(b.firings(sound.ID)) != 1 {
			t.Errorf("the broken one fired %d times, the sound one %d", len(b.firings(broken.ID)), len(b.firings(sound.ID)))
		}
	})
}
