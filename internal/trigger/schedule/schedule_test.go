package schedule_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/trigger/schedule"
	"github.com/loam-agents/loam/wire"
)

func parse(t testing.TB, in wire.TriggerSchedule) schedule.Schedule {
	t.Helper()
	s, err := schedule.Parse(in)
	if err != nil {
		t.Fatalf("%+v: %v", in, err)
	}
	return s
}

func at(t testing.TB, text string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func cron(text, zone string) wire.TriggerSchedule {
	return wire.TriggerSchedule{Kind: "interval", Cron: text, Timezone: zone}
}

func TestTheNextTimesOfASchedule(t *testing.T) {
	t.Parallel()
	weekly := func(days []int64, tod, zone string) wire.TriggerSchedule {
		return wire.TriggerSchedule{Kind: "weekly", DaysOfWeek: days, TimeOfDay: tod, Timezone: zone}
	}
	for name, c := range map[string]struct {
		in    wire.TriggerSchedule
		after string
		want  []string
	}{
		"interval":                   {wire.TriggerSchedule{Kind: "interval", Every: 90, Unit: "minutes"}, "2026-01-01T00:00:07Z", []string{"2026-01-01T01:30:07Z", "2026-01-01T03:00:07Z"}},
		"weekly":                     {weekly([]int64{1, 5}, "09:30", "Europe/Berlin"), "2026-11-30T08:30:00Z", []string{"2026-12-04T08:30:00Z", "2026-12-07T08:30:00Z"}},
		"weekly in a gap":            {weekly([]int64{0}, "02:30", "Europe/Berlin"), "2026-03-22T12:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-04-05T00:30:00Z"}},
		"weekly in an overlap":       {weekly([]int64{0}, "02:30", "Europe/Berlin"), "2026-10-18T12:00:00Z", []string{"2026-10-25T00:30:00Z", "2026-11-01T01:30:00Z"}},
		"office hours":               {cron("0 9 * * MON-FRI", "America/New_York"), "2026-11-27T14:00:00Z", []string{"2026-11-30T14:00:00Z", "2026-12-01T14:00:00Z"}},
		"steps and lists":            {cron("*/20,5 8-10/2 * * *", "UTC"), "2026-01-01T08:20:00Z", []string{"2026-01-01T08:40:00Z", "2026-01-01T10:00:00Z", "2026-01-01T10:05:00Z"}},
		"either day":                 {cron("0 0 13 * 5", "UTC"), "2026-02-12T00:00:00Z", []string{"2026-02-13T00:00:00Z", "2026-02-20T00:00:00Z", "2026-02-27T00:00:00Z", "2026-03-06T00:00:00Z", "2026-03-13T00:00:00Z"}},
		"a starred day of two":       {cron("0 0 */2 * 5", "UTC"), "2026-02-01T00:00:00Z", []string{"2026-02-13T00:00:00Z", "2026-02-27T00:00:00Z"}},
		"sunday is seven":            {cron("0 0 * * 7", "UTC"), "2026-11-23T00:00:00Z", []string{"2026-11-29T00:00:00Z", "2026-12-06T00:00:00Z"}},
		"leap day":                   {cron("0 0 29 2 *", "UTC"), "2096-03-01T00:00:00Z", []string{"2104-02-29T00:00:00Z"}},
		"nickname":                   {cron("@monthly", "UTC"), "2026-01-15T00:00:00Z", []string{"2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"}},
		"named hour in a gap":        {cron("30 2 * * *", "Europe/Berlin"), "2026-03-28T12:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"}},
		"hour of many in a gap":      {cron("*/15 2 * * *", "Europe/Berlin"), "2026-03-29T00:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z", "2026-03-30T00:15:00Z"}},
		"named hour in an overlap":   {cron("30 2 * * *", "Europe/Berlin"), "2026-10-24T12:00:00Z", []string{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}},
		"every hour over a gap":      {cron("30 * * * *", "Europe/Berlin"), "2026-03-29T00:00:00Z", []string{"2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"}},
		"every hour over an overlap": {cron("30 * * * *", "Europe/Berlin"), "2026-10-25T00:00:00Z", []string{"2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"}},
		"half an hour of change":     {cron("15 2 * * *", "Australia/Lord_Howe"), "2026-10-02T16:00:00Z", []string{"2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"}},
		"midnight that is skipped":   {cron("0 0 * * *", "Africa/Cairo"), "2026-04-23T12:00:00Z", []string{"2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z"}},
		"midnight that comes twice":  {cron("30 23 * * *", "Africa/Cairo"), "2026-10-29T12:00:00Z", []string{"2026-10-29T20:30:00Z", "2026-10-30T21:30:00Z"}},
		"a day that is skipped":      {cron("0 12 30 12 *", "Pacific/Apia"), "2011-12-29T00:00:00Z", []string{"2011-12-30T10:00:00Z", "2012-12-29T22:00:00Z"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := parse(t, c.in)
			next := at(t, c.after)
			for _, want := range c.want {
				if next = s.Next(next); !next.Equal(at(t, want)) {
					t.Fatalf("next is %s, want %s", next.UTC().Format(time.RFC3339), want)
				}
			}
		})
	}
}

