package agent_test

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/agent/prompt"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/wire"
)

// fields is a definition that is accepted, with changes; a change to nil removes the key.
func fields(changes map[string]any) map[string]any {
	out := map[string]any{"name": "Notes", "systemPrompt": "You take notes.", "modelProvider": "main", "model": "m1"}
	for k, v := range changes {
		if v == nil {
			delete(out, k)
			continue
		}
		out[k] = v
	}
	return out
}

func parse(t *testing.T, changes map[string]any) wire.AgentDefinition {
	t.Helper()
	d, err := agent.ParseDefinition(fields(changes))
	if err != nil {
		t.Fatalf("ParseDefinition: %v", err)
	}
	return d
}

func many(n int, item func(i int) any) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = item(i)
	}
	return out
}

func numbered(i int) any { return "n" + strconv.Itoa(i) }

func TestParseDefinitionNamesTheFirstProblem(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 257)
	block := map[string]any{"block": map[string]any{"id": "b", "type": "Heading", "text": strings.Repeat("x", prompt.MaxBytes)}}
	for name, c := range map[string]struct {
		changes map[string]any
		want    string
	}{
		"no name":                  {map[string]any{"name": nil}, "Agent name is required"},
		"blank name":               {map[string]any{"name": " \t "}, "Agent name is required"},
		"name is a number":         {map[string]any{"name": 7}, "Agent name is required"},
		"long name":                {map[string]any{"name": big}, "Agent name is too large"},
		"bytes count, not letters": {map[string]any{"name": strings.Repeat("ä", 129)}, "Agent name is too large"},
		"no prompt":                {map[string]any{"systemPrompt": nil}, "System prompt is required"},
		"blank prompt":             {map[string]any{"systemPrompt": "\n"}, "System prompt is required"},
		"prompt is a map":          {map[string]any{"systemPrompt": map[string]any{}}, "System prompt is required"},
		"long prompt":              {map[string]any{"systemPrompt": strings.Repeat("x", prompt.MaxBytes+1)}, "System prompt is too large"},
		"long Markdown of blocks":  {map[string]any{"systemPrompt": []any{block}}, "System prompt is too large"},
		"bad block":                {map[string]any{"systemPrompt": []any{1}}, "System prompt block is required"},
		"no provider":              {map[string]any{"modelProvider": nil}, "Model provider is required"},
		"no model":                 {map[string]any{"model": nil}, "Model is required"},
		"long model":               {map[string]any{"model": big}, "Model is too large"},
		"unknown level":            {map[string]any{"reasoningLevel": "huge"}, "Reasoning level is invalid"},
		"off is no stored level":   {map[string]any{"reasoningLevel": "off"}, "Reasoning level is invalid"},
		"unknown thoroughness":     {map[string]any{"thoroughness": "lazy"}, "Thoroughness is invalid"},
		"models are no list":       {map[string]any{"enabledModels": "x"}, "Enabled models must be a list"},
		"model without provider":   {map[string]any{"enabledModels": []any{map[string]any{"model": "m"}}}, "Enabled model provider is required"},
		"model without model":      {map[string]any{"enabledModels": []any{map[string]any{"provider": "m"}}}, "Enabled model is required"},
		"too many models": {map[string]any{"enabledModels": many(33, func(i int) any {
			return map[string]any{"provider": "p", "model": numbered(i)}
		})}, "Too many enabled models: at most 32"},
		"too many tools":     {map[string]any{"tools": many(33, numbered)}, "Too many tools: at most 32"},
		"long tool":          {map[string]any{"tools": []any{big[:129]}}, "Tool name is too large"},
		"blank tool":         {map[string]any{"tools": []any{" "}}, "Tool name is required"},
		"tools are no list":  {map[string]any{"tools": "search"}, "Tools must be a list"},
		"bad server":         {map[string]any{"mcpServers": []any{"Git Hub"}}, "MCP server name is invalid: Git Hub"},
		"too many servers":   {map[string]any{"mcpServers": many(17, numbered)}, "MCP servers are limited to 16"},
		"blank key":          {map[string]any{"signingKey": ""}, "Signing key is required"},
		"too many keys":      {map[string]any{"signingKeys": many(33, numbered)}, "Signing keys are limited to 32"},
		"metadata is a list": {map[string]any{"metadata": []any{}}, "Agent metadata is invalid"},
		"metadata with NaN":  {map[string]any{"metadata": map[string]any{"x": math.NaN()}}, "Agent metadata is invalid"},
		"approval is text":   {map[string]any{"toolApproval": "required"}, "Tool approval must be an object with default and tools"},
		"approval default":   {map[string]any{"toolApproval": map[string]any{"default": "ask"}}, "Tool approval default is invalid"},
		"approval of a tool": {map[string]any{"toolApproval": map[string]any{"tools": map[string]any{"pay": true}}}, "Tool approval of pay is invalid"},
		"approval of null":   {map[string]any{"toolApproval": map[string]any{"tools": map[string]any{"pay": nil}}}, "Tool approval of pay is invalid"},
		"approval list":      {map[string]any{"toolApproval": map[string]any{"tools": []any{"pay"}}}, "Tool approval tools must be an object of tool names and modes"},
		"many approvals":     {map[string]any{"toolApproval": map[string]any{"tools": gated(257)}}, "Tool approval names too many tools: at most 256"},
		"large metadata":     {map[string]any{"metadata": map[string]any{"x": strings.Repeat("x", 16<<10)}}, "Agent metadata is too large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := agent.ParseDefinition(fields(c.changes))
			if err == nil || err.Error() != c.want || fault.CodeOf(err) != fault.ValidationFailed {
				t.Errorf("error = %v, want %q", err, c.want)
			}
		})
	}
}

