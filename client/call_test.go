package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

func TestNewDecidesWhereActionsMayGo(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		url     string
		options []client.Option
		ok      bool
	}{
		{"https://agents.example.org", nil, true},
		{"https://agents.example.org/agents/", nil, true},
		{" https://example.org/deep/agents ", nil, true},
		{"http://localhost:3050", nil, true},
		{"http://127.0.0.1:3050/agents", nil, true},
		{"http://[::1]:3050", nil, true},
		{"http://agents.example.org", []client.Option{client.WithPlainHTTP()}, true},
		{"http://agents.example.org", nil, false},
		{"http://10.0.0.1", nil, false},
		{"http://localhost.example.org", nil, false},
		{"ws://localhost", nil, false},
		{"localhost:3050", nil, false},
		{"https://", nil, false},
		{"https://user:pass@example.org", nil, false},
		{"https://example.org?x=1", nil, false},
		{"https://exa mple.org", nil, false},
		{"", nil, false},
	} {
		_, err := client.New(tc.url, testKey(t, 1), tc.options...)
		if (err == nil) != tc.ok {
			t.Errorf("New(%q): %v", tc.url, err)
		}
	}
	if _, err := client.New("https://example.org", nil); err == nil {
		t.Error("a client without key was made")
	}
}

func TestCallSignsTheRequestAndDecodesTheAnswer(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	type request struct {
		SessionID string `json:"sessionId"`
		Limit     int    `json:"limit,omitempty"`
		Data      []byte `json:"data"`
	}
	type reply struct {
		Type   string   `json:"_"`
		Titles []string `json:"titles"`
	}
	s.answer = func(e *wire.Envelope) (int, []byte) {
		if e.Name != "ListThings" || e.Action["sessionId"] != "s1" || string(e.Action["data"].([]byte)) != "\x00\x01" ||
			e.Protocol != wire.ProtocolNumber || e.TS != startTime.UnixMilli() || e.Signer != e.Account {
			t.Errorf("envelope %+v", e)
		}
		if _, sent := e.Action["limit"]; sent {
			t.Error("an empty field was sent")
		}
		return http.StatusOK, encode(t, reply{"ListThingsResponse", []string{"a", "b"}})
	}
	got, err := client.Call[reply](t.Context(), s.client(), "ListThings", request{SessionID: "s1", Data: []byte{0, 1}})
	if err != nil || got.Type != "ListThingsResponse" || len(got.Titles) != 2 {
		t.Errorf("Call = %+v, %v", got, err)
	}
}

func TestCallTakesNoRequestAndDoTakesAMap(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.answer = func(e *wire.Envelope) (int, []byte) {
		return http.StatusOK, encode(t, map[string]any{"_": e.Name + "Response", "fields": len(e.Action)})
	}
	c := s.client()
	for _, request := range []any{nil, (*struct{})(nil), map[string]any{}} {
		got, err := client.Call[map[string]any](t.Context(), c, "Ping", request)
		if err != nil || got["_"] != "PingResponse" || got["fields"] != int64(2) {
			t.Errorf("Call(%v) = %v, %v", request, got, err)
		}
	}
	action := map[string]any{"_": "Ping", "n": 1}
	got, err := c.Do(t.Context(), action)
	if err != nil || got["fields"] != int64(3) || len(action) != 2 {
		t.Errorf("Do = %v, %v; the action is now %v", got, err, action)
	}
	for _, request := range []any{"text", func() {}} {
		if _, err := client.Call[any](t.Context(), c, "Ping", request); err == nil {
			t.Errorf("a request of type %T was sent", request)
		}
	}
	if _, err := c.Do(t.Context(), map[string]any{"n": 1}); err == nil {
		t.Error("an action without name was sent")
	}
}

