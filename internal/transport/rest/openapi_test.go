package rest_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/loam-agents/loam/internal/operation"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
)

// openAPI is what the tests read of the document.
type openAPI struct {
	OpenAPI string
	Paths   map[string]map[string]struct {
		OperationID string
		RequestBody *struct {
			Content map[string]struct{ Schema json.RawMessage }
		}
		Responses map[string]struct {
			Content map[string]struct{ Schema json.RawMessage }
		}
	}
	raw any
}

func readDocument(t *testing.T, r *servertest.REST) (doc openAPI, raw []byte) {
	t.Helper()
	a := r.Do(http.MethodGet, "/openapi.json", nil)
	if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("the document: %d %v", a.Status, a.Header)
	}
	doc = servertest.JSON[openAPI](t, a)
	var err error
	if doc.raw, err = jsonschema.UnmarshalJSON(bytes.NewReader(a.Body)); err != nil {
		t.Fatal(err)
	}
	return doc, a.Body
}

func TestTheDocumentIsThatOfTheGoldenFile(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	doc, raw := readDocument(t, h.REST(""))
	if !strings.HasPrefix(doc.OpenAPI, "3.1.") {
		t.Errorf("OpenAPI %s", doc.OpenAPI)
	}
	golden(t, "testdata/openapi.json", raw)
}

func TestEveryOperationHasARouteOrSaysWhyNot(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	doc, _ := readDocument(t, h.REST(""))
	described := map[string]bool{}
	for _, methods := range doc.Paths {
		for _, op := range methods {
			if described[op.OperationID] {
				t.Errorf("%s stands twice in the document", op.OperationID)
			}
			described[op.OperationID] = true
		}
	}
	for _, op := range operation.New(operation.Options{}).Operations() {
		switch {
		case (op.Route == nil) == (op.Unrouted == ""):
			t.Errorf("%s needs a route, or a reason to have none", op.Name)
		case op.Route != nil && (op.Route.Summary == "" || op.Route.Reply == nil || op.Route.Method == ""):
			t.Errorf("%s: the route is incomplete", op.Name)
		case op.Route != nil && !described[op.Name]:
			t.Errorf("%s is not in the document", op.Name)
		}
	}
}

// checker compares answers with the document.
type checker struct {
	doc      openAPI
	compiler *jsonschema.Compiler
}

func newChecker(t *testing.T, r *servertest.REST) *checker {
	t.Helper()
	doc, _ := readDocument(t, r)
	c := jsonschema.NewCompiler()
	if err := c.AddResource("loam:api", doc.raw); err != nil {
		t.Fatal(err)
	}
	return &checker{doc: doc, compiler: c}
}

// check validates the body of an answer against the schema of the route and status.
func (c *checker) check(t *testing.T, method, route string, a servertest.Answer) {
	t.Helper()
	op, ok := c.doc.Paths[route][strings.ToLower(method)]
	if !ok {
		t.Errorf("%s %s is not in the document", method, route)
		return
	}
	status := strconv.Itoa(a.Status)
	if _, ok := op.Responses[status]; !ok {
		t.Errorf("%s %s answered %d, which the document does not know: %s", method, route, a.Status, a.Body)
		return
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	pointer := "loam:api#/paths/" + escape.Replace(route) + "/" + strings.ToLower(method) + "/responses/" + status +
		"/content/application~1json/schema"
	schema, err := c.compiler.Compile(strings.ReplaceAll(strings.ReplaceAll(pointer, "{", "%7B"), "}", "%7D"))
	if err != nil {
		t.Fatalf("%s %s: %v", method, route, err)
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.Body))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(body); err != nil {
		t.Errorf("%s %s answered what the document does not say: %v\n%s", method, route, err, a.Body)
	}
}
