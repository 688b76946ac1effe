package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

// liar is an MCP server whose tools have the given input schemas, whatever they are, and the given results.
func liar(t *testing.T, tools map[string]string, results map[string]string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&in) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		result := "{}"
		switch in.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"liar","version":"1"}}`
		case "tools/list":
			var list []string
			for name, schema := range tools {
				list = append(list, fmt.Sprintf(`{"name":%q,"description":"Lies.","inputSchema":%s}`, name, schema))
			}
			result = `{"tools":[` + strings.Join(list, ",") + `]}`
		case "tools/call":
			result = results[in.Params.Name]
		}
		if len(in.ID) == 0 {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, in.ID, result)
	}))
	t.Cleanup(s.Close)
	return s
}

// endless are schemas that a validator would follow for ever, or that are none.
func endless() map[string]string {
	var fan strings.Builder
	fan.WriteString(`{"type":"object","$ref":"#/$defs/d0","$defs":{`)
	for i := range 60 {
		fmt.Fprintf(&fan, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	fan.WriteString(`"d60":{"type":"object"}}}`)
	return map[string]string{
		"circle":  `{"type":"object","$ref":"#"}`,
		"fan":     fan.String(),
		"outside": `{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`,
		"deep":    strings.Repeat(`{"type":"object","properties":{"a":`, 200) + "{}" + strings.Repeat("}}", 200),
		"pattern": `{"type":"object","properties":{"a":{"type":"string","pattern":"^(a+)+$"}}}`,
		"list":    `{"type":"array","items":{"type":"string"}}`,
		"lies":    `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`,
	}
}

func TestAServerThatLiesAboutSchemasWedgesNothing(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		schemas := endless()
		answers := map[string]string{}
		var list []string
		for name := range schemas {
			answers[name] = `{"content":[{"type":"text","text":"from ` + name + `"}]}`
			list = append(list, fmt.Sprintf(`{"tool":"box__%s","input":{"a":%q}}`, name, strings.Repeat("a", 40)+"!"))
		}
		// What it takes is not what it says, and what it gives back neither.
		answers["lies"] = `{"content":[{"type":"resource_link","uri":7},{"type":"smell"}],"structuredContent":[[[]]],"isError":"yes"}`
		list = append(list, `{"tool":"box__lies","input":{"n":1}}`)
		box := liar(t, schemas, answers)
		m := servertest.Scripted(t, calls(list...)...)
		h := servertest.Start(t, cfg)
		agentID := h.Agent(m)
		use(t, h, agentID, "box")
		servertest.Call[wire.McpServerResponse](h, "SetMcpServer", map[string]any{"name": "box", "config": map[string]any{"url": box.URL}})
		if _, got := sentTwice(t, h, agentID); len(got) != len(list) {
			t.Errorf("%d of %d calls were answered", len(got), len(list))
		}
		if got := results(m); strings.Contains(got, "root:") || !strings.Contains(got, "from circle") {
			t.Errorf("the model saw %.3000s", got)
		}
	})
}

// sentTwice has an agent work through its script, and then answer once more in the same conversation. It returns the
// conversation and the results of its calls.
func sentTwice(t *testing.T, h *servertest.Harness, agentID string) (session string, results []string) {
	t.Helper()
	session = h.Session(agentID)
	for range 2 {
		if _, err := h.Send(session, "go"); err != nil {
			t.Fatal(err)
		}
	}
	return session, outputs(h, session)
}

func TestTenMegabytesOfAnythingWedgeNoSession(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		big := strings.Repeat("x", 10<<20)
		box := liar(t, map[string]string{"text": `{"type":"object"}`, "binary": `{"type":"object"}`, "deep": `{"type":"object"}`}, map[string]string{
			"text":   `{"content":[{"type":"text","text":"` + big + `"}]}`,
			"binary": `{"content":[{"type":"text","text":"a\u0000b\ud800c"},{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("AAAA", 3<<20) + `"}]}`,
			"deep":   `{"content":[{"type":"text","text":"ok"}],"structuredContent":` + strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000) + `}`,
		})
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write([]byte(big))
		}))
		t.Cleanup(site.Close)
		cfg.EgressAllow = []string{strings.TrimPrefix(site.URL, "http://")}
		turns := calls(`{"tool":"box__text","input":{}}`, `{"tool":"box__binary","input":{}}`, `{"tool":"box__deep","input":{}}`)
		turns = append([]scripted.Turn{readOf(site.URL, `"raw":true`)}, turns...)
		m := servertest.Scripted(t, turns...)
		h := servertest.Start(t, cfg)
		agentID := h.Agent(m)
		use(t, h, agentID, "box")
		servertest.Call[wire.McpServerResponse](h, "SetMcpServer", map[string]any{"name": "box", "config": map[string]any{"url": box.URL}})
		session, answers := sentTwice(t, h, agentID)
		for _, a := range answers {
			if len(a) > 256<<10 {
				t.Errorf("the log keeps %d bytes of one result", len(a))
			}
		}
		requests := m.Requests()
		if size := len(requests[len(requests)-1].Body); len(answers) != 4 || size > 80<<10 {
			t.Errorf("%d calls were answered, and the next turn sends %d bytes", len(answers), size)
		}
		// The person can still act there, read all of it back, and end it.
		got := servertest.Call[wire.InvokeSessionToolResponse](h, "InvokeSessionTool", map[string]any{"sessionId": session, "verb": "read", "input": map[string]any{"address": "thread:" + session}})
		if got.Error != "" {
			t.Errorf("its transcript: %s", got.Error)
		}
		servertest.Call[map[string]any](h, "DeleteSession", map[string]any{"sessionId": session})
	})
}

func TestOddNamesAndBytesInMemoryStayWhatTheyAre(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		session := h.Session(h.Agent(servertest.Scripted(t)))
		invoke := func(verb string, input map[string]any) wire.InvokeSessionToolResponse {
			return servertest.Call[wire.InvokeSessionToolResponse](h, "InvokeSessionTool", map[string]any{"sessionId": session, "verb": verb, "input": input})
		}
		for _, name := range []string{
			"con", "a b", " lead", "-rf", "*.md", "\u202egnp.exe", "日本語/ファイル", "e\u0301", "%2e%2e/x", "a'; DROP TABLE memory_files; --", "</space>", "{}",
		} {
			content := "content of " + name
			if got := invoke("write", map[string]any{"address": "~/memory/" + name, "content": content}); got.Error != "" {
				t.Errorf("%q cannot be written: %s", name, got.Error)
				continue
			}
			if got := invoke("read", map[string]any{"address": "~/memory/" + name}); !strings.Contains(string(got.Output), "content of ") {
				t.Errorf("%q is read as %s %s", name, got.Output, got.Error)
			}
		}
		for _, name := range []string{"../x", "a/../../x", "..\\..\\x", strings.Repeat("a/", 17) + "x", strings.Repeat("x", 513)} {
			if got := invoke("write", map[string]any{"address": "~/memory/" + name, "content": "x"}); got.Error == "" {
				t.Errorf("%.40q was written: %s", name, got.Output)
			}
		}
	})
}
