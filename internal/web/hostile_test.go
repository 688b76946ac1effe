package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/egress"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/web"
)

// flood writes n bytes of text, or less when the reader hangs up.
func flood(w io.Writer, n int) (sent int) {
	line := []byte("<p>" + strings.Repeat("water ", 1000) + "</p>\n")
	for sent < n {
		k, err := w.Write(line)
		sent += k
		if err != nil {
			break
		}
	}
	return sent
}

func TestOfAPageOf50MBTheBeginningIsRead(t *testing.T) {
	t.Parallel()
	reader, site := setup(t, web.Options{})
	sent := make(chan int, 1)
	site.HandleFunc("/big", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, "<title>Big</title><body>")
		sent <- flood(w, 50<<20)
	})
	got, err := reader.Read(t.Context(), web.Request{URL: site.URL + "/big"})
	if err != nil || !got.Truncated || got.Title != "Big" || len(got.Markdown) > web.MaxMarkdown || len(got.Markdown) < web.MaxMarkdown/2 {
		t.Errorf("%d bytes, truncated %v, %v", len(got.Markdown), got.Truncated, err)
	}
	if n := <-sent; n > web.MaxBody+(16<<20) {
		t.Errorf("%d bytes were taken from the server", n)
	}
}

func TestACompressedPageIsCountedUnpacked(t *testing.T) {
	t.Parallel()
	reader, site := setup(t, web.Options{})
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	flood(z, 12<<20)
	_ = z.Close()
	site.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed.Bytes())
	})
	got, err := reader.Read(t.Context(), web.Request{URL: site.URL + "/bomb"})
	if err != nil || !got.Truncated || len(got.Markdown) > web.MaxMarkdown {
		t.Errorf("%d bytes, truncated %v, %v", len(got.Markdown), got.Truncated, err)
	}
}

func TestTheTextEndsAtItsLimitOnACharacter(t *testing.T) {
	t.Parallel()
	reader, site := setup(t, web.Options{})
	for n, cut := range map[int]bool{web.MaxMarkdown: false, web.MaxMarkdown + 2: true} {
		path := fmt.Sprintf("/%d", n)
		site.page(path, "text/plain; charset=utf-8", strings.Repeat("é", n/2))
		got, err := reader.Read(t.Context(), web.Request{URL: site.URL + path})
		if err != nil || got.Truncated != cut || len(got.Markdown) != web.MaxMarkdown || strings.Contains(got.Markdown, "\uFFFD") {
			t.Errorf("%d: %d bytes, truncated %v, %v", n, len(got.Markdown), got.Truncated, err)
		}
	}
}

// silent is a page that sends some text and then nothing until the reader goes.
func (s *site) silent(path, begin string) {
	s.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		if begin != "" {
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprint(w, begin)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	})
}

func TestASlowPageEndsInTimeWithWhatArrived(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.silent("/mute", "")
	s.silent("/slow", "<title>Slow</title><p>"+prose(600)+"</p>")
	e, err := egress.New(egress.Options{Allow: []string{strings.TrimPrefix(s.URL, "http://")}, IdleTimeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	reader := web.NewReader(web.Options{Client: e.Agent(), Clock: clock.System{}})
	got, err := reader.Read(t.Context(), web.Request{URL: s.URL + "/slow"})
	if err != nil || !got.Truncated || !strings.Contains(got.Markdown, "A river carries") {
		t.Errorf("slow: %+v, %v", got, err)
	}
	// A page that sends nothing is waited for until PageTimeout, or until the caller goes.
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := reader.Read(ctx, web.Request{URL: s.URL + "/mute"}); ctx.Err() == nil || err == nil {
		t.Errorf("mute: %v", err)
	}
}

func TestARedirectLoopIsRefused(t *testing.T) {
	t.Parallel()
	reader, site := setup(t, web.Options{})
	var hops atomic.Int32
	site.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) {
		hops.Add(1)
		http.Redirect(w, r, "/loop", http.StatusFound)
	})
	_, err := reader.Read(t.Context(), web.Request{URL: site.URL + "/loop"})
	if fault.CodeOf(err) != fault.PermissionDenied || fault.From(err).Details["rule"] != egress.RuleRedirects || hops.Load() != egress.MaxRedirects+1 {
		t.Errorf("%d hops, %v", hops.Load(), err)
	}
}

