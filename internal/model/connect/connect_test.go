package connect_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/store/storetest"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, storetest.Leaks()) }

type object = map[string]any

// try carries out an action and returns how it was refused, zero when it was not.
func try[T any](t *testing.T, c *client.Client, name string, request object) (out T, status int, text string) {
	t.Helper()
	out, err := client.Call[T](t.Context(), c, name, request)
	if refused, ok := errors.AsType[*client.Error](err); ok {
		return out, refused.Status, refused.Message
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out, 0, ""
}

func configure(t *testing.T, c *client.Client, name string, provider object) {
	t.Helper()
	_, status, text := try[wire.ProviderResponse](t, c, "SetModelProvider", object{"name": name, "provider": provider})
	if status != 0 {
		t.Fatalf("configure %s: %d %s", name, status, text)
	}
}

func list(t *testing.T, c *client.Client, name string) (models []wire.ModelRef, status int, text string) {
	t.Helper()
	out, status, text := try[wire.ListProviderModelsResponse](t, c, "ListProviderModels", object{"provider": name})
	return out.Models, status, text
}

// agentOn is an agent on a provider's model.
func agentOn(h *servertest.Harness, provider, modelID string) string {
	return servertest.Call[wire.CreateAgentResponse](h, "CreateAgent", object{"definition": object{
		"name": "A", "systemPrompt": "x", "modelProvider": provider, "model": modelID,
	}}).AgentID
}

func TestATurnSpeaksTheDialectOfItsProvider(t *testing.T) {
	t.Parallel()
	m := servertest.Scripted(t, scripted.Turn{Repeat: true, Steps: []scripted.Step{{Text: "Yes."}}})
	// The operator's addresses replace those of the types.
	h := servertest.Start(t, server.Config{ProviderURLs: map[string]string{
		"anthropic": m.BaseURL(model.Anthropic), "google": m.BaseURL(model.Gemini), "openai": m.BaseURL(model.OpenAIResponses),
		"groq": m.BaseURL(model.OpenAIChat), "ollama": m.BaseURL(model.Ollama),
	}})
	servertest.Call[wire.SecretResponse](h, "SetSecret", object{"name": "key", "value": []byte(" key\n")})
	key := object{"apiKey": "key"}
	for i, c := range []struct {
		provider object
		modelID  string
		want     model.Dialect
	}{
		{object{"type": "anthropic", "secretRefs": key}, "claude-x", model.Anthropic},
		{object{"type": "google", "secretRefs": key}, "gemini-x", model.Gemini},
		{object{"type": "groq", "secretRefs": key}, "llama-x", model.OpenAIChat},
		{object{"type": "ollama"}, "llama-x", model.Ollama},
		{object{"type": "ollama", "baseUrl": m.BaseURL(model.OpenAIChat)}, "llama-x", model.OpenAIChat},
		{object{"type": "custom", "baseUrl": m.BaseURL(model.OpenAIChat)}, "x", model.OpenAIChat},
	} {
		name := fmt.Sprint("p", i)
		configure(t, h.Client, name, c.provider)
		before := len(m.Requests())
		if _, err := h.Send(h.Session(agentOn(h, name, c.modelID)), "hello"); err != nil {
			t.Errorf("%v: %v", c.provider, err)
			continue
		}
		requests := m.Requests()[before:]
		if len(requests) != 1 || requests[0].Dialect != c.want {
			t.Errorf("%v was asked in %v, want %s", c.provider, requests, c.want)
			continue
		}
		if auth := requests[0].Header.Get("Authorization"); c.want == model.OpenAIChat && c.provider["secretRefs"] != nil && auth != "Bearer key" {
			t.Errorf("the key travels as %q", auth)
		}
	}
}

func TestListingNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	m, err := scripted.New(scripted.Options{Script: scripted.Script{Models: []string{"a", "b"}, Key: "right"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	url := m.BaseURL(model.OpenAIChat)
	for name, value := range map[string]string{"right": "right", "wrong": "canary-wrong", "lines": "canary\nlines"} {
		servertest.Call[wire.SecretResponse](h, "SetSecret", object{"name": name, "value": []byte(value)})
	}
	custom := func(secret string) object {
		return object{"type": "custom", "baseUrl": url, "secretRefs": object{"apiKey": secret}}
	}
	for name, c := range map[string]struct {
		provider object
		status   int
		text     string
	}{
		"good":           {custom("right"), 0, ""},
		"no key":         {object{"type": "openai"}, 400, "openai API key is not configured"},
		"missing secret": {custom("none"), 400, `custom API key is not configured: there is no secret named "none"`},
		"wrong key":      {custom("wrong"), 502, "request failed: HTTP 401"},
		"odd key":        {custom("lines"), 400, `custom API key cannot be used: the secret "lines" holds line breaks or control characters`},
		"no service":     {object{"type": "custom", "baseUrl": "http://127.0.0.1:1/v1"}, 502, "cannot be reached"},
	} {
		configure(t, h.Client, name, c.provider)
		models, status, text := list(t, h.Client, name)
		if status != c.status || !strings.Contains(text, c.text) || strings.Contains(text, "canary") {
			t.Errorf("%s: %d %q, want %d %q", name, status, text, c.status, c.text)
		}
		if c.status == 0 && (len(models) != 2 || models[0].ID != "a" || models[0].Name == "") {
			t.Errorf("%s lists %v", name, models)
		}
	}
	if _, status, text := list(t, h.Client, "none"); status != 404 || text != "Model provider not found" {
		t.Errorf("an unknown provider: %d %s", status, text)
	}
}

func TestOnlyTheOwnersAddressesReachThisMachineWhenOthersAreInvited(t *testing.T) {
	t.Parallel()
	m := servertest.Scripted(t)
	cfg := server.Config{DataDir: t.TempDir()}
	guest, err := principal.Generate(nil)
	if err != nil {
		t.Fatal(err)
	}
	provider := object{"type": "custom", "baseUrl": m.BaseURL(model.OpenAIChat)}
	h := servertest.Start(t, cfg)
	configure(t, h.As(guest), "local", provider)
	if _, status, text := list(t, h.As(guest), "local"); status != 0 {
		t.Errorf("on an open server on loopback a guest's local model: %d %s", status, text)
	}
	h.Stop()
	cfg.Accounts = "invite"
	h = servertest.Start(t, cfg)
	configure(t, h.Client, "local", provider)
	if _, status, text := list(t, h.Client, "local"); status != 0 {
		t.Errorf("the owner's local model: %d %s", status, text)
	}
	if _, status, text := list(t, h.As(guest), "local"); status != 502 && status != 400 && status != 403 {
		t.Errorf("a guest's private address on an inviting server: %d %s", status, text)
	}
}

func TestAnOverrideWhoseProviderIsGoneFallsBackToTheAgents(t *testing.T) {
	t.Parallel()
	m := servertest.Scripted(t, scripted.Turn{Repeat: true, Steps: []scripted.Step{{Text: "Yes."}}})
	h := servertest.Start(t, server.Config{})
	session := h.Session(h.Agent(m))
	configure(t, h.Client, "other", object{"type": "custom", "baseUrl": m.BaseURL(model.OpenAIChat)})
	servertest.Call[wire.SessionResponse](h, "UpdateSession", object{
		"sessionId": session, "modelOverride": object{"provider": "other", "model": "override-1"},
	})
	models := func() string {
		if _, err := h.Send(session, fmt.Sprint("hello ", len(m.Requests()))); err != nil {
			t.Fatal(err)
		}
		var body struct{ Model string }
		if err := m.Requests()[len(m.Requests())-1].Decode(&body); err != nil {
			t.Fatal(err)
		}
		return body.Model
	}
	if got := models(); got != "override-1" {
		t.Errorf("with the override the model is %q", got)
	}
	servertest.Call[wire.NameResponse](h, "DeleteModelProvider", object{"name": "other"})
	if got := models(); got != "scripted-1" {
		t.Errorf("without its provider the model is %q", got)
	}
	cleared := servertest.Call[wire.SessionResponse](h, "UpdateSession", object{"sessionId": session, "modelOverride": nil})
	if cleared.Session.ModelOverride != nil {
		t.Errorf("null left %+v", cleared.Session.ModelOverride)
	}
}
