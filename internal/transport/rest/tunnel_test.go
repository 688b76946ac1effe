package rest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/internal/transport/rest"
)

// tunnel is the page's end of one.
type tunnel struct {
	*websocket.Conn
	t *testing.T
}

// told is a message of the server.
type told struct {
	ID     int64
	Status int
	Type   string
	Data   string
	End    bool
}

func dialTunnel(t *testing.T, h *servertest.Harness, header http.Header) (*tunnel, *http.Response) {
	t.Helper()
	transport := &http.Transport{}
	conn, resp, err := websocket.Dial(t.Context(), strings.Replace(h.URL, "http", "ws", 1)+rest.TunnelPath,
		&websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}, HTTPHeader: header})
	t.Cleanup(transport.CloseIdleConnections)
	if err != nil {
		return nil, resp
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	return &tunnel{conn, t}, resp
}

func (c *tunnel) ask(what object) {
	c.t.Helper()
	body, err := json.Marshal(what)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.Write(c.t.Context(), websocket.MessageText, body); err != nil {
		c.t.Fatal(err)
	}
}

// until reads messages until one is accepted.
func (c *tunnel) until(accept func(told) bool) told {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	for {
		_, data, err := c.Read(ctx)
		if err != nil {
			c.t.Fatal(err)
		}
		var m told
		if err := json.Unmarshal(data, &m); err != nil {
			c.t.Fatal(err)
		}
		if accept(m) {
			return m
		}
	}
}

func bearer(h *servertest.Harness) http.Header {
	return http.Header{"Authorization": {"Bearer " + h.Token()}}
}

func TestOneTunnelCarriesManyStreams(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg)
		one, two := w.session(t), w.session(t)
		c, _ := dialTunnel(t, w.h, bearer(w.h))
		for id, path := range map[int64]string{1: "/stream", 2: "/sessions/" + one + "/stream", 3: "/sessions/" + two + "/stream?afterSeq=0"} {
			c.ask(object{"open": id, "path": path})
			if m := c.until(func(m told) bool { return m.ID == id }); m.Status != http.StatusOK || m.Type != "text/event-stream" {
				t.Errorf("%s begins with %+v", path, m)
			}
			c.until(func(m told) bool { return m.ID == id && strings.HasPrefix(m.Data, "event: caught_up\n") })
		}
		servertest.Post[object](w.api, "/sessions/"+two+"/messages", text("hi"))
		c.until(func(m told) bool { return m.ID == 3 && strings.HasPrefix(m.Data, "event: done\n") })
		// One that is left ends, and its number is free again; one that does not exist is refused as on its route.
		c.ask(object{"close": 3})
		c.until(func(m told) bool { return m.ID == 3 && m.End })
		c.ask(object{"open": 3, "path": "/sessions/none/stream"})
		if m := c.until(func(m told) bool { return m.ID == 3 }); m.Status != http.StatusNotFound || m.Type != "application/problem+json" {
			t.Errorf("a session that is none: %+v", m)
		}
		if m := c.until(func(m told) bool { return m.ID == 3 }); !strings.Contains(m.Data, "Session not found") {
			t.Errorf("its refusal says %+v", m)
		}
		c.until(func(m told) bool { return m.ID == 3 && m.End })
		w.api.Do("DELETE", "/api/v1/sessions/"+one, nil)
		c.until(func(m told) bool { return m.ID == 2 && m.Data == "event: end\ndata: {\"reason\":\"deleted\"}\n\n" })
		w.h.Stop()
		if _, _, err := c.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
			for err == nil {
				_, _, err = c.Read(t.Context())
			}
			if websocket.CloseStatus(err) != websocket.StatusGoingAway {
				t.Errorf("the tunnel of a server that stops ends with %v", err)
			}
		}
	})
}

func TestATunnelEndsWithItsCredential(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	made := servertest.Post[struct {
		Token string
		Info  struct{ ID string }
	}](h.REST(h.Token()), "/tokens", object{"name": "x", "scopes": []string{"read"}})
	c, _ := dialTunnel(t, h, http.Header{"Authorization": {"Bearer " + made.Token}})
	c.ask(object{"open": 1, "path": "/stream"})
	c.until(func(m told) bool { return strings.HasPrefix(m.Data, "event: caught_up\n") })
	h.REST(h.Token()).Do("DELETE", "/api/v1/tokens/"+made.Info.ID, nil)
	c.until(func(m told) bool { return m.Data == "event: end\ndata: {\"reason\":\"revoked\"}\n\n" })
	c.until(func(m told) bool { return m.End })
	c.ask(object{"open": 1, "path": "/stream"})
	if m := c.until(func(told) bool { return true }); m.Status != http.StatusUnauthorized {
		t.Errorf("after it was revoked: %+v", m)
	}
}

func TestOnlyThePageOfTheServerOpensATunnelWithACookie(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	cookie := h.Browser().With("X", "x").Header.Get("Cookie")
	for name, c := range map[string]struct {
		header http.Header
		status int
	}{
		"nobody":         {http.Header{}, http.StatusUnauthorized},
		"another origin": {http.Header{"Cookie": {cookie}, "Origin": {"https://evil.example"}}, http.StatusForbidden},
		"the page":       {http.Header{"Cookie": {cookie}, "Origin": {h.URL}}, http.StatusSwitchingProtocols},
	} {
		if _, resp := dialTunnel(t, h, c.header); resp == nil || resp.StatusCode != c.status {
			t.Errorf("%s: %v, want %d", name, resp, c.status)
		}
	}
}

func TestATunnelCarriesNothingElse(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	for name, body := range map[string]string{
		"another route": `{"open":1,"path":"/agents"}`, "no path": `{"open":1}`, "a path outside": `{"open":1,"path":"/../../openapi.json"}`,
		"itself": `{"open":1,"path":"/tunnel"}`, "no JSON": `x`, "nothing": `{}`, "a long message": strings.Repeat("x", 9<<10),
	} {
		c, _ := dialTunnel(t, h, bearer(h))
		if err := c.Write(t.Context(), websocket.MessageText, []byte(body)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusPolicyViolation && websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, _ := dialTunnel(t, h, bearer(h))
	for id := range int64(rest.MaxTunnelled) {
		c.ask(object{"open": id + 1, "path": "/stream"})
		c.until(func(m told) bool { return m.ID == id+1 && strings.HasPrefix(m.Data, "event: caught_up\n") })
	}
	c.ask(object{"open": rest.MaxTunnelled + 1, "path": "/stream"})
	for {
		if _, _, err := c.Read(t.Context()); err != nil {
			if websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
				t.Errorf("over the limit: %v", err)
			}
			return
		}
	}
}
