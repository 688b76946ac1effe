package pdftext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/ledongthuc/pdf"
)

// Main is the work of the process: a document comes in, a Text as JSON goes out. It returns the exit code.
func Main(in io.Reader, out io.Writer) int {
	if err := job.Confine(); err != nil {
		return 1
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return 1
	}
	if json.NewEncoder(out).Encode(read(data)) != nil {
		return 1
	}
	return 0
}

// read takes a document apart. The library panics on files that are not what they say.
func read(data []byte) (t Text) {
	defer func() {
		if p := recover(); p != nil {
			t = Text{Damaged: fmt.Sprint(p)}
		}
	}()
	r, err := pdf.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return Text{Damaged: err.Error()}
	}
	t.Title = strings.ToValidUTF8(strings.TrimSpace(r.Trailer().Key("Info").Key("Title").Text()), "")
	var b strings.Builder
	pages := r.NumPage()
	for i := 1; i <= min(pages, MaxPages) && b.Len() <= MaxText; i++ {
		if text := pageText(r, i); text != "" {
			b.WriteString(text)
			b.WriteString("\n\n")
		}
	}
	t.Text = strings.ToValidUTF8(strings.TrimSpace(b.String()), "")
	t.Truncated = pages > MaxPages
	if len(t.Text) > MaxText {
		t.Text, t.Truncated = strings.ToValidUTF8(t.Text[:MaxText], ""), true
	}
	return t
}

// pageText is the text of one page; one that cannot be read does not take the others with it.
func pageText(r *pdf.Reader, i int) (text string) {
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	page := r.Page(i)
	if page.V.IsNull() {
		return ""
	}
	text, err := page.GetPlainText(nil)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(text)
}
