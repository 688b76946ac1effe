package web_test

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/web"
)

// makePDF is a document whose pages hold content streams; packed deflates them.
func makePDF(title string, packed bool, pages ...string) []byte {
	var b bytes.Buffer
	var at []int
	object := func(text string) {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(at), text)
	}
	b.WriteString("%PDF-1.4\n")
	kids := ""
	for i := range pages {
		kids += fmt.Sprintf("%d 0 R ", 4+2*i)
	}
	object("<</Type/Catalog/Pages 2 0 R>>")
	object(fmt.Sprintf("<</Type/Pages/Kids[%s]/Count %d>>", kids, len(pages)))
	object("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>")
	for i, content := range pages {
		object(fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>", 5+2*i))
		filter := ""
		if packed {
			var z bytes.Buffer
			w := zlib.NewWriter(&z)
			_, _ = w.Write([]byte(content))
			_ = w.Close()
			content, filter = z.String(), "/Filter/FlateDecode"
		}
		object(fmt.Sprintf("<</Length %d%s>>\nstream\n%s\nendstream", len(content), filter, content))
	}
	object("<</Title(" + title + ")>>")
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, offset := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R/Info %d 0 R>>\nstartxref\n%d\n%%%%EOF", len(at)+1, len(at), start)
	return b.Bytes()
}

func show(text string) string { return "BT /F1 12 Tf 72 720 Td (" + text + ") Tj ET" }

func (s *site) pdf(path, contentType string, data []byte) {
	s.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(data)
	})
}

func TestAPDFBecomesText(t *testing.T) {
	t.Parallel()
	reader, site := setup(t, web.Options{})
	site.pdf("/a", "application/pdf", makePDF("Herons", true, show("The first page about herons."), show("And the second one.")))
	site.pdf("/b", "application/octet-stream", makePDF("", false, show("Its type is not told.")))
	got, err := reader.Read(t.Context(), web.Request{URL: site.URL + "/a"})
	if err != nil || got.Title != "Herons" || got.Markdown != "The first page about herons.\n\nAnd the second one." {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := reader.Read(t.Context(), web.Request{URL: site.URL + "/b"}); err != nil || got.Markdown != "Its type is not told." {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestADamagedPDFIsAnErrorAndNeverACrash(t *testing.T) {
	t.Parallel()
	reader, site := setup(t, web.Options{})
	good := makePDF("x", false, show("text"))
	files := map[string][]byte{
		"empty":   []byte("%PDF-1.4\n"),
		"scan":    makePDF("x", false, "q Q"),
		"loop":    bytes.Replace(good, []byte("/Kids[4 0 R ]"), []byte("/Kids[2 0 R ]"), 1),
		"nested":  makePDF("x", true, strings.Repeat("[", 1<<20)),
		"numbers": makePDF("x", true, strings.Repeat("1 ", 20<<20)),
		"large":   append([]byte("%PDF-1.4\n"), make([]byte, web.MaxPDF)...),
	}
	for i := 10; i < len(good); i += 37 {
		files[fmt.Sprintf("cut%d", i)] = good[:i]
	}
	for name, data := range files {
		site.pdf("/"+name, "application/pdf", data)
	}
	for name := range files {
		_, err := reader.Read(t.Context(), web.Request{URL: site.URL + "/" + name})
		code := fault.CodeOf(err)
		if want := map[bool]fault.Code{true: fault.TooLarge, false: fault.ProviderError}[name == "large"]; code != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