// gated are n tools that need an approval.
func gated(n int) map[string]any {
	out := map[string]any{}
	for i := range n {
		out[fmt.Sprintf("tool_%d", i)] = "required"
	}
	return out
}

func TestToolApprovalIsKeptUpToItsLimit(t *testing.T) {
	t.Parallel()
	d := parse(t, map[string]any{"toolApproval": map[string]any{"default": "never", "tools": gated(agent.MaxApprovals)}})
	if d.ToolApproval == nil || d.ToolApproval.Default != "never" || len(d.ToolApproval.Tools) != agent.MaxApprovals || d.ToolApproval.Tools["tool_7"] != "required" {
		t.Errorf("kept %+v", d.ToolApproval)
	}
	if d := parse(t, map[string]any{"toolApproval": map[string]any{}}); d.ToolApproval != nil {
		t.Errorf("an empty one is %+v", d.ToolApproval)
	}
}

func TestParseDefinitionNormalises(t *testing.T) {
	t.Parallel()
	d := parse(t, map[string]any{
		"name": "  Notes ", "reasoningLevel": "max", "thoroughness": "deep", "unknown": 1,
		"enabledModels": []any{
			map[string]any{"provider": "a", "model": "x"}, map[string]any{"provider": " a", "model": "x ", "more": 1},
			map[string]any{"provider": "b", "model": "x"},
		},
		"tools": []any{" search ", "publish"}, "mcpServers": []any{"github", "github"},
		"signingKey": " k ", "signingKeys": []any{"k", "l", "k"},
		"metadata": map[string]any{"n": int64(1), "f": 1.5, "deep": map[string]any{"list": []any{"x"}}},
	})
	d.SystemPrompt = nil
	want := wire.AgentDefinition{
		Name: "Notes", ModelProvider: "main", Model: "m1", ReasoningLevel: "max", Thoroughness: "deep",
		EnabledModels: []wire.ModelChoice{{Provider: "a", Model: "x"}, {Provider: "b", Model: "x"}},
		Tools:         &[]string{"search", "publish"}, McpServers: []string{"github"},
		SigningKey: "k", SigningKeys: []string{"k", "l"},
		Metadata: map[string]any{"n": int64(1), "f": 1.5, "deep": map[string]any{"list": []any{"x"}}},
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("definition (-want +got):\n%s", diff)
	}
}

