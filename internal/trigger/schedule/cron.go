package schedule

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// expression is a cron expression of five fields. Each field is a set of numbers, as bits.
type expression struct {
	minutes, hours, days, months, weekdays uint64
	// anyDay and anyWeekday say that the field names no days. A day has to fit both fields then, and otherwise one of them.
	anyDay, anyWeekday bool
	// elapsed says that no hours are named.
	elapsed bool
}

// field describes one field: its range, and the names of numbers from its first on.
type field struct {
	name      string
	low, high int
	names     string
}

func all(low, high int) (bits uint64) {
	for n := low; n <= high; n++ {
		bits |= 1 << n
	}
	return bits
}

// nicknames are expressions with names of their own.
func nicknames() map[string]string {
	return map[string]string{
		"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *",
		"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
	}
}

func parseExpression(text string) (*expression, error) {
	if full, ok := nicknames()[strings.ToLower(text)]; ok {
		text = full
	}
	parts := strings.Fields(text)
	if len(parts) != 5 {
		return nil, invalid("cron", "must have five fields: minute, hour, day of the month, month, day of the week")
	}
	var e expression
	for i, f := range []struct {
		field
		into *uint64
	}{
		{field{"minute", 0, 59, ""}, &e.minutes},
		{field{"hour", 0, 23, ""}, &e.hours},
		{field{"day of the month", 1, 31, ""}, &e.days},
		{field{"month", 1, 12, "jan feb mar apr may jun jul aug sep oct nov dec"}, &e.months},
		{field{"day of the week", 0, 7, "sun mon tue wed thu fri sat"}, &e.weekdays},
	} {
		bits, err := f.parse(parts[i])
		if err != nil {
			return nil, err
		}
		*f.into = bits
	}
	// Sunday is 0 and 7.
	e.weekdays = (e.weekdays | e.weekdays>>7) & all(0, 6)
	e.elapsed, e.anyDay, e.anyWeekday = starred(parts[1]), starred(parts[2]), starred(parts[4])
	return &e, nil
}

func starred(part string) bool { return part[0] == '*' || part == "?" }

// parse reads a list like 1,5-10,*/15.
func (f *field) parse(text string) (bits uint64, err error) {
	for item := range strings.SplitSeq(text, ",") {
		span, step, stepped := strings.Cut(item, "/")
		every := 1
		if stepped {
			if every, err = strconv.Atoi(step); err != nil || every < 1 || every > f.high {
				return 0, f.refuse(item)
			}
		}
		low, high, ok := f.span(span, stepped)
		if !ok {
			return 0, f.refuse(item)
		}
		for n := low; n <= high; n += every {
			bits |= 1 << n
		}
	}
	return bits, nil
}

func (f *field) refuse(item string) error {
	return invalid("cron", "has the %s %.32q: use numbers from %d to %d, *, ranges like %d-%d and steps like */2", f.name, item, f.low, f.high, f.low, f.high)
}

// span is the range that the part of an item before its step names.
func (f *field) span(text string, stepped bool) (low, high int, ok bool) {
	if text == "*" || text == "?" {
		return f.low, f.high, true
	}
	first, last, ranged := strings.Cut(text, "-")
	if low, ok = f.number(first); !ok {
		return 0, 0, false
	}
	switch {
	case ranged:
		high, ok = f.number(last)
		return low, high, ok && low <= high
	case stepped:
		return low, f.high, true
	}
	return low, low, true
}

func (f *field) number(text string) (int, bool) {
	if i := slices.Index(strings.Fields(f.names), strings.ToLower(text)); i >= 0 {
		return f.low + i, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && text[0] != '+' && n >= f.low && n <= f.high
}

// maxDays is how far ahead a day is looked for: February 29 comes on a given weekday every 28 years, or 40 around 2100.
const maxDays = 40*366 + 1

// next is the first time after another at which the expression is due in a zone; zero when there is none.
func (e *expression) next(after time.Time, zone *time.Location) time.Time {
	y, m, d := after.In(zone).Date()
	// One day back: a zone that skips an hour at midnight may have put a time of yesterday into today.
	for i := -1; i < maxDays; i++ {
		day := time.Date(y, m, d+i, 0, 0, 0, 0, time.UTC)
		if !e.on(day) {
			continue
		}
		if at := e.nextOn(day, after, zone); !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// on tells whether the expression names a day.
func (e *expression) on(day time.Time) bool {
	date, weekday := e.days>>day.Day()&1 == 1, e.weekdays>>int(day.Weekday())&1 == 1
	fits := date && weekday
	if !e.anyDay && !e.anyWeekday {
		fits = date || weekday
	}
	return fits && e.months>>int(day.Month())&1 == 1
}

// nextOn is the first time of a day's wall clock that comes after another time.
func (e *expression) nextOn(day, after time.Time, zone *time.Location) (first time.Time) {
	_, before := day.Add(-48 * time.Hour).In(zone).Zone()
	_, behind := day.Add(72 * time.Hour).In(zone).Zone()
	// On almost all days every time of the wall clock comes once, in order.
	plain, offset := before == behind, time.Duration(before)*time.Second
	for hour := range 24 {
		if e.hours>>hour&1 == 0 || plain && !day.Add(time.Duration(hour+1)*time.Hour-offset).After(after) {
			continue
		}
		for minute := range 60 {
			if e.minutes>>minute&1 == 0 {
				continue
			}
			wall := day.Add(time.Duration(hour*60+minute) * time.Minute)
			if at := wall.Add(-offset); plain && at.After(after) {
				return at
			} else if plain {
				continue
			}
			for _, at := range instants(wall, zone, e.elapsed) {
				if at.After(after) && (first.IsZero() || at.Before(first)) {
					first = at
				}
			}
		}
	}
	return first
}

// instants are the times at which a zone's wall clock shows wall, which is given as if it were UTC. A time that the zone skips comes
// when the skipped part is over, and of one that it repeats the first counts, unless elapsed time is followed.
func instants(wall time.Time, zone *time.Location, elapsed bool) []time.Time {
	var found []time.Time
	var skipped time.Time
	for _, around := range []time.Duration{-48 * time.Hour, 48 * time.Hour} {
		_, offset := wall.Add(around).In(zone).Zone()
		at := wall.Add(-time.Duration(offset) * time.Second)
		local := at.In(zone)
		_, actual := local.Zone()
		switch {
		case actual != offset:
			// With the offset from before, a skipped time lies just behind the change.
			if begin, _ := local.ZoneBounds(); skipped.IsZero() && around < 0 {
				skipped = begin
			}
		case !slices.ContainsFunc(found, at.Equal):
			found = append(found, at)
		}
	}
	switch {
	case len(found) == 0 && elapsed:
		return nil
	case len(found) == 0:
		return []time.Time{skipped}
	case elapsed:
		return found
	}
	return found[:1]
}
