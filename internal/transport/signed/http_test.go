package signed_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

func TestRoutesExistWithAndWithoutThePrefix(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	action := func() string { return string(sign(t, h.Key, map[string]any{"_": "ListAgents", "x": t.Name()})) }
	for _, c := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"POST", "/api/message", 200, ""},
		{"POST", "/agents/api/message", 200, ""},
		{"OPTIONS", "/api/message", 204, ""},
		{"OPTIONS", "/agents/api/message", 204, ""},
		{"GET", "/api/health", 200, ""},
		{"GET", "/agents/api/health", 200, ""},
		{"GET", "/api/version", 200, ""},
		{"GET", "/agents/api/version", 200, ""},
		{"GET", "/agents/ws", 400, "WebSocket upgrade failed"},
		{"GET", "/ws", 404, "Not Found"},
		{"GET", "/", 404, "Not Found"},
		{"GET", "/api/message", 404, "Not Found"},
		{"PUT", "/api/message", 404, "Not Found"},
		{"POST", "/api/health", 404, "Not Found"},
		{"POST", "/agents/ws", 404, "Not Found"},
		{"POST", "/api/message/", 404, "Not Found"},
		{"POST", "/agents//api/message", 404, "Not Found"},
		{"GET", "/agents/../etc/passwd", 404, "Not Found"},
		{"GET", "/agents/agents/api/health", 404, "Not Found"},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			body := ""
			if c.method == "POST" {
				body = action()
			}
			got := request(t, c.method, h.URL+c.path, wire.MediaType, strings.NewReader(body))
			if got.status != c.status || c.body != "" && string(got.body) != c.body || c.status == 204 && len(got.body) != 0 {
				t.Errorf("%d %q, want %d %q", got.status, got.body, c.status, c.body)
			}
			if got.header.Get(wire.ProtocolHeader) != "3" || got.header.Get("Access-Control-Expose-Headers") != wire.ProtocolHeader {
				t.Errorf("the protocol is not told: %v", got.header)
			}
		})
	}
}

func TestCORSHeadersStandOnSuccessAndError(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	good := sign(t, h.Key, map[string]any{"_": "ListAgents"})
	for name, c := range map[string]struct {
		got     answer
		status  int
		methods string
		media   string
	}{
		"success":   {post(t, h, good), 200, "POST, OPTIONS", wire.MediaType},
		"error":     {post(t, h, []byte("nonsense")), 400, "POST, OPTIONS", wire.MediaType},
		"media":     {request(t, "POST", h.URL+"/api/message", "text/plain", nil), 415, "POST, OPTIONS", wire.MediaType},
		"preflight": {request(t, "OPTIONS", h.URL+"/agents/api/message", "", nil), 204, "GET, POST, OPTIONS", ""},
		"health":    {request(t, "GET", h.URL+"/api/health", "", nil), 200, "GET, POST, OPTIONS", "application/json"},
	} {
		g := c.got.header
		if c.got.status != c.status || g.Get("Access-Control-Allow-Origin") != "*" || g.Get("Access-Control-Allow-Methods") != c.methods ||
			g.Get("Access-Control-Allow-Headers") != "Content-Type, Accept" || g.Get("Content-Type") != c.media {
			t.Errorf("%s: %d %v", name, c.got.status, g)
		}
	}
}

func TestTheMediaTypeIsWhatStandsBeforeTheSemicolon(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	body := sign(t, h.Key, map[string]any{"_": "ListAgents"})
	for media, want := range map[string]int{
		"application/cbor": 200, "Application/CBOR": 200, " application/cbor ; charset=x": 200, "application/cbor;": 200,
		"application/cbor; a=1; a=2": 200, "application/cbor;=;;": 200,
		"": 415, "application/json": 415, "application/cbor, text/plain": 415, "application/cborx": 415, "; application/cbor": 415,
	} {
		got := request(t, "POST", h.URL+"/api/message", media, bytes.NewReader(body))
		if got.status != want {
			t.Errorf("%q: %d, want %d", media, got.status, want)
		}
		if f := got.fields(t); want == 415 && (f["_"] != "Error" || f["message"] != "Content-Type must be application/cbor" || len(f) != 2) {
			t.Errorf("%q: %v", media, f)
		}
	}
}

