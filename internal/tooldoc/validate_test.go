package tooldoc_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/tooldoc"
)

func validator(t testing.TB, schema string) *tooldoc.Validator {
	t.Helper()
	v, err := tooldoc.NewValidator(&tooldoc.Document{Name: "tool", Input: json.RawMessage(schema)})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const article = `{"type":"object","properties":{"title":{"type":"string","maxLength":5},"tags":{"type":"array","items":{"type":"string"}},
	"when":{"type":"string","format":"date"}},"required":["title"],"additionalProperties":false}`

func TestAMissSaysWhereAndWhy(t *testing.T) {
	t.Parallel()
	v := validator(t, article)
	for name, c := range map[string]struct {
		arguments string
		want      []string
	}{
		"empty":             {"", []string{"$: missing property 'title'"}},
		"blank":             {" \n", []string{"$: missing property 'title'"}},
		"null":              {"null", []string{"$: missing property 'title'"}},
		"not JSON":          {`{"title":`, []string{"$: the input is not valid JSON"}},
		"trailing text":     {`{"title":"a"} and more`, []string{"$: the input is not valid JSON"}},
		"a list":            {`[]`, []string{"$: got array, want object"}},
		"a string":          {`"title"`, []string{"$: got string, want object"}},
		"a wrong type":      {`{"title":1}`, []string{"$.title: got number, want string"}},
		"deep":              {`{"title":"a","tags":["x",2]}`, []string{"$.tags.1: got number, want string"}},
		"an unknown key":    {`{"title":"a","Title":"b"}`, []string{"$: additional properties 'Title' not allowed"}},
		"too long":          {`{"title":"abcdef"}`, []string{"$.title: maxLength: got 6, want 5"}},
		"a format":          {`{"title":"a","when":"soon"}`, []string{`$.when: 'soon' is not valid date: parsing time "soon" as "2006-01-02": cannot parse "soon" as "2006"`}},
		"several, sorted":   {`{"tags":1,"x":2}`, []string{"$.tags: got number, want array", "$: additional properties 'x' not allowed", "$: missing property 'title'"}},
		"too many nestings": {strings.Repeat("[", 20_000), []string{"$: the input is not valid JSON"}},
	} {
		input, why := v.Parse(c.arguments)
		slices.Sort(why)
		slices.Sort(c.want)
		if input != nil || !slices.Equal(why, c.want) {
			t.Errorf("%s: Parse() = %s, %q, want %q", name, input, why, c.want)
		}
	}
}

func TestAnInputThatFitsIsGivenBack(t *testing.T) {
	t.Parallel()
	for schema, c := range map[string][2]string{
		article:             {` {"title":"a"} `, `{"title":"a"}`},
		`{"type":"object"}`: {"", "{}"},
		`{}`:                {"null", "{}"},
		`{"type":"object","properties":{"n":{"type":"integer"}}}`: {`{"n":12345678901234567890123}`, `{"n":12345678901234567890123}`},
	} {
		if input, why := validator(t, schema).Parse(c[0]); string(input) != c[1] || len(why) > 0 {
			t.Errorf("Parse(%q) = %s, %q", c[0], input, why)
		}
	}
}

func TestReasonsAreFewAndShort(t *testing.T) {
	t.Parallel()
	v := validator(t, `{"type":"object","additionalProperties":{"type":"string"}}`)
	var b strings.Builder
	b.WriteString(`{"` + strings.Repeat("k", 10_000) + `":1`)
	for i := range 100 {
		fmt.Fprintf(&b, `,"k%d":1`, i)
	}
	_, why := v.Parse(b.String() + "}")
	if len(why) != 20 {
		t.Errorf("%d reasons", len(why))
	}
	for _, r := range why {
		if len(r) > 410 {
			t.Errorf("a reason of %d bytes", len(r))
		}
	}
}

func TestAMissHoldsTheContract(t *testing.T) {
	t.Parallel()
	d := tooldoc.Document{Name: "tool", Kind: tooldoc.Verb, Description: "Does.", Input: json.RawMessage(article)}
	miss, err := d.Miss([]string{"$: no"})
	if err != nil || !strings.Contains(miss["contract"].(string), "additionalProperties") || miss["summary"] == "" ||
		!slices.Equal(miss["validationErrors"].([]string), []string{"$: no"}) {
		t.Errorf("Miss() = %v, %v", miss, err)
	}
}

// doubling is a schema of which a validator meets 2^n parts.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"type":"object"}}}`, n)
	return b.String()
}

