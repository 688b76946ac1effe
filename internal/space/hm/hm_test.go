package hm_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/hypermedia/hypermediatest"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/space/hm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	alice = "z6MkneMkZqwqRiU5mJzSG3kDwzt9P8C59N4NGTfBLfSGE7c7"
	carol = "z6MksPykuQeYh4zgthFRFBExrgo1dwFWWenY2TEJ9SvT9jn1"
	note  = "z6Emd3AyVBsLLo"
)

func read(t *testing.T, s *hm.Scheme, address, format string) (space.Result, error) {
	t.Helper()
	return s.Read(t.Context(), space.Scope{}, space.ReadRequest{Address: address, Format: format})
}

func must(t *testing.T, s *hm.Scheme, address string) space.Result {
	t.Helper()
	out, err := read(t, s, address, "")
	if err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	return out
}

func TestADocumentIsReadAsFencedMarkdown(t *testing.T) {
	t.Parallel()
	server := hypermediatest.New(t)
	s := hm.New(hypermediatest.Client(t, server.URL))
	out := must(t, s, "hm://"+alice+"/vector-doc")
	text := out["markdown"].(string)
	for _, want := range []string{"<outside source=\"hm://" + alice + "/vector-doc\"", "# Intro", "Hello changed text.", "A new paragraph\n- two", "</outside>"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %s", want, text)
		}
	}
	metadata := out["metadata"].(map[string]any)
	if out["type"] != "hypermedia_document" || out["title"] != "Vector Doc" || metadata["done"] != true || out["id"] != "hm://"+alice+"/vector-doc" ||
		out["version"] != "bafyreiaki7qc2mdtjtqb43q5ezjxtnut2vwd2z3u55bcpr7emvqo2ouaha" || out["server"] != server.URL || out["summary"] != "Read Vector Doc" {
		t.Errorf("the result is %v", out)
	}
	attributes := must(t, s, "hm://"+alice+"/vector-doc/:attributes")
	if attributes["markdown"] != nil || attributes["view"] != "attributes" || attributes["title"] != "Vector Doc" {
		t.Errorf("attributes: %v", attributes)
	}
	raw, err := read(t, s, "hm://"+alice+"/vector-doc", "json")
	if encoded, _ := json.Marshal(raw["resource"]); err != nil || !strings.Contains(string(encoded), `"id":"p1aaaaaa"`) || raw["caution"] == nil {
		t.Errorf("as JSON: %v %v", raw, err)
	}
}

func TestWhatStandsAroundADocumentHasViews(t *testing.T) {
	t.Parallel()
	s := hm.New(hypermediatest.Client(t, hypermediatest.New(t).URL))
	directory := must(t, s, "hm://"+alice+"/:directory")
	if encoded, _ := json.Marshal(directory["documents"]); !strings.Contains(string(encoded), `"id":"hm://`+alice+`/vector-doc","path":"/vector-doc","name":"Vector Doc"`) {
		t.Errorf("directory: %s", encoded)
	}
	discussion := must(t, s, "hm://"+alice+"/vector-doc/:comments")
	if encoded, _ := json.Marshal(discussion["comments"]); !strings.Contains(string(encoded), "hm://"+alice+"/"+note) {
		t.Errorf("discussion: %s", encoded)
	}
	profile := must(t, s, "hm://"+alice+"/:profile")
	if account := profile["account"].(map[string]any); account["name"] != "Alice" || profile["activity"] == nil || profile["contacts"] == nil || profile["capabilities"] != nil {
		t.Errorf("profile: %v", profile)
	}
	if _, err := read(t, s, "hm://z6Mksp9sfVKVpWAi43niHLXfGQ5NdCTEoiycLmrLPehquVqK/:profile", ""); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("nobody's profile: %v", err)
	}
	if _, err := read(t, s, "hm://"+alice+"/:inside-out", ""); fault.CodeOf(err) != fault.ValidationFailed {
		t.Errorf("no such view: %v", err)
	}
}

func TestACommentComesInItsLatestVersionWithItsThread(t *testing.T) {
	t.Parallel()
	s := hm.New(hypermediatest.Client(t, hypermediatest.New(t).URL))
	for _, address := range []string{
		"hm://" + alice + "/" + note, "hm://" + alice + "/vector-doc/:comments/" + alice + "/" + note, "hm://" + alice + "/vector-doc/" + alice + "/" + note,
	} {
		out := must(t, s, address)
		text, _ := out["markdown"].(string)
		if out["type"] != "hypermedia_comment" || !strings.Contains(text, "Edited") || out["target"] != "hm://"+alice+"/vector-doc" || out["createTime"] != "2026-01-01T00:00:08Z" {
			t.Errorf("%s: %v", address, out)
		}
		if thread, _ := json.Marshal(out["thread"]); !strings.Contains(string(thread), `"mention":"[@](hm://`) {
			t.Errorf("%s: thread %s", address, thread)
		}
		if recovered := strings.Count(address, alice) == 2 && !strings.Contains(address, ":comments"); (out["recovered"] == true) != recovered {
			t.Errorf("%s: recovered %v", address, out["recovered"])
		}
	}
}