func TestGarbageIsAnErrorWithItsText(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	env := func(change func(map[string]any)) []byte {
		fields, err := wire.DecodeEnvelope(sign(t, h.Key, map[string]any{"_": "ListAgents"}))
		if err != nil {
			t.Fatal(err)
		}
		change(fields)
		raw, err := dagcbor.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	old := map[string]any{"_": "ListAgents", "ts": time.Now().Add(-6 * time.Minute).UnixMilli()}
	for name, c := range map[string]struct {
		body   []byte
		status int
		text   string
	}{
		"empty":            {nil, 400, "Invalid CBOR request"},
		"JSON":             {[]byte(`{"type":"AgentsAction"}`), 400, "Invalid CBOR request"},
		"cut":              {env(func(map[string]any) {})[:50], 400, "Invalid CBOR request"},
		"two values":       {append(env(func(map[string]any) {}), 0), 400, "Invalid CBOR request"},
		"broken UTF-8":     {[]byte{0xa1, 0x61, 'a', 0x62, 0xff, 0xfe}, 400, "Invalid CBOR request"},
		"indefinite":       {[]byte{0xbf, 0xff}, 400, "Invalid CBOR request"},
		"NaN":              {[]byte{0xfb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0}, 400, "Invalid CBOR request"},
		"deep":             {bytes.Repeat([]byte{0x81}, 1<<16), 400, "Invalid CBOR request"},
		"announced length": {[]byte{0x9b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 400, "Invalid CBOR request"},
		"list":             {[]byte{0x80}, 401, "Invalid envelope"},
		"no type":          {env(func(f map[string]any) { delete(f, "type") }), 401, "Invalid envelope type"},
		"text signer":      {env(func(f map[string]any) { f["signer"] = "z6Mk" }), 401, "Invalid signer"},
		"short account":    {env(func(f map[string]any) { f["account"] = []byte{1} }), 401, "Invalid account"},
		"no signature":     {env(func(f map[string]any) { delete(f, "sig") }), 401, "Invalid signature bytes"},
		"action is text":   {env(func(f map[string]any) { f["action"] = "ListAgents" }), 401, "Invalid action"},
		"numeric name":     {env(func(f map[string]any) { f["action"] = map[string]any{"_": 1, "ts": 1} }), 401, "Invalid action"},
		"text ts":          {env(func(f map[string]any) { f["action"] = map[string]any{"_": "x", "ts": "1"} }), 401, "Invalid action timestamp"},
		"old":              {sign(t, h.Key, old), 401, "Action timestamp is outside allowed window"},
		"extra key":        {env(func(f map[string]any) { f["extra"] = 1 }), 401, "Invalid signature"},
		"unknown action":   {sign(t, h.Key, map[string]any{"_": "Reboot"}), 400, "Unsupported action: Reboot"},
		"empty name":       {emptyName(t, h), 400, "Unsupported action: "},
		"internal name":    {sign(t, h.Key, map[string]any{"_": "loam.pendingTurn"}), 400, "Unsupported action: loam.pendingTurn"},
		"Subscribe":        {sign(t, h.Key, map[string]any{"_": "Subscribe", "key": "x"}), 400, "Subscribe is only supported over WebSocket"},
	} {
		t.Run(name, func(t *testing.T) {
			got := post(t, h, c.body)
			f := got.fields(t)
			if got.status != c.status || f["_"] != "Error" || f["message"] != c.text || len(f) != 2 {
				t.Errorf("%d %v, want %d %q", got.status, f, c.status, c.text)
			}
		})
	}
}

// emptyName signs what wire.Sign refuses.
func emptyName(t *testing.T, h *servertest.Harness) []byte {
	t.Helper()
	return signRaw(t, h.Key, map[string]any{"_": "", "ts": time.Now().UnixMilli()}, nil)
}

func TestADelegatedKeyIsRefusedWithThePhraseThatClientsRead(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	body, err := wire.Sign(key(t, 9), h.Key.ID(), map[string]any{"_": "ListAgents"}, wire.SignOptions{TS: time.Now().UnixMilli()})
	if err != nil {
		t.Fatal(err)
	}
	if got := post(t, h, body); got.status != 401 || got.fields(t)["message"] != "Signer is not authorized for account" {
		t.Errorf("%d %v", got.status, got.fields(t))
	}
}

func TestABodyMayHaveTheLimitAndNotOneByteMore(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{MaxBody: 4096})
	sized := func(size int) []byte {
		base := len(sign(t, h.Key, map[string]any{"_": "ListAgents", "x": strings.Repeat("x", 1000)}))
		return sign(t, h.Key, map[string]any{"_": "ListAgents", "x": strings.Repeat("x", 1000+size-base)})
	}
	if got := post(t, h, sized(4096)); got.status != 200 {
		t.Errorf("at the limit: %d %v", got.status, got.fields(t))
	}
	const text = "Request is too large: at most 4096 bytes"
	if got := post(t, h, sized(4097)); got.status != 413 || got.fields(t)["message"] != text {
		t.Errorf("one over: %d %v", got.status, got.fields(t))
	}
	// Without a length the bytes are counted.
	got := request(t, "POST", h.URL+"/api/message", wire.MediaType, struct{ *bytes.Reader }{bytes.NewReader(sized(4097))})
	if got.status != 413 || got.fields(t)["message"] != text {
		t.Errorf("one over, chunked: %d", got.status)
	}
}

func TestHealthAndVersionHaveEveryField(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{HMServerURL: "https://hm.example", IPFSServerURL: "https://ipfs.example"})
	fields := func(path string) map[string]any {
		var out map[string]any
		if err := json.Unmarshal(request(t, "GET", h.URL+path, "", nil).body, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	health := fields("/agents/api/health")
	if up, ok := health["uptime"].(float64); !ok || up < 0 {
		t.Errorf("uptime is %v", health["uptime"])
	}
	delete(health, "uptime")
	want := `{"codeExec":false,"codeExecReason":"This version runs no code.","codeExecReasonCode":"config-disabled","codeExecRuntimes":[],` +
		`"hmServerUrl":"https://hm.example","ipfsServerUrl":"https://ipfs.example","minClientProtocol":1,"protocol":3,"status":"ok",` +
		`"subscriptionAuth":false,"version":"dev","webTools":{"readBrowser":false,"search":false}}`
	if got, _ := json.Marshal(health); string(got) != want {
		t.Errorf("health is %s\nwant %s", got, want)
	}
	version := fields("/api/version")
	for _, k := range []string{"version", "commit", "branch", "date"} {
		if s, ok := version[k].(string); !ok || s == "" {
			t.Errorf("%s is %v", k, version[k])
		}
	}
	if version["protocol"] != 3.0 || version["minClientProtocol"] != 1.0 || len(version) != 6 {
		t.Errorf("version is %v", version)
	}
}

// fixed is a clock that always tells the same time and lets waits pass.
type fixed struct {
	clock.System
	now time.Time
}

func (f fixed) Now() time.Time { return f.now }

type vectors struct {
	TS        int64
	Envelopes []struct {
		Action, Hex string
	}
	Negative []struct{ Name, Hex, Error string }
}

func TestEnvelopesOfTheReferenceAreJudgedAsItDoes(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/envelopes.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	body := func(text string) []byte {
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	// The window is inclusive both ways.
	for offset, admitted := range map[time.Duration]bool{
		0: true, 5 * time.Minute: true, -5 * time.Minute: true,
		5*time.Minute + time.Millisecond: false, -5*time.Minute - time.Millisecond: false,
	} {
		t.Run(offset.String(), func(t *testing.T) {
			t.Parallel()
			h := servertest.Start(t, server.Config{Clock: fixed{now: time.UnixMilli(v.TS).Add(offset)}})
			// Before anything else, while no delegate is known.
			for _, n := range v.Negative {
				if !admitted {
					continue
				}
				if got := post(t, h, body(n.Hex)); got.status != 401 || got.fields(t)["message"] != n.Error {
					t.Errorf("%s: %d %v, want %q", n.Name, got.status, got.fields(t), n.Error)
				}
			}
			for _, e := range v.Envelopes {
				got := post(t, h, body(e.Hex))
				text := fmt.Sprint(got.fields(t)["message"])
				switch {
				case !admitted && (got.status != 401 || text != "Action timestamp is outside allowed window"),
					admitted && got.status != 200 && got.status != 400 && got.status != 404,
					admitted && e.Action == "ListAgents" && got.status != 200:
					t.Errorf("%s: %d %s", e.Action, got.status, text)
				}
			}
		})
	}
}

func TestAnUpgradeThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	full := map[string]string{
		"Upgrade": "websocket", "Connection": "keep-alive, Upgrade", "Sec-WebSocket-Version": "13",
		"Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
	}
	for name, value := range map[string]string{
		"Upgrade": "h2c", "Connection": "close", "Sec-WebSocket-Version": "12", "Sec-WebSocket-Key": "short",
	} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", h.URL+wire.SocketPath, nil)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range full {
			req.Header.Set(k, v)
		}
		req.Header.Set(name, value)
		transport := &http.Transport{}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if _, err := text.ReadFrom(resp.Body); err != nil || resp.StatusCode != 400 || text.String() != "WebSocket upgrade failed" {
			t.Errorf("%s: %s: %d %q %v", name, value, resp.StatusCode, text.String(), err)
		}
		_ = resp.Body.Close()
		transport.CloseIdleConnections()
	}
}
