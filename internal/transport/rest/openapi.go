package rest

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/loam-agents/loam/internal/operation"
	"github.com/loam-agents/loam/wire"
)

// describe serves the OpenAPI document. It says nothing that this page of source does not, so everybody may read it.
func (s *Server) describe(w http.ResponseWriter, r *http.Request) {
	s.begin(w, r)
	write(w, http.StatusOK, mediaJSON, s.document())
}

const schemaPrefix = "#/components/schemas/"

const introduction = "Loam's REST API. Times are milliseconds since 1970. Unknown fields are errors. Errors are problem documents " +
	"(RFC 9457) whose `code` is for programs; what does not exist and what the caller may not see are the same 404. " +
	"A change takes `Idempotency-Key`: the same key with the same request gets the first answer again, with another request it is a conflict."

// document encodes the OpenAPI document of the endpoints.
func document(endpoints []endpoint) []byte {
	b := &builder{texts: descriptions(), registry: huma.NewMapRegistry(schemaPrefix, huma.DefaultSchemaNamer)}
	b.registry.RegisterTypeAlias(reflect.TypeFor[wire.Payload](), reflect.TypeFor[map[string]any]())
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info:    &huma.Info{Title: "Loam", Version: "v1", Description: introduction},
		Servers: []*huma.Server{{URL: Base}},
		Paths:   map[string]*huma.PathItem{},
		Components: &huma.Components{
			Schemas: b.registry,
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"token":  {Type: "http", Scheme: "bearer", Description: "A token, loam_…"},
				"cookie": {Type: "apiKey", In: "cookie", Name: CookieName, Description: "A browser that is signed in"},
			},
		},
		Security: []map[string][]string{{"token": {}}, {"cookie": {}}},
	}
	// Answers are described first: what stands in them may grow, so that clients must expect more fields than these.
	responses := make([]*huma.Response, len(endpoints))
	for i := range endpoints {
		responses[i] = b.response(&endpoints[i])
	}
	b.problem = b.registry.Schema(reflect.TypeFor[Problem](), true, "")
	for _, schema := range b.registry.Map() {
		schema.AdditionalProperties = nil
	}
	for i := range endpoints {
		b.add(doc, &endpoints[i], responses[i])
	}
	for _, schema := range b.registry.Map() {
		settle(schema)
	}
	b.describeSchemas()
	body, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		// The document is made of the program's own types: a test builds it.
		panic(err)
	}
	return append(body, '\n')
}

type builder struct {
	texts    map[string]string
	registry huma.Registry
	problem  *huma.Schema
}

// settle takes back that lists may be null: those of answers never are.
func settle(s *huma.Schema) {
	if s == nil {
		return
	}
	if s.Type == huma.TypeArray {
		s.Nullable = false
	}
	settle(s.Items)
	for _, p := range s.Properties {
		settle(p)
	}
	if below, ok := s.AdditionalProperties.(*huma.Schema); ok {
		settle(below)
	}
}

func (b *builder) response(e *endpoint) *huma.Response {
	out := &huma.Response{Description: http.StatusText(e.OK())}
	switch {
	case e.events != nil:
		events := map[string]any{}
		lines := []string{"A stream of events. A comment comes every 15 seconds."}
		for _, ev := range e.events {
			events[ev.name] = b.registry.Schema(reflect.TypeOf(ev.data), true, "")
			lines = append(lines, "`"+ev.name+"`: "+ev.summary+".")
		}
		out.Description = strings.Join(lines, "\n")
		out.Content = map[string]*huma.MediaType{mediaEvents: {
			Schema: &huma.Schema{Type: huma.TypeString}, Extensions: map[string]any{"x-events": events},
		}}
	case e.Kind == operation.Download:
		out.Content = map[string]*huma.MediaType{mediaBytes: {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}}
	case e.Reply != nil && e.OK() != http.StatusNoContent:
		out.Content = map[string]*huma.MediaType{mediaJSON: {Schema: b.registry.Schema(reflect.TypeOf(e.Reply), true, "")}}
	}
	if e.Tagged || e.Method == http.MethodGet && e.events == nil {
		out.Headers = map[string]*huma.Header{"ETag": {Schema: &huma.Schema{Type: huma.TypeString}, Description: "The state of what is answered, for If-Match; not everything has one"}}
	}
	return out
}

