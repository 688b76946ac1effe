package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/hypermedia/hypermediatest"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
)

// readTurn reads an address and then says that it did.
func readTurn(arguments string) []scripted.Turn {
	return []scripted.Turn{
		{Steps: []scripted.Step{{Call: &scripted.Call{Name: "read", Arguments: arguments}}}},
		{Steps: []scripted.Step{{Text: "Done."}}},
	}
}

// results are the texts of the tool results that the model was shown last.
func results(m *scripted.Server) string {
	requests := m.Requests()
	return string(requests[len(requests)-1].Body)
}

func TestAnAgentReadsAWebPage(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, "<title>Herons</title><nav>Menu</nav><article><p>%s</p></article>", strings.Repeat("The heron stands in the river. ", 20))
	}))
	t.Cleanup(site.Close)
	m := servertest.Scripted(t, readTurn(fmt.Sprintf(`{"address":%q}`, site.URL+"/heron"))...)
	h := servertest.Start(t, server.Config{EgressAllow: []string{strings.TrimPrefix(site.URL, "http://")}})
	if _, err := h.Send(h.Session(h.Agent(m)), "Read it."); err != nil {
		t.Fatal(err)
	}
	got := results(m)
	for _, want := range []string{"The heron stands in the river.", "outside source=", `source\":\"static`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %s", want, got)
		}
	}
}

func TestAPrivateAddressIsARefusalThatTheModelReads(t *testing.T) {
	t.Parallel()
	hit := false
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hit = true }))
	t.Cleanup(site.Close)
	m := servertest.Scripted(t, readTurn(fmt.Sprintf(`{"address":%q}`, site.URL))...)
	h := servertest.Start(t, server.Config{})
	if _, err := h.Send(h.Session(h.Agent(m)), "Read it."); err != nil {
		t.Fatal(err)
	}
	if got := results(m); hit || !strings.Contains(got, "is not on the public internet") {
		t.Errorf("hit %v, results %s", hit, got)
	}
}

func TestHealthSaysWhichWebToolsThereAre(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cfg  server.Config
		want string
	}{
		{server.Config{}, `"webTools":{"readBrowser":false,"search":false}`},
		{server.Config{SearXNGURL: "http://127.0.0.1:9"}, `"webTools":{"readBrowser":false,"search":true}`},
		{server.Config{CrawlerURL: "http://127.0.0.1:9", SearchEngines: []string{"duckduckgo"}}, `"webTools":{"readBrowser":true,"search":true}`},
	} {
		h := servertest.Start(t, c.cfg)
		if _, got := get(t, h.URL+"/api/health", ""); !strings.Contains(got, c.want) {
			t.Errorf("%s is missing in %s", c.want, got)
		}
	}
}

func TestAWrongSearchSettingIsNamedAtTheStart(t *testing.T) {
	t.Parallel()
	cfg := server.Config{Listen: "127.0.0.1:0", DataDir: t.TempDir(), SearchEngines: []string{"brave"}}
	if s, err := server.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "needs a key") {
		t.Errorf("%v", err)
		_ = s.Close()
	}
}

func TestAHypermediaServerThatIsAwayFailsTheCallAndNotTheTurn(t *testing.T) {
	t.Parallel()
	calls := []string{
		`{"address":"hm://z6MkneMkZqwqRiU5mJzSG3kDwzt9P8C59N4NGTfBLfSGE7c7/a"}`, `{"address":"activity:"}`, `{"address":"https://example.com/"}`,
		`{"address":"ipfs://bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"}`,
	}
	var turns []scripted.Turn
	for _, c := range calls {
		turns = append(turns, scripted.Turn{Steps: []scripted.Step{{Call: &scripted.Call{Name: "read", Arguments: c}}}})
	}
	turns = append(turns, scripted.Turn{Steps: []scripted.Step{{Call: &scripted.Call{Name: "call", Arguments: `{"tool":"search","input":{"query":"x"}}`}}}},
		scripted.Turn{Steps: []scripted.Step{{Text: "Done."}}})
	m := servertest.Scripted(t, turns...)
	h := servertest.Start(t, server.Config{HMServerURL: hypermediatest.Away})
	if _, err := h.Send(h.Session(h.Agent(m)), "Read them."); err != nil {
		t.Fatal(err)
	}
	if got := results(m); strings.Count(got, "The hypermedia server did not answer:") != len(calls)+1 {
		t.Errorf("not every call says it: %s", got)
	}
}

func TestWithoutAHypermediaServerAddressesNameTheSettingAndToolsAreNotOffered(t *testing.T) {
	t.Parallel()
	m := servertest.Scripted(t, append(readTurn(`{"address":"hm://z6MkneMkZqwqRiU5mJzSG3kDwzt9P8C59N4NGTfBLfSGE7c7"}`)[:1],
		scripted.Turn{Steps: []scripted.Step{{Call: &scripted.Call{Name: "call", Arguments: `{"tool":"search","input":{"query":"x"}}`}}}},
		scripted.Turn{Steps: []scripted.Step{{Text: "Done."}}})...)
	h := servertest.Start(t, server.Config{})
	if _, err := h.Send(h.Session(h.Agent(m)), "Read it."); err != nil {
		t.Fatal(err)
	}
	got := results(m)
	for _, want := range []string{"--hm-server-url", "No callable tool named"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %s", want, got)
		}
	}
	if strings.Contains(got, "hm://<account>") {
		t.Error("the model is shown an address that can only fail")
	}
}
