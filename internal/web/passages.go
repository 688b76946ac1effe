package web

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// maxPassages bounds a narrowed text in bytes, so that a model sees it whole.
const maxPassages = 6 << 10

// passages keeps the paragraphs of a long text that share words with a query, in their order, rarer words counting more. A text that
// is short, or shares nothing, is returned whole.
func passages(text, query string) (kept string, narrowed bool) {
	terms := words(query)
	if len(text) <= maxPassages || len(terms) == 0 {
		return text, false
	}
	blocks := strings.Split(text, "\n\n")
	scores := score(blocks, terms)
	order := make([]int, 0, len(blocks))
	for i := range blocks {
		if scores[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	room, chosen := maxPassages, []int(nil)
	for _, i := range order {
		if len(blocks[i])+2 <= room {
			chosen, room = append(chosen, i), room-len(blocks[i])-2
		}
	}
	if len(chosen) == 0 {
		return text, false
	}
	slices.Sort(chosen)
	return joined(blocks, chosen), true
}

// joined sets the chosen blocks, and marks where some are left out between them.
func joined(blocks []string, chosen []int) string {
	var b strings.Builder
	for at, i := range chosen {
		switch {
		case at > 0 && chosen[at-1] != i-1:
			b.WriteString("\n\n…\n\n")
		case at > 0:
			b.WriteString("\n\n")
		}
		b.WriteString(blocks[i])
	}
	return b.String()
}

// score adds, for every term in a block, how rare it is in the text.
func score(blocks []string, terms []string) []float64 {
	in := make([]map[string]bool, len(blocks))
	with := map[string]int{}
	for i, block := range blocks {
		in[i] = map[string]bool{}
		for _, w := range words(block) {
			in[i][w] = true
		}
		for _, t := range terms {
			if in[i][t] {
				with[t]++
			}
		}
	}
	out := make([]float64, len(blocks))
	for i := range blocks {
		for _, t := range terms {
			if in[i][t] {
				out[i] += float64(len(blocks)) / float64(with[t])
			}
		}
	}
	return out
}

func words(s string) []string {
	list := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	slices.Sort(list)
	return slices.Compact(list)
}
