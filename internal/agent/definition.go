package agent

import (
	"regexp"
	"slices"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/internal/agent/prompt"
	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/wire"
)

// Limits of a definition (spec/agents-protocol.md §3.0), in bytes where nothing else is said.
const (
	// MaxModels bounds the number of enabled models.
	MaxModels = 32
	// MaxTools bounds the number of tools, MaxTool one name, MaxToolBytes all of them.
	MaxTools, MaxTool, MaxToolBytes = 32, 128, 4 << 10
	// MaxApprovals bounds the tools of which a definition says whether they need an approval.
	MaxApprovals = 256
	// MaxServers bounds the number of MCP servers.
	MaxServers = 16
	// MaxKeys bounds the number of signing keys.
	MaxKeys = 32
	// MaxMetadata bounds metadata in CBOR.
	MaxMetadata = 16 << 10
)

var serverName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)

// ParseDefinition checks and normalises a definition as a client sends it: texts are trimmed, a prompt that is text becomes
// blocks, repeated models and names are dropped, unknown keys too. Tools that are absent stay apart from an empty
// list: they grant everything. The first problem is returned as fault.Invalid with a text for a person.
func ParseDefinition(fields map[string]any) (wire.AgentDefinition, error) {
	var d wire.AgentDefinition
	steps := []func() error{
		func() (err error) { d.Name, err = bounded.Name(fields["name"], "Agent name"); return },
		func() (err error) { d.SystemPrompt, err = systemPrompt(fields["systemPrompt"]); return },
		func() (err error) {
			d.ModelProvider, err = bounded.Name(fields["modelProvider"], "Model provider")
			return
		},
		func() (err error) { d.Model, err = bounded.Name(fields["model"], "Model"); return },
		func() (err error) {
			d.ReasoningLevel, err = choice(fields["reasoningLevel"], "Reasoning level", levels())
			return
		},
		func() (err error) {
			d.Thoroughness, err = choice(fields["thoroughness"], "Thoroughness", presets())
			return
		},
		func() (err error) { d.EnabledModels, err = enabledModels(fields["enabledModels"]); return },
		func() (err error) { d.Tools, err = tools(fields["tools"]); return },
		func() (err error) { d.McpServers, err = servers(fields["mcpServers"]); return },
		func() (err error) {
			d.SigningKey, err = optional(fields["signingKey"], "Signing key", bounded.MaxName)
			return
		},
		func() (err error) { d.SigningKeys, err = names(fields["signingKeys"], "Signing key", MaxKeys); return },
		func() (err error) { d.Metadata, err = metadata(fields["metadata"]); return },
		func() (err error) { d.ToolApproval, err = toolApproval(fields["toolApproval"]); return },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return wire.AgentDefinition{}, err
		}
	}
	return stored(d)
}

// stored returns the definition as it will come back from the database, and refuses what cannot be stored.
func stored(d wire.AgentDefinition) (wire.AgentDefinition, error) {
	encoded, err := encode(d)
	if err == nil {
		d, err = decode(encoded)
	}
	if err != nil {
		return wire.AgentDefinition{}, fault.Wrap(err, fault.ValidationFailed, "Agent definition is invalid")
	}
	return d, nil
}

func levels() []string    { return []string{"minimal", "low", "medium", "high", "xhigh", "max"} }
func approvals() []string { return []string{"required", "never"} }
func presets() []string   { return []string{"quick", "normal", "deep"} }

func systemPrompt(v any) (wire.PromptBlocks, error) { return prompt.Read(v, "System prompt") }

func enabledModels(v any) ([]wire.ModelChoice, error) {
	items, err := list(v, "Enabled models")
	if err != nil {
		return nil, err
	}
	var out []wire.ModelChoice
	for _, item := range items {
		fields, _ := item.(map[string]any)
		provider, err := bounded.Name(fields["provider"], "Enabled model provider")
		if err != nil {
			return nil, err
		}
		model, err := bounded.Name(fields["model"], "Enabled model")
		if err != nil {
			return nil, err
		}
		c := wire.ModelChoice{Provider: provider, Model: model}
		if slices.Contains(out, c) {
			continue
		}
		if out = append(out, c); len(out) > MaxModels {
			return nil, fault.Invalid("Too many enabled models: at most %d", MaxModels)
		}
	}
	return out, nil
}

