package self_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/space/self"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, storetest.Leaks()) }

func TestSelfIsTheAgentsRecordAndNothingElse(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		scheme := self.New(s, func() []string { return []string{"search"} })
		var def wire.AgentDefinition
		if err := json.Unmarshal([]byte(`{"name":"Ada","systemPrompt":[{"block":{"id":"b","type":"Paragraph","text":"Be kind."}}],"model":"m-1","modelProvider":"p","reasoningLevel":"low",
			"tools":["search","nothing"],"metadata":{"icon":"x"},"signingKey":"press","signingKeys":["desk"]}`), &def); err != nil {
			t.Fatal(err)
		}
		out, err := scheme.Read(t.Context(), space.Scope{Account: "account", Agent: "agent", Definition: def}, space.ReadRequest{Address: "~/self"})
		if err != nil {
			t.Fatal(err)
		}
		// The set of fields is closed: whoever adds one decides here that it is no secret.
		want := []string{"agentId", "delegation", "grants", "guidance", "memory", "metadata", "model", "modelProvider", "name", "reasoningLevel",
			"sessionCount", "signingKeys", "summary", "systemPrompt"}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(out))); diff != "" {
			t.Errorf("fields (-want +got):\n%s", diff)
		}
		b, err := json.Marshal(map[string]any{"grants": out["grants"], "memory": out["memory"], "prompt": out["systemPrompt"], "n": out["sessionCount"], "keys": out["signingKeys"], "delegation": out["delegation"]})
		if err != nil || string(b) != `{"delegation":{"maxChildren":10,"maxDepth":3,"thoroughness":"normal"},"grants":{"callableTools":["search"],"mcpServers":[],"publish":false},"keys":["desk","press"],"memory":{"topLevel":[],"totalFiles":0},"n":0,"prompt":"Be kind."}` {
			t.Errorf("the record is %s, %v", b, err)
		}
	})
}

func TestSelfIsOneAddressWithoutOptionsAndNeedsAnAgent(t *testing.T) {
	t.Parallel()
	scheme := self.New(nil, func() []string { return nil })
	for address, want := range map[string]bool{"~/self": true, "~/self/": true, "~/self/x": false, "~/selfish": false} {
		if got := scheme.Serves(address); got != want {
			t.Errorf("Serves(%q) = %v", address, got)
		}
	}
	if _, err := scheme.Read(t.Context(), space.Scope{Agent: "a"}, space.ReadRequest{Options: map[string]any{"x": 1}}); fault.CodeOf(err) != fault.ValidationFailed {
		t.Errorf("with an option: %v", err)
	}
	if _, err := scheme.Read(t.Context(), space.Scope{}, space.ReadRequest{}); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("without an agent: %v", err)
	}
}