func TestOnceComesOnceEvenWhenItIsLate(t *testing.T) {
	t.Parallel()
	runAt := at(t, "2026-05-01T10:00:00Z")
	s := parse(t, wire.TriggerSchedule{Kind: "once", RunAt: runAt.UnixMilli(), Timezone: "Asia/Tokyo"})
	if first := s.First(runAt.Add(time.Hour)); !first.Equal(runAt) || !s.Once() {
		t.Errorf("first is %s", first)
	}
	if next := s.Next(runAt); !next.IsZero() {
		t.Errorf("it comes again at %s", next)
	}
	if got := s.String(); got != "once, 2026-05-01 19:00 JST" {
		t.Error(got)
	}
}

func TestACronScheduleLooksLikeAnIntervalToOlderClients(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]wire.TriggerSchedule{
		"*/20  9-17 * * *": {Kind: "interval", Every: 20, Unit: "minutes", Cron: "*/20 9-17 * * *", Timezone: "UTC"},
		"0 9 * * 1-5":      {Kind: "interval", Every: 24, Unit: "hours", Cron: "0 9 * * 1-5", Timezone: "UTC"},
		"0,7 0 1 1 *":      {Kind: "interval", Every: 7, Unit: "minutes", Cron: "0,7 0 1 1 *", Timezone: "UTC"},
	} {
		s := parse(t, wire.TriggerSchedule{Kind: "cron", Cron: text})
		got := s.Wire()
		if got.Kind != want.Kind || got.Every != want.Every || got.Unit != want.Unit || got.Cron != want.Cron || got.Timezone != want.Timezone {
			t.Errorf("%q: %+v", text, got)
		}
		again := parse(t, got)
		if s, t2 := s.String(), again.String(); s != t2 {
			t.Errorf("%q becomes %q", s, t2)
		}
	}
}

func TestMissedTimesAreCountedAndTheNewestIsKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in               wire.TriggerSchedule
		first, now, want string
		skipped          int64
	}{
		"none missed":          {cron("0 * * * *", ""), "2026-01-01T00:00:00Z", "2026-01-01T00:59:59Z", "2026-01-01T00:00:00Z", 0},
		"exactly due":          {cron("0 * * * *", ""), "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z", "2026-01-01T01:00:00Z", 1},
		"a day":                {cron("0 * * * *", ""), "2026-01-01T00:00:00Z", "2026-01-02T00:10:00Z", "2026-01-02T00:00:00Z", 24},
		"interval":             {wire.TriggerSchedule{Kind: "interval", Every: 1, Unit: "hours"}, "2026-01-01T00:00:07Z", "2026-01-01T05:00:00Z", "2026-01-01T04:00:07Z", 4},
		"more than one counts": {cron("* * * * *", ""), "2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z", "2026-01-01T16:40:00Z", schedule.MaxSkipped},
		"once":                 {wire.TriggerSchedule{Kind: "once", RunAt: 1000}, "1970-01-01T00:00:01Z", "2026-01-01T00:00:00Z", "1970-01-01T00:00:01Z", 0},
	} {
		s := parse(t, c.in)
		due, skipped := s.Due(at(t, c.first), at(t, c.now))
		if !due.Equal(at(t, c.want)) || skipped != c.skipped {
			t.Errorf("%s: %s, %d skipped", name, due.UTC(), skipped)
		}
	}
}

func TestASchedulesFieldsAreChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in    wire.TriggerSchedule
		field string
	}{
		"no kind":         {wire.TriggerSchedule{}, "schedule.kind"},
		"zero":            {wire.TriggerSchedule{Kind: "interval", Unit: "hours"}, "schedule.every"},
		"a year and more": {wire.TriggerSchedule{Kind: "interval", Unit: "days", Every: 367}, "schedule.every"},
		"overflow":        {wire.TriggerSchedule{Kind: "interval", Unit: "minutes", Every: 1 << 62}, "schedule.every"},
		"unit":            {wire.TriggerSchedule{Kind: "interval", Unit: "weeks", Every: 1}, "schedule.unit"},
		"no days":         {wire.TriggerSchedule{Kind: "weekly", TimeOfDay: "10:00", Timezone: "UTC"}, "schedule.daysOfWeek"},
		"day 7":           {wire.TriggerSchedule{Kind: "weekly", TimeOfDay: "10:00", Timezone: "UTC", DaysOfWeek: []int64{7}}, "schedule.daysOfWeek"},
		"time":            {wire.TriggerSchedule{Kind: "weekly", TimeOfDay: "24:00", Timezone: "UTC", DaysOfWeek: []int64{1}}, "schedule.timeOfDay"},
		"short time":      {wire.TriggerSchedule{Kind: "weekly", TimeOfDay: "9:00", Timezone: "UTC", DaysOfWeek: []int64{1}}, "schedule.timeOfDay"},
		"no zone":         {wire.TriggerSchedule{Kind: "weekly", TimeOfDay: "10:00", DaysOfWeek: []int64{1}}, "schedule.timezone"},
		"local":           {cron("0 0 * * *", "Local"), "schedule.timezone"},
		"path":            {cron("0 0 * * *", "../../etc/passwd"), "schedule.timezone"},
		"no time":         {wire.TriggerSchedule{Kind: "once"}, "schedule.runAt"},
		"six fields":      {cron("0 0 0 * * *", ""), "schedule.cron"},
		"minute 60":       {cron("60 0 * * *", ""), "schedule.cron"},
		"step zero":       {cron("*/0 0 * * *", ""), "schedule.cron"},
		"backwards":       {cron("0 0 * * fri-mon", ""), "schedule.cron"},
		"sign":            {cron("+1 0 * * *", ""), "schedule.cron"},
		"empty item":      {cron("1, 0 * * *", ""), "schedule.cron"},
		"no such day":     {cron("0 0 31 feb *", ""), "schedule.cron"},
		"too long":        {cron("0 0 * * "+strings.Repeat("1,", 130)+"1", ""), "schedule.cron"},
	} {
		_, err := schedule.Parse(c.in)
		if fault.CodeOf(err) != fault.ValidationFailed || fault.From(err).Details["field"] != c.field {
			t.Errorf("%s: %v %v", name, err, fault.From(err).Details)
		}
	}
	longest := parse(t, cron("0 0 * * "+strings.Repeat("1,", (schedule.MaxCron-len("0 0 * * "))/2-1)+"1", ""))
	if n := len(longest.Wire().Cron); n < schedule.MaxCron-2 {
		t.Errorf("the longest has %d bytes", n)
	}
	parse(t, wire.TriggerSchedule{Kind: "interval", Unit: "days", Every: 366})
}