func TestALongThreadKeepsItsRootAndTheNewest(t *testing.T) {
	t.Parallel()
	server := hypermediatest.New(t)
	var comments []string
	for i := range 60 {
		comments = append(comments, fmt.Sprintf(`{"id":"%s/c%02d","author":"%s","createTime":{"seconds":"%d"},"content":[]}`, alice, i, alice, 1000+i))
	}
	server.Answer("ListComments", "busy", 200, `{"json":{"comments":[`+strings.Join(comments, ",")+`],"authors":{}}}`)
	out := must(t, hm.New(hypermediatest.Client(t, server.URL)), "hm://"+alice+"/busy/:comments")
	encoded, _ := json.Marshal(out["comments"])
	if got := string(encoded); strings.Count(got, `"id"`) != 50 || out["leftOut"] != 10 || !strings.Contains(got, "/c00") || strings.Contains(got, "/c01") || !strings.Contains(got, "/c59") {
		t.Errorf("%v left out of %s", out["leftOut"], got)
	}
}

func TestRedirectsAreFollowedAndCirclesEnd(t *testing.T) {
	t.Parallel()
	server := hypermediatest.New(t)
	s := hm.New(hypermediatest.Client(t, server.URL))
	server.Answer("Resource", carol+"/t2", 200, `{"json":{"type":"document","document":{"content":[],"metadata":{"name":"T"}}}}`)
	if out := must(t, s, "hm://"+carol+"/t"); out["id"] != "hm://"+carol+"/t2" || out["redirectedFrom"] != "hm://"+carol+"/t" {
		t.Errorf("a redirect: %v", out)
	}
	server.Answer("Resource", "circle", 200, `{"json":{"type":"redirect","redirectTarget":{"id":"hm://`+alice+`/circle"}}}`)
	if _, err := read(t, s, "hm://"+alice+"/circle", ""); fault.CodeOf(err) != fault.NotFound || !strings.Contains(err.Error(), "redirects more than 5 times") {
		t.Errorf("a circle: %v", err)
	}
}

func TestWhatCannotBeReadSaysWhy(t *testing.T) {
	t.Parallel()
	server := hypermediatest.New(t)
	s := hm.New(hypermediatest.Client(t, server.URL))
	for address, want := range map[string]string{
		"hm://" + alice + "/does-not-exist": "not_found: There is no document at hm://" + alice + "/does-not-exist",
		"hm://" + carol + "/gone":           "not_found: hm://" + carol + "/gone was deleted",
		"hm://badaccount/x":                 "provider_error: The hypermedia server cannot read hm://badaccount/x: [invalid_argument]",
		"hm://":                             "validation_failed: Name an account",
	} {
		if _, err := read(t, s, address, ""); !strings.HasPrefix(string(fault.CodeOf(err))+": "+fmt.Sprint(err), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
	server.Refuse("[unavailable] reindexing, retry later")
	if _, err := read(t, s, "hm://"+alice, ""); fault.CodeOf(err) != fault.ProviderError || err.Error() != "The hypermedia server refused Resource: [unavailable] reindexing, retry later" {
		t.Errorf("a server that refuses: %v", err)
	}
	if _, err := read(t, hm.New(hypermediatest.Client(t, hypermediatest.Away)), "hm://"+alice, ""); fault.CodeOf(err) != fault.ProviderError || !strings.HasPrefix(err.Error(), "The hypermedia server did not answer:") {
		t.Errorf("nobody there: %v", err)
	}
	none := hm.New(nil)
	if _, err := read(t, none, "hm://"+alice, ""); fault.CodeOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "--hm-server-url") || none.Forms() != nil {
		t.Errorf("no server: %v", err)
	}
}

func TestADocumentThatNestsWithoutEndIsCut(t *testing.T) {
	t.Parallel()
	const deep = 3000
	server := hypermediatest.New(t)
	block := `{"block":{"id":"b","type":"Paragraph","text":"x","attributes":{"childrenType":"Unordered"}},"children":[`
	server.Answer("Resource", "deep", 200, `{"json":{"type":"document","document":{"metadata":{"name":"<b>Deep</b>"},"content":[`+
		strings.Repeat(block, deep)+strings.Repeat("]}", deep)+`]}}}`)
	out := must(t, hm.New(hypermediatest.Client(t, server.URL)), "hm://"+alice+"/deep")
	if n := strings.Count(out["markdown"].(string), "x\n"); n > 40 || out["title"] != "‹b›Deep‹/b›" {
		t.Errorf("%d levels, title %q", n, out["title"])
	}
}

func TestASiteOfTheNetworkIsReadAsItsDocument(t *testing.T) {
	t.Parallel()
	server := hypermediatest.New(t)
	server.Answer("GetDomain", "alice.example", 200, `{"json":{"registeredAccountUid":"`+alice+`"}}`)
	s := hm.New(hypermediatest.Client(t, server.URL))
	for address, want := range map[string]bool{
		"https://alice.example/vector-doc": true, "https://alice.example/": true, "https://gateway.example/hm/" + alice + "/vector-doc": true,
		"https://alice.example/does-not-exist": false, "https://example.com/": false, "https://gateway.example/hm/download": false,
	} {
		out, found, err := s.ReadSite(t.Context(), space.ReadRequest{Address: address})
		if err != nil || found != want || found && out["requestedId"] != address {
			t.Errorf("%s: %v, %v, %v", address, found, out["id"], err)
		}
	}
	server.Refuse("[internal] broken")
	if _, found, err := s.ReadSite(t.Context(), space.ReadRequest{Address: "https://alice.example/"}); found || fault.CodeOf(err) != fault.ProviderError {
		t.Errorf("a server that fails must not look like no document: %v, %v", found, err)
	}
	if _, found, err := hm.New(nil).ReadSite(t.Context(), space.ReadRequest{Address: "https://alice.example/"}); found || err != nil {
		t.Errorf("without a server: %v, %v", found, err)
	}
}