func TestParseDefinitionKeepsAbsentToolsApartFromNone(t *testing.T) {
	t.Parallel()
	if d := parse(t, nil); d.Tools != nil {
		t.Errorf("absent tools became %v", *d.Tools)
	}
	if d := parse(t, map[string]any{"tools": []any{}}); d.Tools == nil || len(*d.Tools) != 0 {
		t.Errorf("an empty list became %v", d.Tools)
	}
}

func TestParseDefinitionAlwaysReturnsBlocks(t *testing.T) {
	t.Parallel()
	d := parse(t, map[string]any{"systemPrompt": "# Role\n\n- be kind"})
	if len(d.SystemPrompt) != 1 || d.SystemPrompt[0].Block["type"] != "Heading" {
		t.Errorf("text became %v", d.SystemPrompt)
	}
	if got := prompt.Markdown(d.SystemPrompt); got != "# Role\n\n- be kind" {
		t.Errorf("Markdown = %q", got)
	}
	sent := []any{map[string]any{"block": map[string]any{"id": "b1", "type": "Odd", "custom": []any{int64(1)}}}}
	d = parse(t, map[string]any{"systemPrompt": sent})
	want := wire.PromptBlocks{{Block: map[string]any{"id": "b1", "type": "Odd", "custom": []any{int64(1)}}}}
	if diff := cmp.Diff(want, d.SystemPrompt); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	if d := parse(t, map[string]any{"systemPrompt": []any{}}); d.SystemPrompt == nil {
		t.Error("an empty array must stay an array")
	}
}

func TestParseDefinitionDoesNotChangeItsInput(t *testing.T) {
	t.Parallel()
	in := fields(map[string]any{"metadata": map[string]any{"n": 1}, "tools": []any{" a "}})
	before := maps.Clone(in)
	if _, err := agent.ParseDefinition(in); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, in); diff != "" {
		t.Errorf("input changed:\n%s", diff)
	}
}

func TestGrantsFollowTheToolsList(t *testing.T) {
	t.Parallel()
	service := []string{"search", "query", "execute"}
	list := func(names ...string) *[]string { return &names }
	for name, c := range map[string]struct {
		tools *[]string
		want  agent.Grants
	}{
		"absent grants everything":          {nil, agent.Grants{Callables: service, Publish: true}},
		"empty grants nothing":              {list(), agent.Grants{}},
		"the service's order":               {list("execute", "search"), agent.Grants{Callables: []string{"search", "execute"}}},
		"unknown names are ignored":         {list("web_read", "plan", "nothing"), agent.Grants{}},
		"execute_code is execute":           {list("execute_code"), agent.Grants{Callables: []string{"execute"}}},
		"publish":                           {list("publish"), agent.Grants{Publish: true}},
		"write publishes":                   {list("write"), agent.Grants{Publish: true}},
		"memory_publish_document publishes": {list("memory_publish_document"), agent.Grants{Publish: true}},
		"ipfs_write publishes":              {list("ipfs_write"), agent.Grants{Publish: true}},
		"attachment_to_ipfs publishes":      {list("attachment_to_ipfs"), agent.Grants{Publish: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, agent.GrantsOf(wire.AgentDefinition{Tools: c.tools}, service)); diff != "" {
				t.Errorf("grants (-want +got):\n%s", diff)
			}
		})
	}
	if got := agent.GrantsOf(wire.AgentDefinition{Tools: list("execute")}, []string{"search"}); len(got.Callables) != 0 {
		t.Errorf("execute without a sandbox = %v", got.Callables)
	}
}

func TestInfoShowsTheAgentToARole(t *testing.T) {
	t.Parallel()
	a := agent.Agent{ID: "a", Account: "z", Version: 3, CreatedAt: 1, UpdatedAt: 2}
	activity := &wire.AgentActivity{At: 5}
	want := wire.AgentInfo{
		ID: "a", Account: "z", StateDir: "/d/agents/a", Status: "idle", CreatedAt: 1, UpdatedAt: 2,
		AccessRole: "reader", Activity: activity,
	}
	if diff := cmp.Diff(want, agent.Info(a, "reader", "/d/agents/a", activity)); diff != "" {
		t.Errorf("info (-want +got):\n%s", diff)
	}
}
