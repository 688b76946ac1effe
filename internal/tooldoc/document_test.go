package tooldoc_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/tooldoc"
)

// vector is a document whose bytes and address were made by another implementation.
type vector struct {
	Name     string
	Document struct {
		Name, Kind, Summary, Description string
		Input, Output                    json.RawMessage
		Source, Runtime, Binding         string
		Server, RemoteName               string
	}
	DagCborHex, CID string
}

func TestDocumentsHaveTheBytesAndAddressesOfOtherImplementations(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/documents.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(raw, &vectors); err != nil || len(vectors) != 3 {
		t.Fatalf("%d vectors, %v", len(vectors), err)
	}
	for _, v := range vectors {
		d := v.Document
		doc := tooldoc.Document{
			Name: d.Name, Kind: tooldoc.Kind(d.Kind), Summary: d.Summary, Description: d.Description, Input: d.Input, Output: d.Output,
			Source: d.Source, Runtime: d.Runtime, Binding: d.Binding, Server: d.Server, RemoteName: d.RemoteName,
		}
		b, err := doc.Encode()
		if err != nil || hex.EncodeToString(b) != v.DagCborHex {
			t.Errorf("%s: Encode() = %x, %v, want %s", v.Name, b, err, v.DagCborHex)
		}
		if cid, err := doc.CID(); err != nil || cid != v.CID {
			t.Errorf("%s: CID() = %s, %v, want %s", v.Name, cid, err, v.CID)
		}
	}
}

func TestAFieldThatChangesChangesTheAddress(t *testing.T) {
	t.Parallel()
	base := tooldoc.Document{Name: "a", Kind: tooldoc.Lambda, Summary: "s", Description: "d", Input: json.RawMessage(`{"type":"object"}`)}
	seen := map[string]string{}
	for name, change := range map[string]func(d *tooldoc.Document){
		"nothing": func(*tooldoc.Document) {},
		"source":  func(d *tooldoc.Document) { d.Source = "x" },
		"runtime": func(d *tooldoc.Document) { d.Runtime = "x" },
		"binding": func(d *tooldoc.Document) { d.Binding = "x" },
		"server":  func(d *tooldoc.Document) { d.Server = "x" },
		"remote":  func(d *tooldoc.Document) { d.RemoteName = "x" },
		"output":  func(d *tooldoc.Document) { d.Output = json.RawMessage(`{}`) },
		"input":   func(d *tooldoc.Document) { d.Input = json.RawMessage(`{"type":"object","properties":{}}`) },
	} {
		d := base
		change(&d)
		cid, err := d.CID()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if before := seen[cid]; before != "" {
			t.Errorf("%s and %s have one address", name, before)
		}
		seen[cid] = name
	}
}

func TestAnAddressDoesNotDependOnTheSpellingOfASchema(t *testing.T) {
	t.Parallel()
	a := tooldoc.Document{Name: "a", Kind: tooldoc.Lambda, Input: json.RawMessage(`{"type":"object","properties":{"b":{},"a":{}}}`)}
	b := a
	b.Input = json.RawMessage("{ \"properties\": {\"a\":{},\"b\":{}},\n\"type\":\"object\" }")
	one, err1 := a.CID()
	two, err2 := b.CID()
	if one != two || err1 != nil || err2 != nil {
		t.Errorf("CIDs %s and %s, %v, %v", one, two, err1, err2)
	}
}

func TestASchemaThatIsNotJSONHasNoAddress(t *testing.T) {
	t.Parallel()
	d := tooldoc.Document{Name: "a", Kind: tooldoc.Lambda, Input: json.RawMessage(`{"type":`)}
	if cid, err := d.CID(); err == nil {
		t.Errorf("CID() = %s", cid)
	}
	if contract, err := d.Contract(); err == nil {
		t.Errorf("Contract() = %s", contract)
	}
}

func TestAContractShowsSchemasAndSourceInFencesThatTheSourceCannotClose(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"```\n# Evil\n", "a ```` b", "`````", "x\n\n```", "plain"} {
		d := tooldoc.Document{
			Name: "count", Kind: tooldoc.Lambda, Description: "Counts.", Input: json.RawMessage(`{"type":"object"}`), Source: source, Runtime: "python",
		}
		contract, err := d.Contract()
		if err != nil {
			t.Fatal(err)
		}
		_, section, ok := strings.Cut(contract, "## Source\n\n")
		fence := section[:len(section)-len(strings.TrimLeft(section, "`"))]
		if !ok || len(fence) < 3 || strings.Count(section, fence) != 2 || !strings.HasSuffix(section, "\n"+fence+"\n") {
			t.Errorf("source %q is fenced as %q", source, section)
		}
	}
}

func TestAContractNamesKindVersionAndRuntime(t *testing.T) {
	t.Parallel()
	d := tooldoc.Document{
		Name: "count", Kind: tooldoc.Lambda, Description: " Counts. ", Input: json.RawMessage(`{"type":"object"}`),
		Output: json.RawMessage(`{"type":"object"}`), Runtime: "python",
	}
	cid, err := d.CID()
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Contract()
	want := "# count\n\n> lambda tool · version " + cid + " · python\n\nCounts.\n\n## Input\n\n```json\n{\n  \"type\": \"object\"\n}\n```\n\n" +
		"## Output\n\n```json\n{\n  \"type\": \"object\"\n}\n```\n"
	if err != nil || got != want {
		t.Errorf("Contract() = %s, %v", got, err)
	}
	d.Kind = tooldoc.Verb
	if got, err = d.Contract(); err != nil || !strings.HasPrefix(got, "# count\n\n> verb, always available\n\n") {
		t.Errorf("Contract() of a verb = %s, %v", got, err)
	}
}