func (b *builder) add(doc *huma.OpenAPI, e *endpoint, response *huma.Response) {
	op := &huma.Operation{
		OperationID: e.id, Summary: e.Summary, Description: e.Note, Tags: []string{tag(e.Path)},
		Parameters: b.parameters(e), RequestBody: b.body(e),
		Responses: map[string]*huma.Response{
			strconv.Itoa(e.OK()): response,
			"default":            {Description: "A problem", Content: map[string]*huma.MediaType{mediaProblem: {Schema: b.problem}}},
		},
		Extensions: map[string]any{},
	}
	if e.async() {
		op.Responses[strconv.Itoa(http.StatusAccepted)] = response
	}
	if e.open {
		op.Security = []map[string][]string{{}}
	} else {
		op.Extensions["x-scope"] = e.scope
	}
	path := strings.ReplaceAll(e.Path, "...}", "}")
	item := doc.Paths[path]
	if item == nil {
		item = &huma.PathItem{}
		doc.Paths[path] = item
	}
	switch e.Method {
	case http.MethodGet:
		item.Get = op
	case http.MethodPost:
		item.Post = op
	case http.MethodPut:
		item.Put = op
	case http.MethodPatch:
		item.Patch = op
	case http.MethodDelete:
		item.Delete = op
	}
}

// async tells whether a caller may choose not to wait for the end of a turn.
func (e *endpoint) async() bool {
	_, turn := e.Reply.(operation.TurnAnswer)
	return turn
}

// tag groups a route by its first word.
func tag(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first
}

// own are the fields of a request that are not in the path, in the order of the struct.
func own(e *endpoint) []reflect.StructField {
	if e.Request == nil {
		return nil
	}
	inPath := pathFields(e.Path)
	var out []reflect.StructField
	for _, f := range reflect.VisibleFields(reflect.TypeOf(e.Request)) {
		if name := jsonName(f); name != "" && !slices.Contains(inPath, name) {
			out = append(out, f)
		}
	}
	return out
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func required(f reflect.StructField) bool { return !strings.Contains(f.Tag.Get("json"), ",omitempty") }

func (b *builder) parameters(e *endpoint) []*huma.Param {
	var out []*huma.Param
	for _, name := range pathFields(e.Path) {
		out = append(out, &huma.Param{Name: name, In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}})
	}
	if e.InQuery() {
		for _, f := range own(e) {
			schema := b.registry.Schema(f.Type, true, f.Name)
			schema.Nullable = false
			out = append(out, &huma.Param{Name: jsonName(f), In: "query", Required: required(f), Description: b.field(e.Request, f), Schema: schema})
		}
	}
	text := &huma.Schema{Type: huma.TypeString}
	header := func(name, description string) {
		out = append(out, &huma.Param{Name: name, In: "header", Description: description, Schema: text})
	}
	if e.events != nil {
		header("Last-Event-ID", "The seq of the last event that the client has")
	}
	if e.Method != http.MethodGet && !e.open {
		header("Idempotency-Key", "The same key with the same request gets the first answer again")
	}
	if e.Tagged {
		header("If-Match", "The ETag that has to be the present one")
	}
	if e.async() {
		header("Prefer", "respond-async answers at once, with 202")
	}
	return out
}

func (b *builder) body(e *endpoint) *huma.RequestBody {
	if e.Kind == operation.Upload {
		return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			mediaBytes: {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
		}}
	}
	fields := own(e)
	if e.InQuery() || len(fields) == 0 {
		return nil
	}
	schema := &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{}, AdditionalProperties: false}
	for _, f := range fields {
		property := b.property(f)
		describe(property, b.field(e.Request, f))
		schema.Properties[jsonName(f)] = property
		if required(f) {
			schema.Required = append(schema.Required, jsonName(f))
		}
	}
	settle(schema)
	return &huma.RequestBody{Required: len(schema.Required) > 0, Content: map[string]*huma.MediaType{mediaJSON: {Schema: schema}}}
}

// property describes a field of a body. An optional pointer may be left out; only a field that says so may be null.
func (b *builder) property(f reflect.StructField) *huma.Schema {
	schema := b.registry.Schema(f.Type, true, f.Name)
	if schema.Ref == "" {
		schema.Nullable = f.Tag.Get("nullable") == "true"
		return schema
	}
	if f.Tag.Get("nullable") == "true" {
		return &huma.Schema{OneOf: []*huma.Schema{schema, {Type: "null"}}}
	}
	return schema
}
