package webhook_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/internal/trigger"
	"github.com/loam-agents/loam/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, storetest.Leaks()) }

type object = map[string]any

// post sends a delivery.
func post(t *testing.T, url, body string, headers map[string]string) (status int, answer object, header http.Header) {
	t.Helper()
	return send(t, http.MethodPost, url, body, headers)
}

func send(t *testing.T, method, url, body string, headers map[string]string) (status int, answer object, header http.Header) {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatalf("%s: %d: %v", url, resp.StatusCode, err)
	}
	return resp.StatusCode, answer, resp.Header
}

func TestADeliveryReachesTheAgentAndARepetitionSaysSo(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]func() server.Config{
		"sqlite": func() server.Config { return server.Config{} }, "postgres": func() server.Config { return server.Config{DatabaseURL: storetest.PostgresURL(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := servertest.Start(t, cfg())
			m := servertest.Scripted(t, scripted.Turn{Repeat: true, Steps: []scripted.Step{{Text: "Noted."}}})
			agent := h.Agent(m)
			made := servertest.Call[wire.AgentTriggerResponse](h, "CreateAgentTrigger", object{"agentId": agent, "trigger": object{
				"name": "Orders", "prompt": "An order came.", "source": object{"type": "webhook"},
			}})
			if !strings.HasSuffix(made.WebhookURL, "/agents/api/webhooks/"+made.Trigger.ID+"/"+made.WebhookSecret) {
				t.Fatalf("the address is %q", made.WebhookURL)
			}
			frames := h.Watch(wire.KeyAccount+h.Key.ID().String(), 0)
			bare := h.URL + "/api/webhooks/" + made.Trigger.ID
			for i, c := range []struct {
				url     string
				headers map[string]string
				want    bool
			}{
				{h.URL + "/agents/api/webhooks/" + made.Trigger.ID + "/" + made.WebhookSecret, map[string]string{"Idempotency-Key": "one"}, false},
				{bare, map[string]string{"Idempotency-Key": "one", "Authorization": "Bearer " + made.WebhookSecret}, true},
			} {
				status, answer, _ := post(t, c.url, `{"order":7}`, c.headers)
				if status != http.StatusAccepted || answer["accepted"] != true || answer["duplicate"] != c.want {
					t.Errorf("delivery %d: %d %v", i, status, answer)
				}
			}
			servertest.Until(t, frames, func(f client.Frame) bool { return strings.Contains(string(f.Value), `"status":"succeeded"`) })
			got := servertest.Call[wire.GetAgentTriggerResponse](h, "GetAgentTrigger", object{"triggerId": made.Trigger.ID})
			if len(got.Firings) != 1 || len(got.Sessions) != 1 || got.WebhookSecret != made.WebhookSecret || got.Firings[0].Status != "created" {
				t.Fatalf("%+v", got)
			}
			read := servertest.Call[wire.GetSessionResponse](h, "GetSession", object{"sessionId": got.Sessions[0].ID})
			if read.TriggerContext == nil || !strings.Contains(string(read.TriggerContext.Activity), `"order": 7`) && !strings.Contains(string(read.TriggerContext.Activity), `"order":7`) {
				t.Errorf("the context of the session is %+v", read.TriggerContext)
			}
			if said := h.Events(got.Sessions[0].ID); len(said) != 2 || said[1].Content != "Noted." || said[0].Actor != "" || !strings.Contains(said[0].Content, "An order came.") {
				t.Errorf("the log is %+v", said)
			}
			if listed := servertest.Call[wire.ListSessionsResponse](h, "ListSessions", object{"excludeTriggered": true}); len(listed.Sessions) != 0 {
				t.Errorf("excludeTriggered leaves %+v", listed.Sessions)
			}
		})
	}
}

func TestWhatIsNoDeliveryIsRefused(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	m := servertest.Scripted(t)
	made := servertest.Call[wire.AgentTriggerResponse](h, "CreateAgentTrigger", object{"agentId": h.Agent(m), "trigger": object{
		"name": "Orders", "prompt": "An order came.", "source": object{"type": "webhook"},
	}})
	base := h.URL + "/agents/api/webhooks/"
	good := base + made.Trigger.ID + "/" + made.WebhookSecret
	for name, c := range map[string]struct {
		method, url, body string
		headers           map[string]string
		want              int
	}{
		"get":           {"GET", good, "", nil, 405},
		"unknown":       {"POST", base + "none/" + made.WebhookSecret, "{}", nil, 404},
		"wrong secret":  {"POST", base + made.Trigger.ID + "/x", "{}", nil, 404},
		"no secret":     {"POST", base + made.Trigger.ID, "{}", nil, 404},
		"more segments": {"POST", good + "/x", "{}", nil, 404},
		"media type":    {"POST", good, "{}", map[string]string{"Content-Type": "text/plain"}, 415},
		"coding":        {"POST", good, "{}", map[string]string{"Content-Encoding": "gzip"}, 415},
		"too large":     {"POST", good, `"` + strings.Repeat("x", trigger.MaxDelivery) + `"`, nil, 413},
		"no JSON":       {"POST", good, "{", nil, 400},
		"odd key":       {"POST", good, "{}", map[string]string{"Idempotency-Key": "a b"}, 400},
	} {
		status, answer, _ := send(t, c.method, c.url, c.body, c.headers)
		if text, ok := answer["error"].(string); status != c.want || !ok || text == "" || strings.Contains(text, made.WebhookSecret) {
			t.Errorf("%s: %d %v, want %d", name, status, answer, c.want)
		}
	}
	var last int
	var header http.Header
	for range trigger.DeliveryBurst + 1 {
		last, _, header = post(t, good, "1", nil)
	}
	if last != http.StatusTooManyRequests || header.Get("Retry-After") == "" {
		t.Errorf("too many: %d, Retry-After %q", last, header.Get("Retry-After"))
	}
}
