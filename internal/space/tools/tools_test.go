package tools_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/space/tools"
	"github.com/loam-agents/loam/internal/tooldoc"
)

// catalog grants a verb to everybody and a lambda to one agent.
type catalog struct{}

func (catalog) Documents(_ context.Context, scope space.Scope) ([]tooldoc.Document, error) {
	docs := []tooldoc.Document{
		{Name: "read", Kind: tooldoc.Verb, Summary: "Reads.", Description: "Reads it.", Input: json.RawMessage(`{"type":"object"}`)},
	}
	if scope.Agent == "granted" {
		docs = append(docs, tooldoc.Document{Name: "count", Kind: tooldoc.Lambda, Summary: "Counts.", Description: "Counts it.", Input: json.RawMessage(`{"type":"object"}`)})
	}
	return docs, nil
}

func (catalog) Reserved(name string) bool { return name == "read" }

func read(t *testing.T, agent, address string) (space.Result, error) {
	t.Helper()
	s := tools.New(tools.Options{Catalog: catalog{}, Guides: []tools.Guide{{Resource: "memory", Markdown: "# Writing"}, {Resource: "b", Markdown: "# B"}}})
	if !s.Serves(address) {
		t.Fatalf("%s is not served", address)
	}
	return s.Read(t.Context(), space.Scope{Agent: agent}, space.ReadRequest{Address: address})
}

func TestTheListNamesCallablesAndShowsVerbsInMarkdownOnly(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"~/tools", "~/tools/"} {
		out, err := read(t, "granted", address)
		if err != nil || !slices.Equal(out["tools"].([]string), []string{"count"}) || out["summary"] != "2 tools" ||
			out["markdown"] != "Verbs\n\n- `read` — Reads.\n\nTools, through `call`\n\n- `count` — Counts.\n" {
			t.Errorf("%s = %v, %v", address, out, err)
		}
	}
	out, err := read(t, "other", "~/tools/")
	if b, _ := json.Marshal(out["tools"]); err != nil || string(b) != "[]" || strings.Contains(out["markdown"].(string), "count") {
		t.Errorf("without a grant: %v, %v", out, err)
	}
}

func TestAContractHasAnAddressUnlessItIsAVerbs(t *testing.T) {
	t.Parallel()
	out, err := read(t, "granted", "~/tools/count")
	if err != nil || !strings.HasPrefix(out["cid"].(string), "bafyrei") || out["kind"] != "lambda" || !strings.Contains(out["markdown"].(string), "Counts it.") {
		t.Errorf("the contract of a lambda: %v, %v", out, err)
	}
	out, err = read(t, "granted", "~/tools/read/")
	if err != nil || out["cid"] != nil || !strings.Contains(out["markdown"].(string), "always available") {
		t.Errorf("the contract of a verb: %v, %v", out, err)
	}
}

func TestAnUnknownOrUngrantedNameGetsTheList(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"nothing", "count", "write", "a/b"} {
		out, err := read(t, "other", "~/tools/"+name)
		if err != nil || out["summary"] != `No tool named "`+name+`". These can be called:` || out["cid"] != nil || strings.Contains(out["markdown"].(string), "Counts") {
			t.Errorf("%s = %v, %v", name, out, err)
		}
	}
}

func TestGuidesSayHowToWrite(t *testing.T) {
	t.Parallel()
	out, err := read(t, "other", "~/tools/write/memory")
	if err != nil || out["markdown"] != "# Writing" || out["name"] != "write/memory" {
		t.Errorf("a guide: %v, %v", out, err)
	}
	_, err = read(t, "other", "~/tools/write/nothing")
	if fault.CodeOf(err) != fault.NotFound || err.Error() != `No write guide for "nothing". There are guides for: b, memory` {
		t.Errorf("a guide that is not there: %v", err)
	}
}

func TestToolsTakeNoOptions(t *testing.T) {
	t.Parallel()
	_, err := tools.New(tools.Options{Catalog: catalog{}}).Read(t.Context(), space.Scope{}, space.ReadRequest{Address: "~/tools", Options: map[string]any{"x": 1}})
	if fault.CodeOf(err) != fault.ValidationFailed {
		t.Errorf("Read() = %v", err)
	}
}
