package rest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/loam-agents/loam/internal/operation"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
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