func TestRefusalsAreTypedAndKeepTheServersText(t *testing.T) {
	t.Parallel()
	refusal := func(message, code string) []byte {
		body, err := wire.EncodeError(message, code)
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	for name, tc := range map[string]struct {
		status int
		body   []byte
		want   client.Error
	}{
		"not found":            {404, refusal("Session not found", ""), client.Error{Status: 404, Message: "Session not found"}},
		"too old":              {426, refusal("x", "protocol_too_old"), client.Error{Status: 426, Message: "x", Code: "protocol_too_old"}},
		"an error with 200":    {200, refusal("odd", ""), client.Error{Status: 200, Message: "odd"}},
		"a proxy's page":       {502, []byte("<html>"), client.Error{Status: 502, Message: "The server answered 502 Bad Gateway"}},
		"nothing":              {500, nil, client.Error{Status: 500, Message: "The server answered 500 Internal Server Error"}},
		"message of odd type":  {400, encode(t, map[string]any{"message": 7}), client.Error{Status: 400, Message: "The server answered 400 Bad Request"}},
		"a redirect elsewhere": {302, nil, client.Error{Status: 302, Message: "The server answered 302 Found"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			s.answer = func(*wire.Envelope) (int, []byte) { return tc.status, tc.body }
			_, err := s.client().Do(t.Context(), map[string]any{"_": "X"})
			var refused *client.Error
			if !errors.As(err, &refused) || *refused != tc.want {
				t.Errorf("error %#v, want %#v", err, tc.want)
			}
		})
	}
}

func TestAnswersThatCannotBeReadAreErrors(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.answer = func(e *wire.Envelope) (int, []byte) {
		if e.Name == "Large" {
			return 200, make([]byte, 101)
		}
		return 200, []byte("<html>")
	}
	c := s.client(client.WithMaxResponse(100))
	if _, err := c.Do(t.Context(), map[string]any{"_": "Large"}); err == nil || !strings.Contains(err.Error(), "larger than 100") {
		t.Errorf("large answer: %v", err)
	}
	var syntax *dagcbor.SyntaxError
	if _, err := c.Do(t.Context(), map[string]any{"_": "Page"}); !errors.As(err, &syntax) {
		t.Errorf("no CBOR: %v", err)
	}
	if _, err := client.Call[struct{}](t.Context(), c, "Page", nil); !errors.As(err, &syntax) {
		t.Errorf("no CBOR: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Do(ended, map[string]any{"_": "Page"}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled context: %v", err)
	}
}

func TestDelegateSendsItsProof(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	account, device := testKey(t, 2), testKey(t, 1)
	blob, err := principal.NewCapability(account, principal.Capability{Delegate: device.ID(), Role: principal.RoleAgent, TS: 1})
	if err != nil {
		t.Fatal(err)
	}
	s.answer = func(e *wire.Envelope) (int, []byte) {
		if e.Account != account.ID() || e.Signer != device.ID() {
			t.Errorf("signer %v for %v", e.Signer, e.Account)
		}
		if e.Name == "Proven" {
			if _, err := principal.VerifyDelegation(e.CapabilityBlob, e.Capability, e.Account, e.Signer); err != nil {
				t.Errorf("proof: %v", err)
			}
		} else if e.Capability != "" {
			t.Error("a registered signer sent a proof")
		}
		return 200, encode(t, map[string]any{})
	}
	proven := s.client(client.WithCapability(account.ID(), blob))
	if _, err := proven.Do(t.Context(), map[string]any{"_": "Proven"}); err != nil || proven.Account() != account.ID() {
		t.Error(err)
	}
	if _, err := s.client(client.WithAccount(account.ID())).Do(t.Context(), map[string]any{"_": "Registered"}); err != nil {
		t.Error(err)
	}
}

func TestHealthReadsWhatTheServerSays(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	h, err := s.client(client.WithHTTPClient(&http.Client{})).Health(t.Context())
	if err != nil || h.Status != "ok" || h.Protocol != 2 || !h.WebTools.Search || h.CodeExec || h.CodeExecReason != "off" {
		t.Errorf("Health = %+v, %v", h, err)
	}
	elsewhere, err := client.New(s.url+"/other", testKey(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	var refused *client.Error
	if _, err := elsewhere.Health(t.Context()); !errors.As(err, &refused) || refused.Status != 404 {
		t.Errorf("no server there: %v", err)
	}
}

func TestEqualActionsOfOneMillisecondAreNotTheSameBytes(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[int64]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		fields, err := wire.DecodeEnvelope(body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		seen[fields["action"].(map[string]any)["ts"].(int64)] = true
		answer, err := dagcbor.Marshal(map[string]any{"_": "ListAgentsResponse", "agents": []any{}})
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", wire.MediaType)
		_, _ = w.Write(answer)
	}))
	t.Cleanup(server.Close)
	key, err := principal.Generate(nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(server.URL, key, client.WithClock(clock.NewFake(startTime)))
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, err := c.Do(t.Context(), map[string]any{"_": "ListAgents"}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if len(seen) != 20 {
		t.Errorf("20 equal actions carried %d timestamps", len(seen))
	}
}