func TestSchemasOfStrangersAreBounded(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"not JSON":                 `{"type":`,
		"not a schema":             `{"type":"thing"}`,
		"empty":                    ``,
		"a circle":                 `{"$ref":"#"}`,
		"a circle through another": `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`,
		"recursion":                `{"type":"object","properties":{"next":{"$ref":"#"}}}`,
		"doubling":                 doubling(40),
		"remote http":              `{"$ref":"http://127.0.0.1:1/schema.json"}`,
		"remote file":              `{"$ref":"file:///etc/passwd"}`,
		"relative":                 `{"$ref":"other.json#/x"}`,
		"an anchor":                `{"$ref":"#here","$defs":{"x":{"$anchor":"here"}}}`,
		"nowhere":                  `{"$ref":"#/$defs/none"}`,
		"nowhere in a list":        `{"allOf":[{}],"$ref":"#/allOf/7"}`,
		"below a value":            `{"title":"x","$ref":"#/title/y"}`,
		"dynamic":                  `{"$dynamicRef":"#"}`,
		"recursive":                `{"$recursiveRef":"#"}`,
		"another meta schema":      `{"$schema":"http://127.0.0.1:1/meta"}`,
		"a schema in a schema":     `{"properties":{"a":{"$id":"http://x/","type":"string"}}}`,
		"deep":                     strings.Repeat(`{"not":`, 100) + `{}` + strings.Repeat(`}`, 100),
		"wide":                     `{"anyOf":[{}` + strings.Repeat(`,{}`, 5000) + `]}`,
		"huge":                     `{"description":"` + strings.Repeat("x", tooldoc.MaxSchema) + `"}`,
		"a regexp without end":     `{"pattern":"(a{1000}){1000}"}`,
		"a broken regexp":          `{"pattern":"("}`,
	} {
		if _, err := tooldoc.NewValidator(&tooldoc.Document{Name: "tool", Input: json.RawMessage(schema)}); err == nil {
			t.Errorf("%s: the schema is accepted", name)
		}
	}
}

func TestReferencesWithinASchemaAreFollowed(t *testing.T) {
	t.Parallel()
	v := validator(t, `{"type":"object","properties":{"$ref":{"$ref":"#/$defs/a~1b"},"c":{"enum":[{"$ref":"http://x"}]},"d":{"$ref":"#/$defs/l/anyOf/0"}},
		"$defs":{"a/b":{"type":"string"},"l":{"anyOf":[{"type":"integer"}]}}}`)
	if _, why := v.Parse(`{"$ref":"x","c":{"$ref":"http://x"},"d":1}`); len(why) > 0 {
		t.Errorf("Parse() = %q", why)
	}
	if _, why := v.Parse(`{"$ref":1}`); len(why) == 0 {
		t.Error("a wrong type behind a reference is accepted")
	}
}

func TestTheWorkOfOneCheckIsBounded(t *testing.T) {
	t.Parallel()
	v := validator(t, `{"type":"object","properties":{"x":{"type":"string"}}}`)
	big := `{"x":"` + strings.Repeat("a", tooldoc.MaxInput) + `"}`
	if _, why := v.Parse(big); !slices.Equal(why, []string{"$: the input is too large"}) {
		t.Errorf("Parse() of %d bytes = %q", len(big), why)
	}
	costly := validator(t, doubling(10))
	if _, why := costly.Parse(`{"x":"` + strings.Repeat("a", 200_000) + `"}`); len(why) != 1 {
		t.Errorf("Parse() of a costly schema = %q", why)
	}
	if _, why := costly.Parse(`{}`); len(why) > 0 {
		t.Errorf("Parse() of a costly schema = %q", why)
	}
	// Go's regular expressions take linear time, whatever the pattern.
	slow := validator(t, `{"type":"object","properties":{"x":{"pattern":"^(a+)+$"}}}`)
	if _, why := slow.Parse(`{"x":"` + strings.Repeat("a", 10_000) + `!"}`); len(why) != 1 {
		t.Errorf("Parse() = %q", why)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "null", "{}", `{"title":"a"}`, `{"title":`, `{"title":1,"x":[]}`, "\xff", `{"title":"\ud800"}`, `{"a":1}{}`, "[[[["} {
		f.Add(article, s)
		f.Add(`{"type":"object"}`, s)
	}
	f.Add(doubling(3), "{}")
	f.Fuzz(func(t *testing.T, schema, arguments string) {
		v, err := tooldoc.NewValidator(&tooldoc.Document{Name: "tool", Input: json.RawMessage(schema)})
		if err != nil {
			return
		}
		input, why := v.Parse(arguments)
		if (input == nil) == (len(why) == 0) || len(why) > 20 {
			t.Fatalf("Parse() = %q, %q", input, why)
		}
		if input != nil && !json.Valid(input) {
			t.Errorf("the input %q is not JSON", input)
		}
		for _, r := range why {
			if !strings.HasPrefix(r, "$") {
				t.Errorf("reason %q", r)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	v := validator(b, article)
	for b.Loop() {
		if _, why := v.Parse(`{"title":"abc","tags":["x","y"]}`); len(why) > 0 {
			b.Fatal(why)
		}
	}
}
