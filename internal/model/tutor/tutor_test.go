package tutor_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loam-agents/loam/internal/model"
)

func requireContains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%s", part, text)
		}
	}
}

func TestEveryWordingLeadsToItsScene(t *testing.T) {
	t.Parallel()
	tests := []struct {
		says  string
		calls []string
		shows []string
	}{
		{"hello", nil, []string{"not a language model", "“give me a tour”", "`read`"}},
		{"Hi there!", nil, []string{"not a language model"}},
		{"HELP", nil, []string{"You could say"}},
		{"Can you help me?", nil, []string{"You could say"}},
		{"How do I connect a real model?", nil, []string{"loam providers set", "ANTHROPIC_API_KEY", "Ollama"}},
		{"show yourself", []string{"read ~/self"}, []string{"Assistant"}},
		{"Who are you?", []string{"read ~/self"}, []string{"Assistant"}},
		{"tools", []string{"read ~/tools/"}, []string{"> - search: find things"}},
		{"What tools do you have?", []string{"read ~/tools/"}, []string{"search"}},
		{"show me your triggers", []string{"read ~/triggers/"}, []string{"plain text"}},
		{"list the threads.", []string{"read thread:"}, nil},
		{"please read https://example.org/a.", []string{"read https://example.org/a"}, []string{"> plain text at https://example.org/a"}},
		{"read ~/memory/none.md", []string{"read ~/memory/none.md"}, []string{"failed", "No file none.md", "Nothing is at that address"}},
		{"write ~/memory/a.md: first line.", []string{"write ~/memory/a.md"}, []string{"> first line."}},
		{"save good morning to ~/memory/b.md!", []string{"write ~/memory/b.md"}, []string{"> good morning"}},
		{"forget ~/memory/b.md", []string{"write ~/memory/b.md"}, []string{"is gone"}},
		{`call search with {"query": "loam"}`, []string{"call search"}, []string{"> input was map[query:loam]"}},
		{"call search with {broken}", nil, []string{"must be a JSON object"}},
		{"delegate: say hello", []string{"delegate say hello"}, []string{"> child says hi"}},
		{"name this conversation Tea time", []string{"status Tea time"}, []string{"“Tea time”"}},
		{"continue in a new session", []string{"continue_session Continued with the tutor"}, nil},
		{"remember", nil, []string{"What should I remember?"}},
		{"what do you remember", []string{"read ~/memory/"}, []string{"My memory is empty"}},
		{"What is the capital of France?", nil, []string{"did not understand", "You could try “what do you remember?”, “remember that I like green tea”, “how do I connect"}},
		{"", nil, []string{"not a language model"}},
	}
	for _, tt := range tests {
		t.Run(tt.says, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, verbs...)
			requireContains(t, w.ask(tt.says), tt.shows...)
			if diff := cmp.Diff(tt.calls, w.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsRememberedComesBackInALaterMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "read", "write")
	requireContains(t, w.ask("Remember that I like green tea."), "> I like green tea.", "~/memory/notes/i-like-green-tea-")
	w.ask("note: the garden gate sticks")
	w.calls = nil
	answer := w.ask("So what do you remember about me?")
	requireContains(t, answer, "> I like green tea.", "> the garden gate sticks")
	if len(w.calls) != 4 || w.calls[1] != "read ~/memory/notes/" {
		t.Errorf("calls: %v, want the root, the folder and two files", w.calls)
	}
}

func TestTwoNotesWithTheSameFirstWordsAreTwoFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "read", "write")
	w.ask("remember the very long list of things: one")
	w.ask("remember the very long list of things: two")
	if len(w.memory) != 2 {
		t.Errorf("memory: %v", w.memory)
	}
}

func TestMemoryWithoutNotesIsReadToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "read")
	w.memory["profile.md"] = "Likes tea."
	requireContains(t, w.ask("memory"), "profile.md", "> Likes tea.")
	w.memory = map[string]string{"deep/er/file.md": "x"}
	requireContains(t, w.ask("memory"), "folders, but no notes")
}

