package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/egress"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/web"
	"github.com/loam-agents/loam/internal/web/pdftext"
)

// TestMain lets the test's own executable read PDF files.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == pdftext.Argument {
		os.Exit(pdftext.Main(os.Stdin, os.Stdout))
	}
	goleak.VerifyTestMain(m)
}

// site is a web server that an exception of egress lets agents reach.
type site struct {
	*http.ServeMux
	URL string
}

func serve(t *testing.T) *site {
	t.Helper()
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return &site{mux, s.URL}
}

// page answers with a body of a type.
func (s *site) page(path, contentType, body string) {
	s.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = fmt.Fprint(w, body)
	})
}

func outlet(t *testing.T, sites ...*site) *egress.Egress {
	t.Helper()
	var allow []string
	for _, s := range sites {
		allow = append(allow, strings.TrimPrefix(s.URL, "http://"))
	}
	e, err := egress.New(egress.Options{Allow: allow})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func setup(t *testing.T, o web.Options) (*web.Reader, *site) {
	t.Helper()
	s := serve(t)
	if o.Client == nil {
		o.Client = outlet(t, s).Agent()
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.PDF = pdftext.Program(self)
	return web.NewReader(o), s
}

// prose is text of at least n bytes.
func prose(n int) string {
	return strings.TrimSpace(strings.Repeat("A river carries what the valley lets go of. ", n/44+1))
}

func html(body string) string {
	return "<html><head><title>The title</title></head><body><article><h1>A heading</h1>" + body + "</article></body></html>"
}

func TestAPageBecomesMarkdownWithItsTitleAndAbsoluteLinks(t *testing.T) {
	t.Parallel()
	reader, site := setup(t, web.Options{})
	site.page("/a", "text/html; charset=utf-8", html("<p>"+prose(500)+` See <a href="/b?x=1#y">the other page</a>.</p><table><tr><th>k</th><th>v</th></tr><tr><td>one</td><td>1</td></tr></table><pre><code>x := 1</code></pre><img src="data:image/png;base64,AAAA"><p>`+prose(300)+`</p>`))
	site.HandleFunc("/old", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/a", http.StatusFound) })
	got, err := reader.Read(t.Context(), web.Request{URL: site.URL + "/old#part"})
	if err != nil {
		t.Fatal(err)
	}
	if got.URL != site.URL+"/old" || got.FinalURL != site.URL+"/a" || got.Title != "The title" || got.Source != "static" || got.Truncated {
		t.Errorf("page %+v", got)
	}
	for _, want := range []string{"[the other page](" + site.URL + "/b?x=1#y)", "|one|1|", "x := 1"} {
		if !strings.Contains(got.Markdown, want) {
			t.Errorf("%q is missing in %s", want, got.Markdown)
		}
	}
	if strings.Contains(got.Markdown, "base64") {
		t.Error("a picture's bytes are in the text")
	}
}

func TestTextOfAnyCharsetArrivesAsUnicode(t *testing.T) {
	t.Parallel()
	reader, site := setup(t, web.Options{})
	long := strings.Repeat("word ", 60)
	for path, c := range map[string]struct{ contentType, body, want string }{
		"/header": {"text/html; charset=iso-8859-1", html("<p>caf\xe9 " + long + "</p>"), "café"},
		"/meta":   {"text/html", `<meta charset="windows-1251">` + html("<p>\xcf\xf0\xe8\xe2\xe5\xf2 "+long+"</p>"), "Привет"},
		"/sjis":   {"text/html; charset=Shift_JIS", html("<p>\x93\xfa\x96\x7b " + long + "</p>"), "日本"},
		"/bom":    {"text/plain", "\xff\xfeH\x00i\x00" + strings.Repeat("x\x00", 250), "Hi"},
		"/guess":  {"text/html", html("<p>na\xefve " + long + "</p>"), "naïve"},
		"/utf8":   {"text/html", html("<p>naïve " + long + "</p>"), "naïve"},
		"/lies":   {"text/plain; charset=utf-8", "bad \xff\xfe bytes " + long, "bad \uFFFD\uFFFD bytes"},
		"/odd":    {"text/plain; charset=no-such-charset", "plain " + long, "plain"},
	} {
		site.page(path, c.contentType, c.body)
		got, err := reader.Read(t.Context(), web.Request{URL: site.URL + path})
		if err != nil || !strings.Contains(got.Markdown, c.want) {
			t.Errorf("%s: %q is missing in %.80q, %v", path, c.want, got.Markdown, err)
		}
	}
}

func TestJSONAndTextAreShownAsTheyAre(t *testing.T) {
	t.Parallel()
	reader, site := setup(t, web.Options{})
	site.page("/j", "application/json", `{"b":1,"a":[12345678901234567890]}`)
	site.page("/t", "text/plain", "<b>short</b>")
	if got, err := reader.Read(t.Context(), web.Request{URL: site.URL + "/j"}); err != nil || got.Markdown != "{\n  \"b\": 1,\n  \"a\": [\n    12345678901234567890\n  ]\n}" {
		t.Errorf("%q, %v", got.Markdown, err)
	}
	if got, err := reader.Read(t.Context(), web.Request{URL: site.URL + "/t"}); err != nil || got.Markdown != "<b>short</b>" {
		t.Errorf("%q, %v", got.Markdown, err)
	}
}

func TestARawReadIsTheBodyAndOnlyForText(t *testing.T) {
	t.Parallel()
	reader, site := setup(t, web.Options{})
	body := "<html><!-- kept --><p>as it is</p>"
	site.page("/a", "text/html; charset=utf-8", body)
	site.page("/png", "image/png", "\x89PNG\r\n\x1a\n")
	got, err := reader.Read(t.Context(), web.Request{URL: site.URL + "/a", Raw: true})
	if err != nil || got.Markdown != body || got.Source != "raw" || got.ContentType != "text/html; charset=utf-8" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, raw := range []bool{true, false} {
		_, err = reader.Read(t.Context(), web.Request{URL: site.URL + "/png", Raw: raw})
		if fault.CodeOf(err) != fault.PreconditionFailed || !strings.Contains(err.Error(), "image/png") {
			t.Errorf("raw %v: %v", raw, err)
		}
	}
}

func TestAnAnswerThatIsNoPageIsNamed(t *testing.T) {
	t.Parallel()
	reader, site := setup(t, web.Options{})
	for path, c := range map[string]struct {
		status int
		want   string
	}{"/404": {404, "There is no such page"}, "/429": {429, "no more requests"}, "/500": {500, "HTTP 500"}} {
		site.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(c.status) })
		_, err := reader.Read(t.Context(), web.Request{URL: site.URL + path + "?token=hush"})
		if fault.CodeOf(err) != fault.ProviderError || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", path, err)
		}
	}
	site.page("/empty", "text/html", "<html><body><script>render()</script></body></html>")
	_, err := reader.Read(t.Context(), web.Request{URL: site.URL + "/empty"})
	if fault.CodeOf(err) != fault.ProviderError || !strings.Contains(err.Error(), "no crawler service") {
		t.Errorf("an empty page: %v", err)
	}
}

