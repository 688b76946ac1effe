package documents_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/callable"
	"github.com/loam-agents/loam/internal/callable/documents"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/hypermedia/hypermediatest"
	"github.com/loam-agents/loam/internal/space"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const alice = "z6MkneMkZqwqRiU5mJzSG3kDwzt9P8C59N4NGTfBLfSGE7c7"

func tools(t *testing.T, address string) map[string]callable.Callable {
	t.Helper()
	out := map[string]callable.Callable{}
	for _, c := range documents.Tools(hypermediatest.Client(t, address)) {
		out[c.Document().Name] = c
	}
	return out
}

func call(t *testing.T, c callable.Callable, input string) (space.Result, string, error) {
	t.Helper()
	out, err := c.Call(t.Context(), space.Scope{}, json.RawMessage(input))
	encoded, _ := json.Marshal(out)
	return out, string(encoded), err
}

func TestSearchAsksAndLists(t *testing.T) {
	t.Parallel()
	server := hypermediatest.New(t)
	search := tools(t, server.URL)["search"]
	out, text, err := call(t, search, `{"query":" changed ","includeBody":true,"searchType":"keyword","accountUid":"`+alice+`","contextSize":0}`)
	if err != nil || !strings.Contains(text, `{"title":"Hello changed text.","url":"hm://`+alice+`/multi#p1aaaaaa","type":"document","parentNames":["Alice","Vector Doc"]`) {
		t.Fatalf("%s, %v", text, err)
	}
	if !strings.Contains(out["markdown"].(string), "<outside source=\"search\"") {
		t.Errorf("not fenced: %s", out["markdown"])
	}
	if got := server.Asked()[0].Query.Encode(); got != "accountUid="+alice+"&contextSize=0&includeBody=true&pageSize=20&query=changed&searchType=0" {
		t.Errorf("asked %s", got)
	}
	server.Answer("Search", "ab", 200, `{"json":{"entities":[{"id":{"id":"hm://x"},"commentId":"y/z","type":"comment","title":"<outside>"}]}}`)
	if _, text, err = call(t, search, `{"query":"ab"}`); err != nil || !strings.Contains(text, `"title":"‹outside›","url":"hm://y/z"`) {
		t.Errorf("a comment: %s, %v", text, err)
	}
	if got := server.Asked()[1].Query; got.Get("pageSize") != "30" || got.Get("searchType") != "2" || got.Get("contextSize") != "48" {
		t.Errorf("a short query asked %v", got)
	}
}

func TestQueryCompilesItsQuestion(t *testing.T) {
	t.Parallel()
	server := hypermediatest.New(t)
	query := tools(t, server.URL)["query"]
	out, text, err := call(t, query, `{"q":"priority=3 words","filter":{"exists":{"key":"done"}},"sort":[{"key":"name","descending":true}],"pageSize":2,"pageToken":"p"}`)
	if err != nil || !strings.Contains(text, `"url":"hm://`+alice+`/multi","name":"Vector Doc","account":"`+alice+`","path":"/multi","attributes":{"done":true`) {
		t.Fatalf("%s, %v", text, err)
	}
	if out["ignored"] == nil {
		t.Error("it does not say that words are ignored")
	}
	want := map[string]any{
		"filter": map[string]any{"and": map[string]any{"filters": []any{
			map[string]any{"comparison": map[string]any{"key": "priority", "operator": "EQUAL", "value": map[string]any{"intValue": "3"}}},
			map[string]any{"exists": map[string]any{"key": "done"}},
		}}},
		"sort": []any{map[string]any{"key": "name", "descending": true}}, "pageSize": int64(2), "pageToken": "p",
	}
	if got := server.Asked()[0].Input; !reflect.DeepEqual(got, want) {
		t.Errorf("asked %v", got)
	}
	if _, _, err := call(t, query, `{"q":"only words"}`); fault.CodeOf(err) != fault.ValidationFailed || !strings.Contains(err.Error(), "Use `search` for words") {
		t.Errorf("words: %v", err)
	}
	server.Answer("QueryDocuments", "bogus", 500, `{"error":"cannot decode message: key \"bogus\" is unknown"}`)
	if _, _, err := call(t, query, `{"filter":{"bogus":{}}}`); fault.CodeOf(err) != fault.ProviderError || !strings.Contains(err.Error(), `"bogus" is unknown`) {
		t.Errorf("a bad filter: %v", err)
	}
}

func TestAttributesListsNamesAndValues(t *testing.T) {
	t.Parallel()
	server := hypermediatest.New(t)
	attributes := tools(t, server.URL)["attributes"]
	if _, text, err := call(t, attributes, `{"account":"a","parent":"x.y","recursive":true,"prefix":"p"}`); err != nil || !strings.Contains(text, `{"kinds":["int"],"name":"priority"}`) {
		t.Errorf("names: %s, %v", text, err)
	}
	if _, text, err := call(t, attributes, `{"key":"theme.name","kind":"string","pageSize":7}`); err != nil || !strings.Contains(text, `"values":["Alice","Vector Doc"]`) {
		t.Errorf("values: %s, %v", text, err)
	}
	asked := server.Asked()
	if got := asked[0].Input; !reflect.DeepEqual(got, map[string]any{"account": "a", "prefix": "p", "parentPath": []any{"x", "y"}, "recursive": true, "pageSize": int64(50)}) {
		t.Errorf("names asked %v", got)
	}
	if got := asked[1].Input; !reflect.DeepEqual(got, map[string]any{"path": []any{"theme", "name"}, "kind": "DOCUMENT_ATTRIBUTE_KIND_STRING", "pageSize": int64(7)}) {
		t.Errorf("values asked %v", got)
	}
	if _, _, err := call(t, attributes, `{"kind":"int"}`); fault.CodeOf(err) != fault.ValidationFailed {
		t.Errorf("a kind without key: %v", err)
	}
}

func TestAServerThatIsAwayIsAnError(t *testing.T) {
	t.Parallel()
	for name, c := range tools(t, hypermediatest.Away) {
		_, _, err := call(t, c, `{"query":"x","q":"a=1"}`)
		if fault.CodeOf(err) != fault.ProviderError || !strings.HasPrefix(err.Error(), "The hypermedia server did not answer:") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := documents.Tools(nil); got != nil {
		t.Errorf("without a server there are %d tools", len(got))
	}
}