// names answers lookups: the first answer of a name, and then its second for ever.
type names struct {
	first, then string
	asked       atomic.Int32
}

func (n *names) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	if n.asked.Add(1) == 1 {
		return []netip.Addr{netip.MustParseAddr(n.first)}, nil
	}
	return []netip.Addr{netip.MustParseAddr(n.then)}, nil
}

func TestANameThatIsReboundToAPrivateAddressIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t)
	var inside atomic.Int32
	s.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		inside.Add(1)
		w.Header().Set("Connection", "close")
		http.Redirect(w, r, "http://rebind.test/secret", http.StatusFound)
	})
	local := strings.TrimPrefix(s.URL, "http://")
	e, err := egress.New(egress.Options{
		Resolver: &names{first: "1.1.1.1", then: "169.254.169.254"},
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, local)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, err = web.NewReader(web.Options{Client: e.Agent(), Clock: clock.System{}}).Read(t.Context(), web.Request{URL: "http://rebind.test/"})
	if fault.From(err).Details["rule"] != egress.RuleAddress || inside.Load() != 1 {
		t.Errorf("%d requests, %v", inside.Load(), err)
	}
}

func TestNoSpellingOfAPrivateAddressIsReadNotEvenByTheCrawler(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	service := serve(t)
	service.HandleFunc("/md", func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	e := outlet(t) // No exceptions: the site of the test is private.
	client, err := e.Operator(service.URL)
	if err != nil {
		t.Fatal(err)
	}
	reader, site := setup(t, web.Options{Client: e.Agent(), Crawler: web.NewCrawler(client, service.URL, "")})
	port := site.URL[strings.LastIndexByte(site.URL, ':'):]
	for _, host := range []string{
		"127.0.0.1", "localhost", "LOCALHOST.", "127.1", "0177.0.0.1", "0x7f000001", "2130706433", "0", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
		"[64:ff9b::7f00:1]", "169.254.169.254", "10.0.0.1", "[fd00::1]", "[fe80::1%25eth0]", "user@127.0.0.1", "127。0。0。1",
	} {
		_, err := reader.Read(t.Context(), web.Request{URL: "http://" + host + port + "/wiki/Admin"})
		switch fault.CodeOf(err) {
		case fault.PermissionDenied, fault.ValidationFailed:
		default:
			t.Errorf("%s: %v", host, err)
		}
	}
	if asked.Load() != 0 {
		t.Errorf("the crawler was sent to a private address %d times", asked.Load())
	}
}

func TestMarkupThatWouldUnfoldWithoutEndIsReadAsText(t *testing.T) {
	t.Parallel()
	reader, site := setup(t, web.Options{})
	var fonts strings.Builder
	for i := range 500 {
		fmt.Fprintf(&fonts, `<font size="%d">`, i)
	}
	for name, body := range map[string]string{
		"deep":       strings.Repeat("<div>", 100_000) + prose(300),
		"formatting": fonts.String() + strings.Repeat("<p>x", 100_000) + prose(300),
		"wide":       strings.Repeat("<b></b>", 250_000) + prose(300),
		"attributes": "<p " + strings.Repeat("a=1 ", 300_000) + ">" + prose(300) + "</p>",
		"unclosed":   "<title>x" + strings.Repeat("<!--", 100_000) + prose(300),
		"tables":     strings.Repeat("<table><tr><td>", 100_000) + prose(300),
	} {
		site.page("/"+name, "text/html", body)
		got, err := reader.Read(t.Context(), web.Request{URL: site.URL + "/" + name})
		if err != nil && fault.CodeOf(err) != fault.ProviderError {
			t.Errorf("%s: %v", name, err)
		}
		if name != "unclosed" && !strings.Contains(got.Markdown, "A river carries") && !got.Truncated && len(got.Markdown) < web.MaxMarkdown/2 {
			t.Errorf("%s: the text is lost: %.200q, %v", name, got.Markdown, err)
		}
	}
}