func TestOnlyWebAddressesAreRead(t *testing.T) {
	t.Parallel()
	reader, _ := setup(t, web.Options{})
	for _, bad := range []string{"", "ftp://example.org", "file:///etc/passwd", "https://", "http://%zz", "javascript:alert(1)", "https://example.org/" + strings.Repeat("x", 5000)} {
		if _, err := reader.Read(t.Context(), web.Request{URL: bad}); fault.CodeOf(err) != fault.ValidationFailed {
			t.Errorf("%.40q: %v", bad, err)
		}
	}
}

func TestAQueryNarrowsALongPageToItsPassages(t *testing.T) {
	t.Parallel()
	reader, site := setup(t, web.Options{})
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "<p>%s</p>", prose(200))
		if i == 150 {
			b.WriteString("<p>The heron nests in March on the north bank, where nobody walks, and it returns to the same tree every single year.</p>")
		}
	}
	site.page("/a", "text/html", html(b.String()))
	got, err := reader.Read(t.Context(), web.Request{URL: site.URL + "/a", Query: "When does the heron nest?"})
	if err != nil || !got.Narrowed || !strings.Contains(got.Markdown, "in March") || len(got.Markdown) > 8<<10 {
		t.Errorf("narrowed %v, %d bytes, %v", got.Narrowed, len(got.Markdown), err)
	}
	if got, err := reader.Read(t.Context(), web.Request{URL: site.URL + "/a", Query: "zeppelin"}); err != nil || got.Narrowed {
		t.Errorf("a query that nothing matches narrowed the page: %v", err)
	}
}