func tools(v any) (*[]string, error) {
	if v == nil {
		return nil, nil
	}
	items, err := list(v, "Tools")
	if err != nil {
		return nil, err
	}
	if len(items) > MaxTools {
		return nil, fault.Invalid("Too many tools: at most %d", MaxTools)
	}
	out, total := make([]string, 0, len(items)), 0
	for _, item := range items {
		name, err := bounded.Text(item, "Tool name", MaxTool)
		if err != nil {
			return nil, err
		}
		out, total = append(out, name), total+len(name)
	}
	if total > MaxToolBytes {
		return nil, fault.Invalid("Tools are too large")
	}
	return &out, nil
}

func servers(v any) ([]string, error) {
	out, err := names(v, "MCP server", MaxServers)
	if err != nil {
		return nil, err
	}
	for _, name := range out {
		if !serverName.MatchString(name) {
			return nil, fault.Invalid("MCP server name is invalid: %s", name)
		}
	}
	return out, nil
}

// names takes a list of bounded texts and drops repetitions.
func names(v any, label string, limit int) ([]string, error) {
	items, err := list(v, label+"s")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, item := range items {
		name, err := bounded.Name(item, label)
		if err != nil {
			return nil, err
		}
		if slices.Contains(out, name) {
			continue
		}
		if out = append(out, name); len(out) > limit {
			return nil, fault.Invalid("%ss are limited to %d", label, limit)
		}
	}
	return out, nil
}

func metadata(v any) (map[string]any, error) {
	if v == nil {
		return nil, nil
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, fault.Invalid("Agent metadata is invalid")
	}
	raw, err := dagcbor.Marshal(fields)
	if err != nil {
		return nil, fault.Wrap(err, fault.ValidationFailed, "Agent metadata is invalid")
	}
	if len(raw) > MaxMetadata {
		return nil, fault.Invalid("Agent metadata is too large")
	}
	return fields, nil
}

// toolApproval reads which calls a person has to approve; nothing that needs one is nil.
func toolApproval(v any) (*wire.ToolApproval, error) {
	if v == nil {
		return nil, nil
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, fault.Invalid("Tool approval must be an object with default and tools")
	}
	var out wire.ToolApproval
	var err error
	if out.Default, err = choice(fields["default"], "Tool approval default", approvals()); err != nil {
		return nil, err
	}
	tools, ok := fields["tools"].(map[string]any)
	if !ok && fields["tools"] != nil {
		return nil, fault.Invalid("Tool approval tools must be an object of tool names and modes")
	}
	if len(tools) > MaxApprovals {
		return nil, fault.Invalid("Tool approval names too many tools: at most %d", MaxApprovals)
	}
	for name, mode := range tools {
		if name, err = bounded.Text(name, "Tool name", MaxTool); err != nil {
			return nil, err
		}
		if mode == nil {
			return nil, fault.Invalid("Tool approval of %s is invalid", name)
		}
		if out.Tools == nil {
			out.Tools = map[string]string{}
		}
		if out.Tools[name], err = choice(mode, "Tool approval of "+name, approvals()); err != nil {
			return nil, err
		}
	}
	if out.Default == "" && out.Tools == nil {
		return nil, nil
	}
	return &out, nil
}

func list(v any, label string) ([]any, error) {
	if v == nil {
		return nil, nil
	}
	items, ok := v.([]any)
	if !ok {
		return nil, fault.Invalid("%s must be a list", label)
	}
	return items, nil
}

func choice(v any, label string, allowed []string) (string, error) {
	if v == nil {
		return "", nil
	}
	s, _ := v.(string)
	if !slices.Contains(allowed, s) {
		return "", fault.Invalid("%s is invalid", label)
	}
	return s, nil
}

func optional(v any, label string, limit int) (string, error) {
	if v == nil {
		return "", nil
	}
	return bounded.Text(v, label, limit)
}
