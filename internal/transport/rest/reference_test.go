package rest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
)

// schema is what the reference shows of one.
type schema struct {
	Type        any
	Ref         string `json:"$ref"`
	Description string
	Format      string
	Encoding    string `json:"contentEncoding"`
	Items       *schema
	Properties  map[string]*schema
	Required    []string
	OneOf       []*schema
	// Additional is a schema, or false.
	Additional json.RawMessage `json:"additionalProperties"`
}

// described is the document as the reference needs it.
type described struct {
	Info  struct{ Description string }
	Paths map[string]map[string]struct {
		OperationID, Summary, Description string
		Scope                             string `json:"x-scope"`
		Parameters                        []struct {
			Name, In, Description string
			Required              bool
			Schema                *schema
		}
		RequestBody *struct {
			Content map[string]struct{ Schema *schema }
		}
		Responses map[string]struct {
			Description string
			Content     map[string]struct {
				Schema *schema
				Events map[string]*schema `json:"x-events"`
			}
		}
	}
	Components struct{ Schemas map[string]*schema }
}

func TestTheReferenceIsThatOfTheDocument(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	doc := servertest.JSON[described](t, h.REST("").Do("GET", "/openapi.json", nil))
	golden(t, "../../../docs/api.md", []byte(reference(&doc)))
}

// page is a Markdown document that grows.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func reference(doc *described) string {
	p := &page{}
	p.line("<!-- Written by `go generate ./internal/transport/rest`; change the operations and their types. -->\n")
	p.line("# REST API\n")
	p.line("%s\n", doc.Info.Description)
	p.line("The routes lie below `/api/v1`. `/openapi.json` of a server describes them for programs, [curl.md](curl.md) shows them at work. Send a token " +
		"(`loam tokens create NAME`) as `Authorization: Bearer loam_…`, or sign a browser in. A token needs the scope that stands at the route.\n")
	p.line("`code` of an error is one of:\n")
	for _, code := range []fault.Code{
		fault.ValidationFailed, fault.Unauthenticated, fault.PermissionDenied, fault.NotFound, fault.Conflict, fault.PreconditionFailed,
		fault.TooLarge, fault.RateLimited, fault.BudgetExceeded, fault.ProviderError, fault.Unavailable, fault.Internal,
	} {
		p.line("- `%s` (%d)", code, (&fault.Error{Code: code}).Status())
	}
	p.line("\nSome answers have a more exact status, such as 405, 408, 415 or 421. 429 and 503 carry `Retry-After`.\n")
	group := ""
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		if first := strings.Split(path, "/")[1]; first != group {
			group = first
			p.line("## %s\n", group)
		}
		for _, method := range []string{"get", "post", "put", "patch", "delete"} {
			if _, ok := doc.Paths[path][method]; ok {
				p.route(doc, method, path)
			}
		}
	}
	p.line("## Types\n")
	p.line("Fields that may be missing have a `?`.\n")
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		s := doc.Components.Schemas[name]
		p.line("### %s\n", name)
		if s.Description != "" {
			p.line("%s\n", s.Description)
		}
		p.fields(s)
	}
	return strings.TrimRight(p.String(), "\n") + "\n"
}

func (p *page) route(doc *described, method, path string) {
	op := doc.Paths[path][method]
	p.line("### %s %s\n", strings.ToUpper(method), path)
	scope := "Needs no sign-in."
	if op.Scope != "" {
		scope = "Scope: " + op.Scope + "."
	}
	p.line("%s. %s\n", op.Summary, strings.TrimSpace(op.Description+" "+scope))
	for _, in := range []string{"query", "header"} {
		for _, param := range op.Parameters {
			// What every change takes stands in the introduction.
			if param.In == in && param.Name != "Idempotency-Key" {
				text := ""
				if param.Description != "" {
					text = ": " + param.Description
				}
				p.line("- %s `%s` (%s)%s", in, param.Name, kind(param.Schema), text)
			}
		}
	}
	if op.RequestBody != nil {
		for _, media := range slices.Sorted(maps.Keys(op.RequestBody.Content)) {
			p.body(media, op.RequestBody.Content[media].Schema)
		}
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		if status == "default" {
			continue
		}
		answer := op.Responses[status]
		if len(answer.Content) == 0 {
			p.line("- answers %s, without a body", status)
		}
		for _, media := range slices.Sorted(maps.Keys(answer.Content)) {
			content := answer.Content[media]
			if content.Events == nil {
				p.line("- answers %s, %s", status, kind(content.Schema))
				continue
			}
			p.line("- answers %s, a stream of events; a comment comes every 15 seconds", status)
			for _, name := range slices.Sorted(maps.Keys(content.Events)) {
				p.line("  - `%s`: %s", name, kind(content.Events[name]))
			}
		}
	}
	p.line("")
}

func (p *page) body(media string, s *schema) {
	if media != "application/json" {
		p.line("- body: bytes")
		return
	}
	p.line("- body, as JSON:")
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p.line("  - %s", field(s, name))
	}
}

func (p *page) fields(s *schema) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p.line("- %s", field(s, name))
	}
	p.line("")
}

// field is one line about a field.
func field(s *schema, name string) string {
	mark := "?"
	if slices.Contains(s.Required, name) {
		mark = ""
	}
	text := fmt.Sprintf("`%s`%s (%s)", name, mark, kind(s.Properties[name]))
	if d := s.Properties[name].Description; d != "" {
		text += ": " + d
	}
	return text
}

// kind names a type in a few words.
func kind(s *schema) string {
	switch {
	case s.Ref != "":
		name := s.Ref[strings.LastIndex(s.Ref, "/")+1:]
		return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name))
	case len(s.OneOf) > 0:
		var parts []string
		for _, one := range s.OneOf {
			parts = append(parts, kind(one))
		}
		return strings.Join(parts, " or ")
	case s.Type == "array":
		return "list of " + kind(s.Items)
	case s.Encoding == "base64":
		return "base64"
	case s.Format == "binary":
		return "bytes"
	case s.Type == nil:
		return "any"
	}
	if below := (schema{}); len(s.Additional) > 0 && json.Unmarshal(s.Additional, &below) == nil && below.Type != nil {
		return "object of " + kind(&below)
	}
	return fmt.Sprint(s.Type)
}
