package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/tooldoc"
)

// WriteGuide is the write guide ~/tools/write/tools.
const WriteGuide = `# Writing tools

A tool of your own is a small program with a contract. It stays between conversations.

` + "`write {address: \"~/tools/word_count\", content: \"…\"}`" + ` with JSON content:

` + "```json" + `
{
  "description": "Counts the words of a text.",
  "input": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
  "output": {"type": "object", "properties": {"words": {"type": "integer"}}},
  "runtime": "typescript",
  "source": "export default async function (input) { return {words: input.text.split(/\\s+/).length} }"
}
` + "```" + `

- The name comes from the address: lower-case letters, digits, - and _, at most 64. A builtin tool or a verb cannot be replaced.
- ` + "`runtime`" + ` is typescript (` + "`export default async function (input)`" + `) or python (` + "`def main(input):`" + `). What it returns is the result.
- Schemas have an object root and keep to: type, title, description, default, properties, required, additionalProperties, enum, minLength,
  maxLength, minimum, maximum, items, minItems, maxItems. ` + "`input`" + ` may be left out, and so may ` + "`output`" + `.
- Writing the same address again replaces the tool. ` + "`options: {delete: true}`" + ` removes it.
- Call it with ` + "`call {tool: \"word_count\", input: {…}}`" + `.
`

const shape = `Content must be JSON: {"description": "…", "input": {"type": "object", …}, "output"?: {…}, "source": "…", "runtime"?: "typescript" | "python"}`

// Write implements space.Writer: it authors, replaces or deletes a tool.
func (s *Scheme) Write(_ context.Context, scope space.Scope, req space.WriteRequest) (space.Change, error) {
	if err := space.KnownOptions(req.Options, root+" writes", "delete", "tool"); err != nil {
		return nil, err
	}
	if req.DryRun != nil {
		return nil, fault.Invalid("dryRun is not supported for %s writes", root)
	}
	rest, _ := space.Under(req.Address, root)
	name := strings.Trim(rest, "/")
	if name == "" || strings.Contains(name, "/") {
		return nil, fault.Invalid("Name one tool to write: %s/<name>", root)
	}
	remove, err := space.Flag(req.Options, "delete")
	switch {
	case err != nil:
		return nil, err
	case remove && (req.Content != nil || req.Options["tool"] != nil):
		return nil, fault.Invalid("Give either a tool or options.delete, not both")
	case remove && s.opts.Catalog.Reserved(name):
		return nil, fault.Invalid("%q is a builtin and cannot be deleted; your owner decides with your grants whether you have it", name)
	case remove:
		return &deletion{s, scope, name}, nil
	}
	authored, err := parse(req)
	if err != nil {
		return nil, err
	}
	authored.Name = name
	document, err := tooldoc.NewLambda(authored, s.opts.Catalog.Reserved)
	if err != nil {
		return nil, err
	}
	return &authoring{s, scope, document}, nil
}

func parse(req space.WriteRequest) (out tooldoc.Authored, err error) {
	content := ""
	switch tool, given := req.Options["tool"]; {
	case given && req.Content != nil:
		return out, fault.Invalid("Give the tool either as content or as options.tool, not both")
	case given:
		encoded, err := json.Marshal(tool)
		if err != nil {
			return out, fault.Invalid(shape)
		}
		content = string(encoded)
	case req.Content != nil:
		content = *req.Content
	}
	decoder := json.NewDecoder(strings.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&out); err != nil || !bytes.HasPrefix(bytes.TrimSpace([]byte(content)), []byte("{")) || decoder.More() {
		return out, fault.Invalid(shape)
	}
	return out, nil
}

type authoring struct {
	s        *Scheme
	scope    space.Scope
	document tooldoc.Document
}

// Apply implements space.Change. An agent may replace what it or a person has authored.
func (c *authoring) Apply(tx store.Tx) (space.Result, error) {
	name, previous, enabled := c.document.Name, "", true
	before, found, err := tooldoc.Find(tx, c.scope.Agent, name)
	if err != nil {
		return nil, err
	}
	if found {
		previous, enabled = name, before.Enabled
	}
	by := tooldoc.ByAgent
	if c.scope.Run == "" {
		by = tooldoc.ByPerson
	}
	saved, err := tooldoc.Save(tx, c.scope.Agent, c.document, previous, enabled, by, clock.Millis(c.s.opts.Clock))
	if err != nil {
		return nil, err
	}
	c.s.opts.Changed(tx, c.scope)
	verb := "Authored"
	if found {
		verb = "Replaced"
	}
	return space.Result{"summary": fmt.Sprintf("%s %s/%s", verb, root, name), "name": name, "cid": saved.CID, "kind": string(tooldoc.Lambda)}, nil
}

type deletion struct {
	s     *Scheme
	scope space.Scope
	name  string
}

// Apply implements space.Change.
func (c *deletion) Apply(tx store.Tx) (space.Result, error) {
	before, found, err := tooldoc.Find(tx, c.scope.Agent, c.name)
	if err != nil {
		return nil, err
	}
	summary := fmt.Sprintf("Nothing to delete at %s/%s", root, c.name)
	if found {
		if err := tooldoc.Editable(&before.Document); err != nil {
			return nil, err
		}
		if _, err := tooldoc.Remove(tx, c.scope.Agent, c.name); err != nil {
			return nil, err
		}
		c.s.opts.Changed(tx, c.scope)
		summary = fmt.Sprintf("Deleted %s/%s", root, c.name)
	}
	return space.Result{"summary": summary, "name": c.name, "deleted": found}, nil
}
