// Package tooldoc describes what can be called: contracts with schemas, their content addresses, and what a miss gets.
//
// A callable is a document (seeds/000 "Tools are documents"). Its CID is computed over the canonical DAG-CBOR of the document
// with absent keys left out, so that what an agent can run is always exactly nameable. Input is validated against the
// document; a miss is answered with the contract, so that a model reads and repeats instead of failing.
//
// tooldoc is tier 4. It imports dagcbor and a JSON Schema validator. The verbs (tier 5) describe themselves with it.
package tooldoc

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/dagcbor"
)

// Kind says what stands behind a document.
type Kind string

// The kinds of tool documents (seeds/000). Verb is Loam's name for the fixed surface, which has no document on the wire.
const (
	Verb    Kind = "verb"
	Builtin Kind = "builtin"
	Lambda  Kind = "lambda"
	MCP     Kind = "mcp"
)

// Document is a callable. Empty optional fields are absent from the canonical bytes.
type Document struct {
	Name        string
	Kind        Kind
	Summary     string
	Description string
	// Input and Output are JSON Schemas; Input has an object root.
	Input  json.RawMessage
	Output json.RawMessage
	// Source and Runtime of a lambda.
	Source  string
	Runtime string
	// Binding of a builtin.
	Binding string
	// Server and RemoteName of an MCP projection.
	Server     string
	RemoteName string
}

// Encode returns the canonical DAG-CBOR of the document.
func (d *Document) Encode() ([]byte, error) {
	fields := map[string]any{
		"name": d.Name, "kind": string(d.Kind), "summary": d.Summary, "description": d.Description, "input": d.Input,
	}
	if len(d.Output) > 0 {
		fields["output"] = d.Output
	}
	for key, value := range map[string]string{
		"source": d.Source, "runtime": d.Runtime, "binding": d.Binding, "server": d.Server, "remoteName": d.RemoteName,
	} {
		if value != "" {
			fields[key] = value
		}
	}
	b, err := dagcbor.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encode tool document %q: %w", d.Name, err)
	}
	return b, nil
}

// CID is the content address of the document as text.
func (d *Document) CID() (string, error) {
	b, err := d.Encode()
	if err != nil {
		return "", err
	}
	return dagcbor.Sum(b).String(), nil
}

// Contract is the document as Markdown for a model: what it does, and its schemas.
func (d *Document) Contract() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", d.Name)
	if d.Kind == Verb {
		b.WriteString("> verb, always available\n\n")
	} else {
		cid, err := d.CID()
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "> %s tool · version %s", d.Kind, cid)
		if d.Runtime != "" {
			fmt.Fprintf(&b, " · %s", d.Runtime)
		}
		b.WriteString("\n\n")
	}
	b.WriteString(strings.TrimSpace(d.Description))
	b.WriteString("\n\n")
	section(&b, "Input", "json", indent(d.Input))
	section(&b, "Output", "json", indent(d.Output))
	section(&b, "Source", d.Runtime, d.Source)
	return strings.TrimRight(b.String(), "\n") + "\n", nil
}

func section(b *strings.Builder, title, language, text string) {
	if text == "" {
		return
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	fmt.Fprintf(b, "## %s\n\n%s%s\n%s\n%s\n\n", title, fence, language, strings.TrimRight(text, "\n"), fence)
}

func indent(schema json.RawMessage) string {
	if len(schema) == 0 {
		return ""
	}
	var v any
	if json.Unmarshal(schema, &v) != nil {
		return string(schema)
	}
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return string(schema)
	}
	return string(out)
}