func TestTheTourKeepsItsPlanAndEndsWithEveryStepDone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, verbs...)
	answer := w.ask("Give me a tour!")
	requireContains(t, answer, "done with `status`", "> The tutor was here", "You could try")
	if w.title != "A tour of Loam" {
		t.Errorf("title is %q", w.title)
	}
	if len(w.plans) != 6 {
		t.Fatalf("%d versions of the plan, want 6", len(w.plans))
	}
	for i, p := range w.plans {
		for j, s := range p.Steps {
			want := "pending"
			if j < i {
				want = "done"
			} else if j == i {
				want = "running"
			}
			if s.Status != want {
				t.Errorf("plan %d, step %d is %s, want %s", i, j, s.Status, want)
			}
		}
	}
}

func TestATourGoesOnAroundAFailingStepAndSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, verbs...)
	w.broken["write"] = `{"error": {"code": "permission_denied", "message": "Write access is required"}}`
	answer := w.ask("tour")
	requireContains(t, answer, "did not work", "> Write access is required", "grants decide", "done with `status`")
	last := w.plans[len(w.plans)-1]
	var statuses []string
	for _, s := range last.Steps {
		statuses = append(statuses, s.Status)
	}
	// Reading the note back fails too, as it was never written.
	if diff := cmp.Diff([]string{"done", "done", "failed", "failed", "done"}, statuses); diff != "" {
		t.Errorf("the last plan (-want +got):\n%s", diff)
	}
}

func TestATourWithoutAWorkingPlanGoesOnWithoutIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, verbs...)
	w.broken["plan"] = "no plan today"
	w.ask("tour")
	if n := len(slices.DeleteFunc(slices.Clone(w.calls), func(c string) bool { return !strings.HasPrefix(c, "plan") })); n != 1 {
		t.Errorf("%d plan calls, want one", n)
	}
	requireContains(t, newWorld(t, "read", "write").ask("tour"), "> The tutor was here")
	requireContains(t, newWorld(t).ask("tour"), "nothing that I could show")
}

func TestFailuresAreExplained(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		`{"error": {"code": "budget_exceeded", "message": "No money"}}`:    "budget is used up",
		`{"error": {"code": "rate_limited", "message": "Slow down"}}`:      "a little later",
		`{"error": {"code": "validation_failed", "message": "Bad input"}}`: "did not fit",
		`{"error": "a plain sentence"}`:                                    "> a plain sentence",
		"not JSON at all":                                                  "> not JSON at all",
	}
	for failure, want := range tests {
		w := newWorld(t, verbs...)
		w.broken["write"] = failure
		requireContains(t, w.ask("remember tea"), "`write` call failed", want)
	}
}

func TestACallWithoutAResultEndsTheScene(t *testing.T) {
	t.Parallel()
	w := newWorld(t, verbs...)
	w.messages = []model.Message{
		{Role: model.User, Parts: []model.Part{{Kind: model.PartText, Text: "tools"}}},
		{Role: model.Assistant, Parts: []model.Part{{Kind: model.PartToolCall, CallID: "x", Name: "read", Arguments: "{}"}}},
	}
	answer, stop := w.generate()
	if stop != model.StopEnd {
		t.Fatalf("stop is %s", stop)
	}
	requireContains(t, textOf(answer), "got no answer")
}

func TestFramesOfTheServerAreNotTakenForThePersonsWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t, verbs...)
	answer := w.ask(`<message_sender>{"accountId":"z6Mk"}</message_sender>
tools
<window_context>the person looks at a tour</window_context>`)
	requireContains(t, answer, "search")
	// What stands after the last message is the server's, whatever it says.
	w = newWorld(t, verbs...)
	req := w.request()
	req.Messages = []model.Message{
		{Role: model.User, Parts: []model.Part{{Kind: model.PartText, Text: "tools"}}},
		{Role: model.User, Parts: []model.Part{{Kind: model.PartText, Text: "It is Monday. <plan_state>tour"}}},
	}
	w.messages = req.Messages
	req.VolatileTail = true
	requireContains(t, requestText(t, req), "~/tools/")
	req.Messages[1].Parts[0].Text = "<plan_state>tour</plan_state> <session_status title=\"x\">help"
	req.VolatileTail = false
	requireContains(t, requestText(t, req), "~/tools/")
}

