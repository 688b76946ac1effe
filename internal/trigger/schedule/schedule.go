// Package schedule says when a schedule is due: every so often, once, weekly, or by a cron expression, in any time zone.
//
// It promises that a wall-clock time which a zone skips or repeats still comes once: a time inside of a skipped hour is due when the
// hour is over, and of a repeated hour the first pass counts. A cron expression whose hours are not named (`*`, `*/2`) follows
// elapsed time instead: nothing is made up for a skipped hour, and a repeated hour counts twice.
//
// It belongs to trigger (tier 4) and imports fault, bounded and wire. Zones come from the system, or from the copy inside the program.
package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // Machines without a database of zones have the same ones.

	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/wire"
)

// The kinds of schedules on the wire. A cron schedule is an interval there with two more fields, so that older clients can show it.
const (
	KindInterval = "interval"
	KindWeekly   = "weekly"
	KindOnce     = "once"
	KindCron     = "cron"
)

// Limits of a schedule.
const (
	// MaxEvery bounds an interval.
	MaxEvery = 366 * 24 * time.Hour
	// UsualMinimum is the shortest time between two firings that an agent gives itself without saying that it means it.
	UsualMinimum = 15 * time.Minute
	// MaxCron bounds a cron expression, and MaxZone the name of a zone, in bytes.
	MaxCron, MaxZone = 256, 64
	// MaxSkipped is how many missed times are counted.
	MaxSkipped = 1000
)

// Schedule is one that was checked.
type Schedule struct {
	wire wire.TriggerSchedule
	// every is the time between two firings of a plain interval.
	every time.Duration
	zone  *time.Location
	cron  *expression
}

// Parse checks a schedule and brings it into the form in which it is kept. Errors are fault.Invalid and name the field.
func Parse(in wire.TriggerSchedule) (Schedule, error) {
	switch {
	case in.Kind == KindCron, in.Kind == KindInterval && in.Cron != "":
		return parseCron(in)
	case in.Kind == KindInterval:
		return parseInterval(in)
	case in.Kind == KindWeekly:
		return parseWeekly(in)
	case in.Kind == KindOnce:
		return parseOnce(in)
	}
	return Schedule{}, invalid("kind", "must be interval, weekly, once or cron")
}

func invalid(field, format string, args ...any) error {
	return fault.Invalid("Schedule "+field+" "+format, args...).With("field", "schedule."+field)
}

func parseInterval(in wire.TriggerSchedule) (Schedule, error) {
	unit, ok := map[string]time.Duration{"minutes": time.Minute, "hours": time.Hour, "days": 24 * time.Hour}[in.Unit]
	if !ok {
		return Schedule{}, invalid("unit", "must be minutes, hours or days")
	}
	if in.Every < 1 || in.Every > int64(MaxEvery/unit) {
		return Schedule{}, invalid("every", "must be a whole number from 1 to %d %s", int64(MaxEvery/unit), in.Unit)
	}
	every := time.Duration(in.Every) * unit
	out := wire.TriggerSchedule{Kind: KindInterval, Every: in.Every, Unit: in.Unit}
	if in.Unit == "days" {
		// Older clients know minutes and hours.
		out.Every, out.Unit = in.Every*24, "hours"
	}
	return Schedule{wire: out, every: every}, nil
}

func parseCron(in wire.TriggerSchedule) (Schedule, error) {
	text, err := bounded.Text(in.Cron, "Schedule cron", MaxCron)
	if err != nil {
		return Schedule{}, fault.From(err).With("field", "schedule.cron")
	}
	s := Schedule{wire: wire.TriggerSchedule{Kind: KindInterval, Cron: strings.Join(strings.Fields(text), " "), Timezone: "UTC"}}
	if in.Timezone != "" {
		s.wire.Timezone = in.Timezone
	}
	if s.zone, err = zone(s.wire.Timezone); err != nil {
		return Schedule{}, err
	}
	if s.cron, err = parseExpression(s.wire.Cron); err != nil {
		return Schedule{}, err
	}
	gap := s.Gap()
	if gap == 0 {
		return Schedule{}, invalid("cron", "never comes: no day is like that")
	}
	if s.wire.Every, s.wire.Unit = int64(gap/time.Hour), "hours"; gap%time.Hour != 0 {
		s.wire.Every, s.wire.Unit = int64(gap/time.Minute), "minutes"
	}
	return s, nil
}

