package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/admin"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

// get asks under a name and returns status and body. The connection is not kept, so that a stopping server need not wait.
func get(t *testing.T, url, host string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host, req.Close = host, true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestWhatAServerDoesIsCounted(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		cfg.AdminListen = "127.0.0.1:0"
		h := servertest.Start(t, cfg)
		m := servertest.Scripted(t,
			scripted.Turn{Steps: []scripted.Step{{Text: "Hello."}}, Usage: model.Usage{Input: 11, Output: 3}},
			scripted.Turn{Status: 529, ErrorMessage: "overloaded"},
		)
		session := h.Session(h.Agent(m))
		frames := h.Watch("sessions/"+session, 0)
		events, _ := h.REST(h.Token()).Stream("/stream")
		servertest.UntilEvent(t, events, "caught_up")
		if _, err := h.Send(session, "hello"); err != nil {
			t.Fatal(err)
		}
		servertest.Until(t, frames, func(f client.Frame) bool { return f.Kind == wire.FrameAppend && f.Seq == 2 })
		if _, err := h.Send(session, "again"); err == nil {
			t.Fatal("the second turn did not fail")
		}
		if _, err := h.Do(t.Context(), map[string]any{"_": "Invented-4711"}); err == nil {
			t.Fatal("an invented action was carried out")
		}
		servertest.Call[wire.ProviderResponse](h, "SetModelProvider", map[string]any{"name": "house", "provider": map[string]any{"type": "ollama"}})

		// Whoever goes away while a turn runs is no error of the server.
		impatient, leave := context.WithCancel(t.Context())
		m.Push(scripted.Turn{Steps: []scripted.Step{{Text: "It takes"}, {Gate: "long"}}})
		left := make(chan error, 1)
		go func() {
			_, err := client.Call[wire.MessageSessionResponse](impatient, h.Client, "MessageSession", map[string]any{
				"sessionId": session, "content": []any{map[string]any{"type": "text", "text": "wait"}},
			})
			left <- err
		}()
		<-m.Reached("long")
		leave()
		<-left
		for text := ""; !strings.Contains(text, `status="499"`); {
			_, text = get(t, h.Admin+"/metrics", "")
		}
		m.Open("long")
		servertest.Until(t, frames, func(f client.Frame) bool { return f.Kind == wire.FrameAppend && f.Seq == 6 })

		// The last turn is counted a moment after its answer was announced.
		status, text := get(t, h.Admin+"/metrics", "")
		for !strings.Contains(text, "loam_runs_executing 0") || !strings.Contains(text, `loam_turn_duration_seconds_count{status="succeeded"} 2`) {
			status, text = get(t, h.Admin+"/metrics", "")
		}
		if status != http.StatusOK {
			t.Fatalf("metrics: %d %s", status, text)
		}
		for _, line := range []string{
			`loam_build_info{commit=".*",version=".*"} 1`,
			`loam_draining 0`,
			`loam_frames_sent_total [1-9]\d*`,
			`loam_http_requests_total{method="POST",route="/api/message",status="200"} [1-9]\d*`,
			`loam_model_calls_total{outcome="ok",provider="custom"} 2`,
			`loam_model_calls_total{outcome="overloaded",provider="custom"} 1`,
			`loam_model_tokens_total{kind="input",provider="custom"} 11`,
			`loam_operations_total{code="ok",name="MessageSession",transport="http"} 1`,
			`loam_operations_total{code="canceled",name="MessageSession",transport="http"} 1`,
			`loam_http_requests_total{method="POST",route="/api/message",status="499"} 1`,
			`loam_streams_open 1`,
			`loam_stream_events_sent_total [1-9]\d*`,
			`loam_operations_total{code="provider_error",name="MessageSession",transport="http"} 1`,
			`loam_operations_total{code="validation_failed",name="unknown",transport="http"} 1`,
			`loam_run_queue_wait_seconds_count{lane="interactive"} 3`,
			`loam_runs_executing 0`,
			`loam_runs_finished_total{code="provider-error",kind="agent",status="failed"} 1`,
			`loam_sockets_open 1`,
			`loam_store_commit_duration_seconds_count [1-9]\d*`,
			`loam_store_commits_total [1-9]\d*`,
			`loam_turn_duration_seconds_count{status="succeeded"} 2`,
			`loam_vault_failures_total 0`,
			`go_goroutines \d+`,
			`process_open_fds \d+`,
		} {
			if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(text) {
				t.Errorf("no line %s in\n%s", line, text)
			}
		}
		if strings.Contains(text, "4711") || strings.Contains(text, session) {
			t.Error("a name or an id that a caller chose is a label")
		}
	})
}

