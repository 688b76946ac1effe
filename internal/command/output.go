package command

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// printJSON writes one indented value.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// table writes rows in columns under a heading; nothing but the note when there are no rows.
func (a *app) table(note string, heading []string, rows [][]string) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(a.out, note)
		return err
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	writeRow(w, heading)
	for _, row := range rows {
		writeRow(w, row)
	}
	return w.Flush()
}

func writeRow(w io.Writer, cells []string) {
	clean := make([]string, len(cells))
	for i, c := range cells {
		clean[i] = printable(c)
	}
	fmt.Fprintln(w, strings.Join(clean, "\t"))
}

// printable makes text from elsewhere harmless to a terminal and keeps it on one line.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

// paragraph is printable text that keeps its lines.
func paragraph(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		lines[i] = printable(line)
	}
	return strings.Join(lines, "\n")
}

// count is a number with its noun, such as "1 model" and "2 models".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// when shows a time of the server, which counts milliseconds, on this machine's clock.
func when(millis int64) string {
	if millis == 0 {
		return ""
	}
	return time.UnixMilli(millis).Format("2006-01-02 15:04")
}

// color tells whether a stream shows colours: a terminal that knows control sequences, unless NO_COLOR is set.
func (a *app) color(stream any) bool {
	if refused, _ := a.lookup("NO_COLOR"); refused != "" {
		return false
	}
	return isTerminal(stream) && !a.dumb()
}

// dumb tells whether the terminal knows no control sequences.
func (a *app) dumb() bool {
	kind, _ := a.lookup("TERM")
	return kind == "" || kind == "dumb"
}
