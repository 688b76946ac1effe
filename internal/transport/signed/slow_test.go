package signed_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/operation"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/internal/transport/signed"
	"github.com/loam-agents/loam/wire"
)

// newHandler is the transport alone, on a real store and bus, so that a test can publish what no real turn is fast enough to.
func newHandler(t *testing.T, change func(*signed.Options)) (url string, b *bus.Local) {
	t.Helper()
	b = bus.NewLocal()
	o := signed.Options{
		Operations: operation.New(operation.Options{Store: storetest.SQLite(t), Policy: account.Policy{Open: true}, Clock: clock.System{}}),
		Bus:        b, Clock: clock.System{}, IDs: id.Sequence(),
	}
	if change != nil {
		change(&o)
	}
	s := signed.New(o)
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		s.Close(ctx)
		server.Close()
	})
	return server.URL, b
}

func TestASlowConsumerIsClosedAndDelaysNobody(t *testing.T) {
	t.Parallel()
	url, b := newHandler(t, nil)
	k := key(t, 1)
	topic := "account/" + k.ID().String()
	open := func() *socket {
		transport := &http.Transport{}
		conn, _, err := websocket.Dial(t.Context(), strings.Replace(url, "http", "ws", 1)+wire.SocketPath,
			&websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
		if err != nil {
			t.Fatal(err)
		}
		conn.SetReadLimit(1 << 20)
		t.Cleanup(func() {
			_ = conn.CloseNow()
			transport.CloseIdleConnections()
		})
		s := &socket{conn, t}
		s.next()
		s.subscribe(k, topic, nil)
		return s
	}
	slow, quick := open(), open()
	filler := strings.Repeat("x", 2<<10)
	// More than a mailbox and the buffers of a connection hold. The quick one confirms as it goes.
	const frames, window = bus.MaxPending + 8192, 256
	for i := range frames {
		b.Publish(bus.New(topic, wire.Frame{Kind: wire.FrameChange, Value: map[string]any{"n": i, "x": filler}}))
		if i%window != window-1 {
			continue
		}
		for j := i - window + 1; j <= i; j++ {
			if _, raw, err := quick.Read(t.Context()); err != nil || !bytes.Contains(raw[:200], fmt.Appendf(nil, `{"n":%d,`, j)) {
				t.Fatalf("the quick consumer got %.200q, %v; want %d", raw, err, j)
			}
		}
	}
	for {
		if _, _, err := slow.Read(t.Context()); err != nil {
			if got := websocket.CloseStatus(err); got != signed.CloseTooSlow {
				t.Errorf("the slow consumer was closed with %d: %v", got, err)
			}
			return
		}
	}
}

func TestAnOldProtocolIsToldToUpdateBeforeAnythingElse(t *testing.T) {
	t.Parallel()
	url, _ := newHandler(t, func(o *signed.Options) { o.MinProtocol = 2 })
	for protocol, want := range map[any]int{1: 426, "2": 426, 2: 200, 9: 200} {
		body := signRaw(t, key(t, 1), map[string]any{"_": "ListAgents", "ts": time.Now().UnixMilli()}, map[string]any{"protocol": protocol})
		got := request(t, "POST", url+"/api/message", wire.MediaType, bytes.NewReader(body))
		f := got.fields(t)
		if got.status != want || want == 426 && (f["code"] != "protocol_too_old" || f["message"] != wire.MsgProtocolTooOld) {
			t.Errorf("protocol %v: %d %v", protocol, got.status, f)
		}
	}
}

func TestADefectIs500WithHeadersAndSaysNothing(t *testing.T) {
	t.Parallel()
	// Without models the handler fails in the middle of its work.
	url, _ := newHandler(t, nil)
	got := request(t, "POST", url+"/api/message", wire.MediaType, bytes.NewReader(sign(t, key(t, 1), map[string]any{
		"_": "ListProviderModels", "provider": "x",
	})))
	if f := got.fields(t); got.status != 500 || fmt.Sprint(f) != "map[_:Error message:Internal server error]" ||
		got.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("%d %v %v", got.status, f, got.header)
	}
}