func TestEveryTimeFitsTheWallClockAndNoneIsLeftOut(t *testing.T) {
	t.Parallel()
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Kathmandu", "Pacific/Apia"}
	rapid.Check(t, func(rt *rapid.T) {
		hour, minute := rapid.IntRange(0, 23).Draw(rt, "hour"), rapid.IntRange(0, 59).Draw(rt, "minute")
		zone, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(rt, "zone"))
		if err != nil {
			rt.Fatal(err)
		}
		s, err := schedule.Parse(wire.TriggerSchedule{Kind: "weekly", DaysOfWeek: []int64{0, 1, 2, 3, 4, 5, 6}, Timezone: zone.String(),
			TimeOfDay: time.Date(2026, 1, 1, hour, minute, 0, 0, time.UTC).Format("15:04")})
		if err != nil {
			rt.Fatal(err)
		}
		from := time.Date(2026, 1, rapid.IntRange(1, 365).Draw(rt, "day"), rapid.IntRange(0, 23).Draw(rt, "at"), 0, 0, 0, time.UTC)
		days := map[string]bool{}
		next := from
		for range 5 {
			before := next
			if next = s.Next(next); !next.After(before) || next.Sub(before) > 26*time.Hour {
				rt.Fatalf("after %s comes %s", before, next)
			}
			local := next.In(zone)
			begin, _ := local.ZoneBounds()
			if (local.Hour() != hour || local.Minute() != minute) && !begin.Equal(next) {
				rt.Fatalf("%s is not %02d:%02d and no end of a gap", local, hour, minute)
			}
			if day := local.Format(time.DateOnly); days[day] {
				rt.Fatalf("twice on %s", day)
			} else {
				days[day] = true
			}
		}
	})
}

func TestStringsSayWhen(t *testing.T) {
	t.Parallel()
	var got []string
	for _, in := range []wire.TriggerSchedule{
		{Kind: "interval", Every: 1, Unit: "hours"}, {Kind: "interval", Every: 2, Unit: "days"}, cron("@daily", "Asia/Tokyo"),
		{Kind: "weekly", DaysOfWeek: []int64{5, 1, 5}, TimeOfDay: "09:00", Timezone: "UTC"}, {Kind: "once", RunAt: 1_800_000_000_000},
	} {
		s := parse(t, in)
		got = append(got, s.String())
	}
	want := []string{"every hour", "every 48 hours", "cron @daily (Asia/Tokyo)", "Mon, Fri at 09:00 (UTC)", "once, 2027-01-15 08:00 UTC"}
	if !slices.Equal(got, want) {
		t.Error(got)
	}
}

func FuzzCronExpressions(f *testing.F) {
	for _, seed := range []string{"* * * * *", "0 9 * * 1-5", "@daily", "*/15 0-6,22 1,15 jan sun", "0 0 31 2 *", "1-", "?"} {
		f.Add(seed, int64(1_800_000_000))
	}
	f.Fuzz(func(t *testing.T, text string, after int64) {
		s, err := schedule.Parse(cron(text, "Europe/Berlin"))
		if err != nil {
			if fault.CodeOf(err) != fault.ValidationFailed {
				t.Fatal(err)
			}
			return
		}
		from := time.Unix(after%4_000_000_000, 0)
		next := s.Next(from)
		if !next.After(from) || next.Sub(from) > 41*366*24*time.Hour {
			t.Fatalf("%q: after %s comes %s", text, from, next)
		}
	})
}