func TestTheAdminListenerTellsWhetherTheServerCanWork(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{AdminListen: "127.0.0.1:0"})
	for path, want := range map[string]int{"/livez": 200, "/readyz": 200, "/debug/pprof/": 200, "/debug/pprof/heap": 200, "/debug/pprof/cmdline": 404, "/": 404} {
		if status, body := get(t, h.Admin+path, ""); status != want {
			t.Errorf("%s: %d, want %d: %s", path, status, want, body)
		}
	}
	if status, _ := get(t, h.Admin+"/metrics", "evil.example:80"); status != http.StatusMisdirectedRequest {
		t.Errorf("under another machine's name: %d", status)
	}
	for _, name := range []string{"localhost:1", "127.0.0.1", "[::1]:9"} {
		if status, _ := get(t, h.Admin+"/livez", name); status != http.StatusOK {
			t.Errorf("under the name %s: %d", name, status)
		}
	}
	if status, _ := get(t, h.URL+"/metrics", ""); status != http.StatusNotFound {
		t.Errorf("the public address tells metrics: %d", status)
	}
}

func TestAStoppingServerSaysFirstThatItIsNotReady(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{AdminListen: "127.0.0.1:0"})
	m := servertest.Scripted(t, scripted.Turn{Steps: []scripted.Step{{Text: "It takes"}, {Gate: "long"}, {Text: " long."}}})
	session := h.Session(h.Agent(m))
	answered := make(chan error, 1)
	go func() {
		_, err := h.Send(session, "hello")
		answered <- err
	}()
	<-m.Reached("long")
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		h.Stop()
	}()
	var health admin.Health
	for health.Status != "unavailable" {
		_, body := get(t, h.Admin+"/readyz", "")
		if err := json.Unmarshal([]byte(body), &health); err != nil {
			t.Fatal(err)
		}
	}
	if c := health.Checks[0]; c.Name != "draining" || c.OK || c.Reason != "the server is stopping" {
		t.Errorf("readyz says %+v", health)
	}
	_, text := get(t, h.Admin+"/metrics", "")
	for _, line := range []string{"loam_draining 1", "loam_runs_executing 1", `loam_runs{lane="interactive",status="(claimed|running)"} 1`} {
		if !regexp.MustCompile("(?m)^" + line + "$").MatchString(text) {
			t.Errorf("metrics do not say %s", line)
		}
	}
	m.Open("long")
	if err := <-answered; err != nil {
		t.Errorf("the turn that ended in time was answered with %v", err)
	}
	<-stopped
	if conn, err := net.Dial("tcp", strings.TrimPrefix(h.Admin, "http://")); err == nil {
		_ = conn.Close()
		t.Error("the admin listener outlives the server")
	}
}

func TestAServerThatIsNotReadyGoesOnForTheTimeOfTheDelay(t *testing.T) {
	t.Parallel()
	hands := clock.NewFake(time.Now())
	h := servertest.Start(t, server.Config{AdminListen: "127.0.0.1:0", DrainDelay: time.Hour, Clock: hands})
	session := h.Session(servertest.Call[wire.ListAgentsResponse](h, "ListAgents", nil).Agents[0].ID)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		h.Stop()
	}()
	for status := http.StatusOK; status == http.StatusOK; {
		status, _ = get(t, h.Admin+"/readyz", "")
	}
	if _, err := h.Send(session, "hello"); err != nil {
		t.Errorf("a message to a server that is not ready: %v", err)
	}
	for {
		hands.Advance(time.Hour)
		select {
		case <-stopped:
			return
		case <-hands.Waiting():
		}
	}
}

func TestTheAdminListenerStaysOnThisMachineUnlessAllowed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cfg  server.Config
		want string
	}{
		{server.Config{AdminListen: "127.0.0.1:0"}, ""},
		{server.Config{AdminListen: "localhost:0"}, ""},
		{server.Config{AdminListen: "0.0.0.0:9100"}, "--admin-remote"},
		{server.Config{AdminListen: ":9100"}, "--admin-remote"},
		{server.Config{AdminListen: "0.0.0.0:9100", AdminRemote: true}, ""},
		{server.Config{AdminListen: "9100"}, "HOST:PORT"},
	} {
		err := c.cfg.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("admin listener on %s, remote %v: %v", c.cfg.AdminListen, c.cfg.AdminRemote, err)
		}
	}
}