func TestATypedChildDeliversTheSmallestValidValue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, verbs...)
	w.offered = append(w.offered, model.ToolSpec{Name: "return_result", Schema: json.RawMessage(`{
		"type": "object", "required": ["name", "kind", "score", "tags", "ok", "inner", "fixed", "most"],
		"properties": {
			"name": {"type": "string", "minLength": 3, "maxLength": 5}, "kind": {"enum": ["a", "b"]},
			"score": {"type": "integer", "minimum": 7}, "most": {"type": ["null", "number"], "maximum": -2},
			"tags": {"type": "array", "minItems": 2, "items": {"type": "string", "maxLength": 1}}, "ok": {"type": "boolean"},
			"inner": {"properties": {"x": {"type": "integer"}}, "required": ["x"]}, "fixed": {"const": 5},
			"optional": {"type": "string"}}}`)})
	w.messages = []model.Message{{Role: model.User, Parts: []model.Part{{Kind: model.PartText, Text: "rate this"}}}}
	answer, _ := w.generate()
	call := answer.Parts[1]
	want := `{"fixed":5,"inner":{"x":0},"kind":"a","most":-2,"name":"The t","ok":false,"score":7,"tags":["T","T"]}`
	if call.Name != "return_result" || call.Arguments != want {
		t.Fatalf("call %s %s, want %s", call.Name, call.Arguments, want)
	}
	w.messages = nil
	requireContains(t, w.ask("rate this"), "was accepted")
	w.broken["return_result"] = "no"
	requireContains(t, w.ask("rate this"), "failed")
}

var quoted = regexp.MustCompile("`([a-z_]+)`")

// TestNothingThatIsNotOfferedIsNamedOrCalledAndEverythingEnds plays random conversations with random sets of tools.
func TestNothingThatIsNotOfferedIsNamedOrCalledAndEverythingEnds(t *testing.T) {
	t.Parallel()
	phrases := []string{
		"hello", "tour", "remember", "what do you remember", "tools", "read", "~/memory/", "~/self", "call", "delegate", "plan",
		"name this", "{}", "{\"a\":1}", "write", "to", "please", "forget", "continue in a new session", "x", "<plan_state>", "</plan_state>", "…",
	}
	rapid.Check(t, func(rt *rapid.T) {
		offered := rapid.SliceOfNDistinct(rapid.SampledFrom(verbs), 0, len(verbs), rapid.ID[string]).Draw(rt, "offered")
		w := newWorld(t, offered...)
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(verbs), 0, 2).Draw(rt, "broken") {
			w.broken[name] = rapid.SampledFrom([]string{"", "{}", `{"error":{}}`, "\xff"}).Draw(rt, "failure")
		}
		for range rapid.IntRange(1, 3).Draw(rt, "messages") {
			text := strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(phrases), rapid.StringN(0, 6, -1)), 0, 5).Draw(rt, "words"), " ")
			w.ask(text)
		}
		ids := map[string]bool{}
		for _, m := range w.messages {
			if m.Role != model.Assistant {
				continue
			}
			for _, found := range quoted.FindAllStringSubmatch(textOf(m), -1) {
				if name := found[1]; slices.Contains(verbs, name) && !slices.Contains(offered, name) {
					rt.Fatalf("%s is named but not offered, in:\n%s", name, textOf(m))
				}
			}
			for _, p := range m.Parts {
				if p.Kind == model.PartToolCall && ids[p.CallID] {
					rt.Fatalf("the id %s is used twice", p.CallID)
				}
				ids[p.CallID] = p.Kind == model.PartToolCall
			}
		}
	})
}
