package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// The lines between which a document holds the numbers.
const (
	beginMark = "<!-- numbers: written by make bench -->"
	endMark   = "<!-- end of numbers -->"
)

// row is one measured quantity. Goal and Met are empty for what has no goal, Compared when there is no probe.
type row struct{ what, value, compared, goal, met string }

// report collects rows by heading, in order.
type report struct {
	taken    time.Time
	load     string
	headings []string
	rows     map[string][]row
}

func newReport() *report { return &report{taken: time.Now(), load: busy(), rows: map[string][]row{}} }

func (r *report) add(heading string, line row) {
	if _, known := r.rows[heading]; !known {
		r.headings = append(r.headings, heading)
	}
	r.rows[heading] = append(r.rows[heading], line)
}

// judge is the row of a value with a goal; both are printed by the same function.
func judge[T cmp.Ordered](what string, value, goal T, show func(T) string, compared string) row {
	met := "met"
	if value > goal {
		met = "**missed**"
	}
	return row{what, show(value), compared, "at most " + show(goal), met}
}

// String is the report in Markdown.
func (r *report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Taken %s on %s, %d CPUs, %s/%s, %s; %s.\n", r.taken.UTC().Format("2006-01-02 15:04 UTC"), processor(), runtime.NumCPU(),
		runtime.GOOS, runtime.GOARCH, runtime.Version(), r.load)
	for _, h := range r.headings {
		fmt.Fprintf(&b, "\n### %s\n\n| what | measured | compared | goal | |\n|---|---|---|---|---|\n", h)
		for _, l := range r.rows[h] {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", l.what, l.value, l.compared, l.goal, l.met)
		}
	}
	return b.String()
}

// insert replaces what stands between the marks of a document.
func (r *report) insert(document string) error {
	text, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	before, rest, found := bytes.Cut(text, []byte(beginMark))
	_, after, closed := bytes.Cut(rest, []byte(endMark))
	if !found || !closed {
		return fmt.Errorf("%s has no %q followed by %q", document, beginMark, endMark)
	}
	out := slices.Concat(before, []byte(beginMark+"\n\n"+r.String()+"\n"+endMark), after)
	return os.WriteFile(document, out, 0o644)
}

// processor is the name of the machine's processor, where the system tells it.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // another system has none
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "an unnamed processor"
}

// busy says how busy the machine was before the first measurement, where the system tells it: times taken on a busy machine are
// those of its other work.
func busy() string {
	text, _ := os.ReadFile("/proc/loadavg") // another system has none
	if fields := strings.Fields(string(text)); len(fields) > 0 {
		return "load average " + fields[0] + " before the first measurement"
	}
	return "load unknown"
}

// quantile of durations, which it sorts: 0.5 is the median.
func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[min(int(q*float64(len(d))), len(d)-1)]
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}

func times(ratio float64) string { return fmt.Sprintf("%.2f ×", ratio) }

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

func ratio(a, b time.Duration) float64 { return float64(a) / float64(max(b, 1)) }
