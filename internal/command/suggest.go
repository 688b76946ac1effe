package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loam-agents/loam/internal/command/exitcode"
)

// didYouMean is a hint at the candidate that a name was probably meant to be, such as ` (did you mean "Assistant"?)`; empty when
// none is near.
func didYouMean(name string, candidates []string) string {
	best, distance := "", 1+len(name)/3
	for _, c := range candidates {
		d := edits(strings.ToLower(name), strings.ToLower(c))
		if d <= distance && d < len(c) {
			best, distance = c, d-1
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// edits counts how many letters have to be added, dropped, replaced or swapped with their neighbour to turn one text into another.
func edits(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}

// oneOf refuses a value of a flag that is none of those allowed. An empty one was not given.
func oneOf(flag, value string, allowed []string) error {
	if value == "" || slices.Contains(allowed, value) {
		return nil
	}
	return exitcode.With(exitcode.Usage, fmt.Errorf("%s %q%s: use one of %s", flag, value, didYouMean(value, allowed), strings.Join(allowed, ", ")))
}