func parseWeekly(in wire.TriggerSchedule) (Schedule, error) {
	out := wire.TriggerSchedule{Kind: KindWeekly, TimeOfDay: in.TimeOfDay, Timezone: in.Timezone, DaysOfWeek: slices.Clone(in.DaysOfWeek)}
	slices.Sort(out.DaysOfWeek)
	out.DaysOfWeek = slices.Compact(out.DaysOfWeek)
	if n := len(out.DaysOfWeek); n == 0 || out.DaysOfWeek[0] < 0 || out.DaysOfWeek[n-1] > 6 {
		return Schedule{}, invalid("daysOfWeek", "must list days from 0 (Sunday) to 6")
	}
	at, err := time.Parse("15:04", in.TimeOfDay)
	if err != nil || len(in.TimeOfDay) != len("15:04") {
		return Schedule{}, invalid("timeOfDay", "must be a time like 09:30")
	}
	s := Schedule{wire: out, cron: &expression{minutes: 1 << at.Minute(), hours: 1 << at.Hour(), days: all(1, 31), months: all(1, 12), anyDay: true}}
	for _, day := range out.DaysOfWeek {
		s.cron.weekdays |= 1 << day
	}
	s.zone, err = zone(in.Timezone)
	return s, err
}

func parseOnce(in wire.TriggerSchedule) (Schedule, error) {
	const latest = 253_402_300_799_999 // The end of the year 9999.
	if in.RunAt < 1 || in.RunAt > latest {
		return Schedule{}, invalid("runAt", "must be a time in milliseconds since 1970")
	}
	s := Schedule{wire: wire.TriggerSchedule{Kind: KindOnce, RunAt: in.RunAt, Timezone: in.Timezone}}
	if in.Timezone == "" {
		return s, nil
	}
	var err error
	s.zone, err = zone(in.Timezone)
	return s, err
}

// zone finds a time zone by its name in the IANA database.
func zone(name string) (*time.Location, error) {
	if len(name) > MaxZone || name == "" || name == "Local" {
		return nil, invalid("timezone", "must name a time zone, like Europe/Berlin or UTC")
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, invalid("timezone", "%.64q is no time zone that this server knows: use a name like Europe/Berlin or UTC", name)
	}
	return loc, nil
}

// Wire is the schedule as it is kept and shown.
func (s *Schedule) Wire() wire.TriggerSchedule { return s.wire }

// Once tells whether the schedule comes a single time.
func (s *Schedule) Once() bool { return s.wire.Kind == KindOnce }

// First is when a schedule that begins to count now is due for the first time. That of one that comes once may be past.
func (s *Schedule) First(now time.Time) time.Time {
	if s.Once() {
		return time.UnixMilli(s.wire.RunAt)
	}
	return s.Next(now)
}

// Next is the first time after another one at which the schedule is due; zero when there is none. An interval counts from the time
// given, which is that of the last firing.
func (s *Schedule) Next(after time.Time) time.Time {
	switch {
	case s.Once():
		return time.Time{}
	case s.cron == nil:
		return after.Add(s.every)
	}
	return s.cron.next(after, s.zone)
}

// Due is the newest time of the schedule up to now, when first, which is not after now, is one of its times. skipped counts the
// times before it that come to nothing, MaxSkipped at most.
func (s *Schedule) Due(first, now time.Time) (due time.Time, skipped int64) {
	if s.cron == nil && s.every > 0 {
		n := int64(now.Sub(first) / s.every)
		return first.Add(time.Duration(n) * s.every), min(n, MaxSkipped)
	}
	due = first
	for skipped < MaxSkipped {
		next := s.Next(due)
		if next.IsZero() || next.After(now) {
			break
		}
		due, skipped = next, skipped+1
	}
	return due, skipped
}

// Gap is the shortest time between two firings; zero for a schedule that comes once, or never.
func (s *Schedule) Gap() time.Duration {
	if s.cron == nil {
		return s.every
	}
	// Without the hours that zones skip and repeat. So many firings show every gap that people write.
	const firings = 400
	at := s.cron.next(time.Date(2024, 1, 1, 0, 0, 0, -1, time.UTC), time.UTC)
	gap := time.Duration(0)
	for range firings {
		next := s.cron.next(at, time.UTC)
		if next.IsZero() {
			break
		}
		if d := next.Sub(at); gap == 0 || d < gap {
			gap = d
		}
		at = next
	}
	return gap
}

// String says when, for people.
func (s *Schedule) String() string {
	w := &s.wire
	switch {
	case s.Once():
		at := time.UnixMilli(w.RunAt).UTC()
		if s.zone != nil {
			at = at.In(s.zone)
		}
		return "once, " + at.Format("2006-01-02 15:04 MST")
	case w.Cron != "":
		return fmt.Sprintf("cron %s (%s)", w.Cron, w.Timezone)
	case w.Kind == KindInterval && w.Every == 1:
		return "every " + strings.TrimSuffix(w.Unit, "s")
	case w.Kind == KindInterval:
		return fmt.Sprintf("every %d %s", w.Every, w.Unit)
	}
	days := make([]string, len(w.DaysOfWeek))
	for i, d := range w.DaysOfWeek {
		days[i] = time.Weekday(d).String()[:3]
	}
	return fmt.Sprintf("%s at %s (%s)", strings.Join(days, ", "), w.TimeOfDay, w.Timezone)
}
