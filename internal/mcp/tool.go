package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loam-agents/loam/dagcbor"
)

// Tool is what a server offers, made safe.
type Tool struct {
	// Name is that of the document, <server>__<tool>; RemoteName is what the server calls it.
	Name       string `json:"name"`
	RemoteName string `json:"remoteName"`
	// Description may be empty. Input is a schema with an object root.
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input"`
}

// maxRemoteName bounds what a server may call a tool, in bytes; tools with longer names are left out.
const maxRemoteName = 256

// anything is the schema of a tool whose own cannot be used.
var anything = json.RawMessage(`{"type":"object"}`)

// project makes the tools of a server safe: names that fit and are unique, texts and schemas within their limits.
func project(server string, found []*sdk.Tool) []Tool {
	out := []Tool{}
	taken := map[string]bool{}
	remote := map[string]bool{}
	room := MaxDiscovery
	for _, t := range found {
		if t == nil || t.Name == "" || len(t.Name) > maxRemoteName || remote[t.Name] || strings.ContainsRune(t.Name, 0) {
			continue
		}
		remote[t.Name] = true
		tool := Tool{RemoteName: strings.ToValidUTF8(t.Name, "\uFFFD"), Description: text(t.Description, MaxDescription), Input: schema(t.InputSchema)}
		if tool.Description == "" {
			tool.Description = text(t.Title, MaxDescription)
		}
		if room -= len(tool.Description) + len(tool.Input); room < 0 {
			tool.Description, tool.Input = text(tool.Description, 200), anything
		}
		tool.Name = toolName(server, t.Name, taken)
		taken[tool.Name] = true
		if out = append(out, tool); len(out) == MaxTools {
			break
		}
	}
	return out
}

// toolName is <server>__<tool> with what does not belong into a name replaced. A name that is too long, or taken, ends in a piece of a
// hash of the server's own name, so that it stays the same whatever else the server offers.
func toolName(server, remote string, taken map[string]bool) string {
	var b strings.Builder
	for _, r := range strings.ToLower(remote) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			b.WriteRune(r)
		} else {
			b.WriteByte('_')
		}
	}
	name := server + "__" + b.String()
	if len(name) <= MaxToolName && !taken[name] {
		return name
	}
	sum := sha256.Sum256([]byte(remote))
	end := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), MaxToolName-len(end))] + end
}

// schema is a server's schema when it can be used: an object root, not too large, not too deep, with a canonical form. What else it
// says is not checked: inputs are checked against it, and a schema that lies fails at the server.
func schema(v any) json.RawMessage {
	if v == nil {
		return anything
	}
	raw, err := json.Marshal(v)
	if err != nil || len(raw) > MaxSchema || depth(raw) > maxSchemaDepth {
		return anything
	}
	var root struct {
		Type json.RawMessage `json:"type"`
	}
	if json.Unmarshal(raw, &root) != nil || root.Type != nil && string(root.Type) != `"object"` {
		return anything
	}
	if root.Type == nil {
		// Providers insist on the root's type; without one it is an object, as the protocol says.
		raw = append([]byte(`{"type":"object",`), strings.TrimPrefix(string(raw), "{")...)
		if !json.Valid(raw) {
			return anything
		}
	}
	if _, err := dagcbor.Marshal(json.RawMessage(raw)); err != nil {
		return anything
	}
	return raw
}

// depth is how deep brackets nest in valid JSON.
func depth(raw []byte) int {
	deepest, open, quoted := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			open++
			deepest = max(deepest, open)
		case c == '}' || c == ']':
			open--
		}
	}
	return deepest
}

// text is a server's text within a limit, without NUL, which databases refuse.
func text(s string, limit int) string {
	s = strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", ""))
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-len("…")], "") + "…"
}
