package signed_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, storetest.Leaks()) }

// each runs a test on both databases.
func each(t *testing.T, fn func(t *testing.T, cfg server.Config)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		fn(t, server.Config{})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		fn(t, server.Config{DatabaseURL: storetest.PostgresURL(t)})
	})
}

func key(t testing.TB, fill byte) *principal.Key {
	t.Helper()
	k, err := principal.NewKey(bytes.Repeat([]byte{fill}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// sign is an envelope of an action at the present time.
func sign(t testing.TB, k *principal.Key, action map[string]any) []byte {
	t.Helper()
	if action["ts"] == nil {
		action["ts"] = time.Now().UnixMilli()
	}
	body, err := wire.Sign(k, k.ID(), action, wire.SignOptions{Protocol: wire.ProtocolNumber})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// answer is a response that was read whole.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) fields(t testing.TB) map[string]any {
	t.Helper()
	var out map[string]any
	if err := dagcbor.Unmarshal(a.body, &out); err != nil {
		t.Fatalf("answer %d is not CBOR: %v: %q", a.status, err, a.body)
	}
	return out
}

func request(t testing.TB, method, url, media string, body io.Reader) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	if media != "" {
		req.Header.Set("Content-Type", media)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, raw}
}

func post(t testing.TB, h *servertest.Harness, body []byte) answer {
	t.Helper()
	return request(t, http.MethodPost, h.URL+"/api/message", wire.MediaType, bytes.NewReader(body))
}

// socket is a raw connection to the stream.
type socket struct {
	*websocket.Conn
	t testing.TB
}

// dial connects and takes the connected frame. The socket speaks one of the subprotocols, or none.
func dial(t testing.TB, h *servertest.Harness, subprotocols ...string) *socket {
	t.Helper()
	transport := &http.Transport{}
	conn, resp, err := websocket.Dial(t.Context(), strings.Replace(h.URL, "http", "ws", 1)+wire.SocketPath,
		&websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}, Subprotocols: subprotocols})
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.Header.Get(wire.ProtocolHeader); got != "3" {
		t.Errorf("the upgrade says protocol %q", got)
	}
	conn.SetReadLimit(64 << 20)
	t.Cleanup(func() {
		_ = conn.CloseNow()
		transport.CloseIdleConnections()
	})
	s := &socket{conn, t}
	if f := s.next(); f["_"] != "connected" || f["connectedAt"] == nil || len(f) != 2 {
		t.Fatalf("the first frame is %v", f)
	}
	return s
}

// next reads one frame, which must be JSON text, or CBOR when that was chosen.
func (s *socket) next() map[string]any {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	kind, data, err := s.Read(ctx)
	if err != nil {
		s.t.Fatalf("read frame: %v", err)
	}
	var f map[string]any
	decode, want := json.Unmarshal, websocket.MessageText
	if s.Subprotocol() == wire.StreamCBOR {
		decode, want = dagcbor.Unmarshal, websocket.MessageBinary
	}
	if err := decode(data, &f); err != nil || kind != want {
		s.t.Fatalf("frame %v: %v: %q", kind, err, data)
	}
	return f
}

// until reads frames until one is accepted and returns all of them.
func (s *socket) until(accept func(f map[string]any) bool) []map[string]any {
	s.t.Helper()
	var out []map[string]any
	for {
		f := s.next()
		out = append(out, f)
		if accept(f) {
			return out
		}
	}
}

func (s *socket) send(body []byte) {
	s.t.Helper()
	if err := s.Write(s.t.Context(), websocket.MessageBinary, body); err != nil {
		s.t.Fatal(err)
	}
}

// subscribe asks for a key and takes the subscribed frame.
func (s *socket) subscribe(k *principal.Key, key string, after any) {
	s.t.Helper()
	action := map[string]any{"_": "Subscribe", "key": key}
	if after != nil {
		action["afterSeq"] = after
	}
	s.send(sign(s.t, k, action))
	if f := s.next(); f["_"] != "subscribed" || f["key"] != key || f["accountId"] != k.ID().String() {
		s.t.Fatalf("answer to a subscription of %s: %v", key, f)
	}
}

// signRaw signs any action, also one that wire.Sign refuses, with more envelope keys.
func signRaw(t testing.TB, k *principal.Key, action any, more map[string]any) []byte {
	t.Helper()
	fields := map[string]any{"type": wire.EnvelopeType, "account": k.ID().Bytes(), "action": action}
	for name, v := range more {
		fields[name] = v
	}
	body, err := principal.SignBlob(k, fields)
	if err != nil {
		t.Fatal(err)
	}
	return body
}
