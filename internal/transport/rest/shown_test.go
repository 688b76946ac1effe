package rest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/operation"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

func TestAnAgentIsReadWithItsInstructionsAsMarkdown(t *testing.T) {
	t.Parallel()
	w := build(t, server.Config{})
	const written = "# Notes\n\nTake **short** notes:\n\n- one line each\n- with a `date`"
	id := servertest.Post[struct{ AgentID string }](w.api, "/agents", object{"definition": definition(object{"systemPrompt": written})}).AgentID
	if got := servertest.Get[operation.AgentShown](w.api, "/agents/"+id); got.SystemPromptMarkdown != written || got.Agent.ID != id {
		t.Errorf("%q of agent %q, want %q", got.SystemPromptMarkdown, got.Agent.ID, written)
	}
}

func TestTheTypesOfProvidersAreListed(t *testing.T) {
	t.Parallel()
	got := servertest.Get[wire.ListProviderTypesResponse](build(t, server.Config{}).api, "/provider-types").Types
	byName := map[string]wire.ProviderTypeInfo{}
	for _, kind := range got {
		byName[kind.Name] = kind
	}
	for _, want := range []wire.ProviderTypeInfo{
		{Name: "anthropic", Label: "Anthropic", NeedsKey: true, TakesKey: true},
		{Name: "ollama", Label: "Ollama", TakesKey: true, CustomURL: true, BaseURL: "http://localhost:11434"},
		{Name: "custom", Label: "OpenAI-compatible", TakesKey: true, CustomURL: true},
		{Name: "tutor", Label: "Tutor"},
	} {
		if byName[want.Name] != want {
			t.Errorf("%s is %+v, want %+v", want.Name, byName[want.Name], want)
		}
	}
}

func TestARunNamesTheModelItWasExecutedOn(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg)
		session := w.session(t)
		events, _ := w.api.Stream("/stream")
		servertest.UntilEvent(t, events, "caught_up")
		servertest.Post[object](w.api, "/sessions/"+session+"/messages", text("one"))
		// What the agent and the session use afterwards changes nothing of it.
		w.api.Do("PATCH", "/api/v1/sessions/"+session, object{"modelOverride": object{"provider": "scripted", "model": "another"}})
		servertest.Post[object](w.api, "/sessions/"+session+"/messages", text("two"))
		got := servertest.Get[wire.FindRunsResponse](w.api, "/runs?sessionId="+session).Runs
		if len(got) != 2 || got[1].Provider != "scripted" || got[1].Model != "scripted-1" || got[0].Provider != "scripted" || got[0].Model != "another" {
			t.Errorf("the runs are %+v", got)
		}
		for {
			seen := servertest.UntilEvent(t, events, "run")
			var run wire.RunInfo
			if err := json.Unmarshal([]byte(seen[len(seen)-1].Data), &run); err != nil {
				t.Fatal(err)
			}
			if run.Status == "succeeded" {
				if run.Model != "scripted-1" {
					t.Errorf("it is announced as %+v", run)
				}
				break
			}
		}
	})
}

func TestAFailedRunNamesItsModelToo(t *testing.T) {
	t.Parallel()
	w := build(t, server.Config{}, scripted.Turn{Status: 401, ErrorMessage: "no"})
	session := w.session(t)
	w.api.Do("POST", "/api/v1/sessions/"+session+"/messages", text("one"))
	got := servertest.Get[wire.FindRunsResponse](w.api, "/runs?sessionId="+session).Runs
	if len(got) != 1 || got[0].Status != "failed" || got[0].Model != "scripted-1" {
		t.Errorf("the runs are %+v", got)
	}
}

func TestModelsAreListedWithWhatTheCatalogueKnows(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "models.json")
	const facts = `{"models":[{"provider":"custom","id":"scripted-1","contextWindow":5000,"price":{"input":1,"output":2,"cacheRead":0.1,"cacheWrite":1.25}}]}`
	if err := os.WriteFile(file, []byte(facts), 0o600); err != nil {
		t.Fatal(err)
	}
	for models, window := range map[string]int64{file: 5000, "": 0} {
		w := build(t, server.Config{ModelsFile: models})
		got := servertest.Get[operation.ModelsShown](w.api, "/providers/scripted/models").Models
		if len(got) != 1 || got[0].ID != "scripted-1" || got[0].ContextWindow != window || (got[0].Price != nil) != (window > 0) {
			t.Errorf("with the file %q: %+v", models, got)
		}
	}
}
