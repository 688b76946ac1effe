package prompt

import (
	"slices"
	"strings"
)

// maxSpans bounds the ranges of one block that are rendered; what exceeds it loses its marks, never its text.
const maxSpans = 1024

// span is one range of one annotation, in code points.
type span struct {
	start, end  int
	open, close string
	replace     bool
}

// inline renders a block's text with its annotations. Ranges that lie outside of the text are cut or dropped, ranges that
// cross are closed and opened again, and marks that mean nothing in Markdown (underline, colours) are left out.
func inline(block map[string]any) string {
	content := []rune(text(block, "text"))
	spans := spansOf(block, len(content))
	if len(spans) == 0 {
		return text(block, "text")
	}
	var out strings.Builder
	var open []span
	for at := 0; ; at++ {
		open = closeAt(&out, open, at)
		if at == len(content) {
			return out.String()
		}
		for len(spans) > 0 && spans[0].start == at {
			out.WriteString(spans[0].open)
			open = append(open, spans[0])
			spans = spans[1:]
		}
		if !slices.ContainsFunc(open, func(s span) bool { return s.replace }) {
			out.WriteRune(content[at])
		}
	}
}

// closeAt closes the spans that end, and for a moment those that were opened inside of them.
func closeAt(out *strings.Builder, open []span, at int) []span {
	first := slices.IndexFunc(open, func(s span) bool { return s.end == at })
	if first < 0 {
		return open
	}
	var again []span
	for _, s := range slices.Backward(open[first:]) {
		out.WriteString(s.close)
		if s.end > at {
			again = append(again, s)
		}
	}
	open = open[:first]
	for _, s := range slices.Backward(again) {
		out.WriteString(s.open)
		open = append(open, s)
	}
	return open
}

// spansOf lists the ranges that show in Markdown, by start, longer ones first.
func spansOf(block map[string]any, length int) []span {
	annotations, _ := block["annotations"].([]any)
	var out []span
	for _, item := range annotations {
		annotation, _ := item.(map[string]any)
		starts, _ := annotation["starts"].([]any)
		ends, _ := annotation["ends"].([]any)
		shape, ok := shapeOf(annotation)
		if !ok {
			continue
		}
		for i := range min(len(starts), len(ends)) {
			shape.start, shape.end = max(integer(starts[i]), 0), min(integer(ends[i]), length)
			if shape.start < shape.end {
				out = append(out, shape)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b span) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return b.end - a.end
	})
	return out[:min(len(out), maxSpans)]
}

// shapeOf says how an annotation is written. An inline embed stands on a placeholder character, which its link replaces.
func shapeOf(annotation map[string]any) (span, bool) {
	link := text(annotation, "link")
	switch text(annotation, "type") {
	case "Bold":
		return span{open: "**", close: "**"}, true
	case "Italic":
		return span{open: "_", close: "_"}, true
	case "Strike":
		return span{open: "~~", close: "~~"}, true
	case "Code":
		return span{open: "`", close: "`"}, true
	case "Link":
		return span{open: "[", close: "](" + link + ")"}, link != ""
	case "Embed":
		return span{open: "<" + link + ">", replace: true}, link != ""
	}
	return span{}, false
}

// integer reads a number as decoders deliver it; -1 for anything else.
func integer(v any) int {
	switch v := v.(type) {
	case int:
		return v
	case int64:
		return int(v)
	case uint64:
		return int(min(v, 1<<31))
	case float64:
		if v >= 0 && v < 1<<31 {
			return int(v)
		}
	}
	return -1
}
