package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/mcp"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/wire"
)

type object = map[string]any

func TestAConfigurationIsCheckedBeforeItIsSaved(t *testing.T) {
	t.Parallel()
	many := object{}
	for i := range mcp.MaxHeaders + 1 {
		many[fmt.Sprintf("X-%d", i)] = "v"
	}
	const url = "https://mcp.example.org/mcp"
	for want, cfg := range map[string]object{
		"URL is required":         {},
		"too large":               {"url": "https://x/" + strings.Repeat("x", mcp.MaxURL)},
		"absolute":                {"url": "mcp.example.org"},
		"http or https":           {"url": "file:///etc/passwd"},
		"credentials":             {"url": "https://user:pw@mcp.example.org"},
		"http or sse":             {"url": url, "transport": "ws"},
		"must be oauth":           {"url": url, "auth": "basic"},
		"map names":               {"url": url, "headers": object{"A": 1}},
		"are more than 16":        {"url": url, "headers": many},
		"longer than 4096":        {"url": url, "headers": object{"A": strings.Repeat("x", 4097)}},
		`"A\n" is not a usable`:   {"url": url, "headers": object{"A\n": "x"}},
		`"A" is not a usable`:     {"url": url, "headers": object{"A": "x\r\nB: y"}},
		"set by the protocol":     {"url": url, "headers": object{"Mcp-Session-Id": "x"}},
		"stands there twice":      {"url": url, "headers": object{"X-Key": "x"}, "secretRefs": object{"x-key": "s"}},
		"set by the sign-in":      {"url": url, "auth": "oauth", "secretRefs": object{"Authorization": "s"}},
		"either a url or":         {"url": url, "command": []any{"x"}},
		"a program and its":       {"command": []any{}},
		"texts of at most":        {"command": []any{"x", 1}},
		`has no field "password"`: {"url": url, "password": "x"},
	} {
		if _, err := mcp.ParseConfig(cfg); fault.CodeOf(err) != fault.ValidationFailed || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for _, bad := range []string{"", "Box", "a b", "-a", "../a", strings.Repeat("a", 33), "a__b!"} {
		if _, err := mcp.ParseName(bad); fault.CodeOf(err) != fault.ValidationFailed {
			t.Errorf("the name %q: %v", bad, err)
		}
	}
	if got, err := mcp.ParseConfig(object{"url": " " + url + " ", "transport": "sse", "headers": object{}, "secretRefs": object{"Authorization": "s"}}); err != nil || got.URL != url || got.Headers != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAnAccountHasSixtyFourServersAndTheirSecretsGoWithThem(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		b := setup(t, s)
		cfg := wire.McpServerConfig{URL: "https://x.test", SecretRefs: map[string]string{"A": "mcp-s0-a", "B": "shared", "C": "mcp-s0-both"}}
		b.write(func(tx store.Tx) error {
			for i := range mcp.MaxServers {
				if _, err := mcp.Set(tx, fmt.Sprint(i), owner, fmt.Sprintf("s%d", i), cfg, 1); err != nil {
					return err
				}
				cfg.SecretRefs = map[string]string{"C": "mcp-s0-both"}
			}
			return nil
		})
		err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
			_, err := mcp.Set(tx, "x", owner, "more", cfg, 1)
			return err
		})
		if fault.CodeOf(err) != fault.TooLarge {
			t.Errorf("one more: %v", err)
		}
		b.write(func(tx store.Tx) error {
			if _, err := mcp.Set(tx, "x", owner, "s1", cfg, 2); err != nil {
				return err
			}
			secrets, err := mcp.Delete(tx, owner, "s0")
			if slices.Contains(secrets, "shared") || slices.Contains(secrets, "mcp-s0-both") || !slices.Contains(secrets, "mcp-s0-a") {
				t.Errorf("secrets %v", secrets)
			}
			list, listErr := mcp.List(tx, owner)
			if len(list) != mcp.MaxServers-1 || list[0].Name != "s1" || listErr != nil {
				t.Errorf("%d servers, %v", len(list), listErr)
			}
			if _, err := mcp.Delete(tx, owner, "s0"); fault.CodeOf(err) != fault.NotFound {
				t.Errorf("a second time: %v", err)
			}
			return err
		})
	})
}

// liar answers tools/list with the given tools as JSON, page after page when endless.
func liar(t *testing.T, tools string, endless bool) string {
	t.Helper()
	page := 0
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&req) // what is no request gets no answer
		w.Header().Set("Content-Type", "application/json")
		switch req.Method {
		case "initialize":
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}`, req.ID)
		case "tools/list":
			next := ""
			if page++; endless {
				next = fmt.Sprintf(`,"nextCursor":"%d"`, page)
			}
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":%s%s}}`, req.ID, tools, next)
		case "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
		default:
			if len(req.ID) == 0 {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, req.ID)
		}
	}), nil)
}

func TestWhatALyingServerOffersIsMadeSafe(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		b := setup(t, s)
		tool := func(name string, schema string) string {
			return fmt.Sprintf(`{"name":%q,"inputSchema":%s}`, name, schema)
		}
		ok := `{"type":"object"}`
		deep := strings.Repeat(`{"properties":{"a":`, 100) + "{}" + strings.Repeat("}}", 100)
		got := b.set(owner, "box", wire.McpServerConfig{Transport: "http", URL: liar(t, "["+strings.Join([]string{
			tool("Read File", ok), tool("read/file", ok), tool("read.file", ok), tool("../../etc", ok), tool(strings.Repeat("x", 100), ok), tool(strings.Repeat("x", 99)+"y", ok),
			tool(strings.Repeat("z", 300), ok), tool("", ok), tool("Read File", `{"type":"object","title":"again"}`),
			tool("array", `{"type":"array"}`), tool("number", `7`), tool("untyped", `{"properties":{}}`), tool("deep", deep), tool("large", `{"type":"object","x":"`+strings.Repeat("x", mcp.MaxSchema)+`"}`),
			tool("refs", `{"type":"object","$ref":"#"}`), `{"name":"talker","description":"` + strings.Repeat("é", mcp.MaxDescription) + `","inputSchema":{"type":"object"}}`, `null`,
		}, ",")+"]", false)})
		if got.State != mcp.StateOK {
			t.Fatal(got.Error)
		}
		form := regexp.MustCompile(`^box__[a-z0-9_-]+$`)
		seen := map[string]bool{}
		for _, tool := range got.Tools {
			if !form.MatchString(tool.Name) || len(tool.Name) > mcp.MaxToolName || seen[tool.Name] || len(tool.Description) > mcp.MaxDescription || !strings.Contains(string(tool.Input), `"type":"object"`) {
				t.Errorf("tool %.200v", tool)
			}
			if slices.Contains([]string{"array", "number", "deep", "large"}, tool.RemoteName) && string(tool.Input) != ok {
				t.Errorf("%s has the schema %.100s", tool.RemoteName, tool.Input)
			}
			seen[tool.Name] = true
		}
		if len(got.Tools) != 13 || !seen["box__read_file"] {
			t.Errorf("%d tools: %v", len(got.Tools), seen)
		}
	})
}

func TestAListWithoutEndEnds(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		b := setup(t, s)
		if got := b.set(owner, "box", wire.McpServerConfig{Transport: "http", URL: liar(t, `[{"name":"a","inputSchema":{"type":"object"}}]`, true)}); got.State != mcp.StateOK || len(got.Tools) != 1 {
			t.Errorf("%+v", got)
		}
	})
}
