package tooldoc_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/tooldoc"
)

func TestAnAuthoredToolHasTheAddressOfOtherImplementations(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/documents.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, v := range vectors {
		if v.Document.Kind != "lambda" {
			continue
		}
		seen++
		d, err := tooldoc.NewLambda(tooldoc.Authored{
			Name: v.Document.Name, Summary: v.Document.Summary, Description: v.Document.Description, Input: v.Document.Input,
			Output: v.Document.Output, Source: v.Document.Source, Runtime: v.Document.Runtime,
		}, nobody)
		if err != nil {
			t.Fatal(err)
		}
		if cid, err := d.CID(); err != nil || cid != v.CID {
			t.Errorf("%s: CID() = %s, %v, want %s", v.Name, cid, err, v.CID)
		}
	}
	if seen != 2 {
		t.Errorf("%d lambdas among the vectors", seen)
	}
}

func nobody(string) bool { return false }

func TestWhatIsWrongWithAnAuthoredToolIsSaid(t *testing.T) {
	t.Parallel()
	good := tooldoc.Authored{Name: "count", Description: "Counts.", Source: "x"}
	for name, c := range map[string]struct {
		change func(a *tooldoc.Authored)
		want   string
	}{
		"empty name":            {func(a *tooldoc.Authored) { a.Name = "" }, "name is invalid"},
		"long name":             {func(a *tooldoc.Authored) { a.Name = strings.Repeat("a", 65) }, "name is invalid"},
		"path as name":          {func(a *tooldoc.Authored) { a.Name = "../x" }, "name is invalid"},
		"reserved":              {func(a *tooldoc.Authored) { a.Name = "read" }, "cannot be replaced"},
		"no description":        {func(a *tooldoc.Authored) { a.Description = " \n" }, "description is required"},
		"large description":     {func(a *tooldoc.Authored) { a.Description = strings.Repeat("a", tooldoc.MaxDescription+1) }, "description is too large"},
		"no source":             {func(a *tooldoc.Authored) { a.Source = " " }, "source is required"},
		"large source":          {func(a *tooldoc.Authored) { a.Source = strings.Repeat("a", tooldoc.MaxSource+1) }, "source is too large"},
		"input is an array":     {func(a *tooldoc.Authored) { a.Input = json.RawMessage(`{"type":"array"}`) }, "input schema must have an object root"},
		"input is no schema":    {func(a *tooldoc.Authored) { a.Input = json.RawMessage(`true`) }, "input schema must have an object root"},
		"input is broken":       {func(a *tooldoc.Authored) { a.Input = json.RawMessage(`{"type":`) }, "input schema is not valid JSON"},
		"output is an array":    {func(a *tooldoc.Authored) { a.Output = json.RawMessage(`{"type":"array"}`) }, "output schema must have an object root"},
		"keyword outside":       {func(a *tooldoc.Authored) { a.Input = schema(`"oneOf":[]`) }, "input.oneOf is not supported"},
		"keyword below":         {func(a *tooldoc.Authored) { a.Input = schema(`"properties":{"a":{"$ref":"#"}}`) }, "input.properties.a.$ref is not supported"},
		"unknown type":          {func(a *tooldoc.Authored) { a.Input = schema(`"properties":{"a":{"type":"text"}}`) }, "input.properties.a.type has a value"},
		"properties as a list":  {func(a *tooldoc.Authored) { a.Input = schema(`"properties":[]`) }, "input.properties must be an object"},
		"property is no schema": {func(a *tooldoc.Authored) { a.Input = schema(`"properties":{"a":1}`) }, "input.properties.a must be a schema"},
		"required not texts":    {func(a *tooldoc.Authored) { a.Input = schema(`"required":[1]`) }, "input.required has a value"},
		"negative length":       {func(a *tooldoc.Authored) { a.Input = schema(`"properties":{"a":{"type":"string","minLength":-1}}`) }, "minLength has a value"},
		"fraction of an item":   {func(a *tooldoc.Authored) { a.Input = schema(`"properties":{"a":{"type":"array","maxItems":1.5}}`) }, "maxItems has a value"},
		"empty enum":            {func(a *tooldoc.Authored) { a.Input = schema(`"properties":{"a":{"enum":[]}}`) }, "enum has a value"},
		"too deep": {func(a *tooldoc.Authored) {
			a.Input = schema(`"properties":{"a":` + strings.Repeat(`{"type":"array","items":`, 70) + `{}` + strings.Repeat(`}`, 71))
		}, "nested deeper"},
		"too large": {func(a *tooldoc.Authored) {
			a.Input = schema(`"description":"` + strings.Repeat("a", tooldoc.MaxSchema) + `"`)
		}, "larger than"},
	} {
		a := good
		c.change(&a)
		_, err := tooldoc.NewLambda(a, func(name string) bool { return name == "read" })
		if fault.CodeOf(err) != fault.ValidationFailed || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	edge := good
	edge.Name, edge.Source, edge.Description = strings.Repeat("a", 64), strings.Repeat("a", tooldoc.MaxSource), strings.Repeat("a", tooldoc.MaxDescription)
	edge.Input = schema(`"properties":{"a":{"type":"array","items":{"type":"object","additionalProperties":{"type":"string"}}}},"additionalProperties":false`)
	if _, err := tooldoc.NewLambda(edge, nobody); err != nil {
		t.Errorf("at the limits: %v", err)
	}
}

func schema(inside string) json.RawMessage {
	return json.RawMessage(`{"type":"object",` + inside + `}`)
}

func TestASummaryIsOneBoundedLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 141)
	for _, c := range [][3]string{
		{"Given  line\n", "Other.", "Given line"},
		{"", "First one. Second one.", "First one."},
		{"", "No end\nnext line", "No end"},
		{"", "Really? Yes.", "Really?"},
		{"", "v1.2 of it. More", "v1.2 of it."},
		{" ", long, strings.Repeat("é", 137) + "…"},
		{long, "Other.", strings.Repeat("é", 137) + "…"},
		{strings.Repeat("é", 140), "Other.", strings.Repeat("é", 140)},
	} {
		if got := tooldoc.Summarize(c[0], c[1]); got != c[2] {
			t.Errorf("Summarize(%q, %q) = %q", c[0], c[1], got)
		}
	}
}
