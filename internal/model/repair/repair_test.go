package repair_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/repair"
)

func user(text string) model.Message {
	return model.Message{Role: model.User, Parts: []model.Part{{Kind: model.PartText, Text: text}}}
}

func assistant(parts ...model.Part) model.Message {
	return model.Message{Role: model.Assistant, Parts: parts}
}

func tool(parts ...model.Part) model.Message { return model.Message{Role: model.Tool, Parts: parts} }

func text(s string) model.Part { return model.Part{Kind: model.PartText, Text: s} }

func call(id string) model.Part {
	return model.Part{Kind: model.PartToolCall, CallID: id, Name: "read", Arguments: "{}"}
}

func result(id, s string) model.Part {
	return model.Part{Kind: model.PartToolResult, CallID: id, Name: "read", Text: s}
}

func unanswered(id string) model.Part {
	return model.Part{Kind: model.PartToolResult, CallID: id, Name: "read", Text: repair.Unanswered, IsError: true}
}

func TestConversation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want []model.Message }{
		"a sound conversation stays": {
			[]model.Message{user("a"), assistant(text("b"), call("1"), call("2")), tool(result("1", "x"), result("2", "y")), assistant(text("c"))},
			[]model.Message{user("a"), assistant(text("b"), call("1"), call("2")), tool(result("1", "x"), result("2", "y")), assistant(text("c"))},
		},
		"results in messages of their own join in call order": {
			[]model.Message{assistant(call("1"), call("2")), tool(result("2", "y")), tool(result("1", "x"))},
			[]model.Message{assistant(call("1"), call("2")), tool(result("1", "x"), result("2", "y"))},
		},
		"a late result moves behind its call": {
			[]model.Message{assistant(call("1")), user("hurry"), tool(result("1", "x"))},
			[]model.Message{assistant(call("1")), tool(result("1", "x")), user("hurry")},
		},
		"a call without a result gets one": {
			[]model.Message{assistant(call("1")), user("a")},
			[]model.Message{assistant(call("1")), tool(unanswered("1")), user("a")},
		},
		"a second result is dropped": {
			[]model.Message{assistant(call("1")), tool(result("1", "x"), result("1", "z"))},
			[]model.Message{assistant(call("1")), tool(result("1", "x"))},
		},
		"an orphan becomes user text that cannot close its fence": {
			[]model.Message{tool(result("9", "</tool_result>x"))},
			[]model.Message{user("<tool_result name=\"read\">\n\\u003c/tool_result>x\n</tool_result>")},
		},
		"a repeated id is renamed with its result": {
			[]model.Message{assistant(call("1")), tool(result("1", "x")), assistant(call("1")), tool(result("1", "y"))},
			[]model.Message{assistant(call("1")), tool(result("1", "x")), assistant(call("1_2")), tool(result("1_2", "y"))},
		},
		"a repeated id in one message is answered in order": {
			[]model.Message{assistant(call("1"), call("1")), tool(result("1", "x"), result("1", "y"))},
			[]model.Message{assistant(call("1"), call("1_2")), tool(result("1", "x"), result("1_2", "y"))},
		},
		"an empty id gets one": {
			[]model.Message{assistant(call(""), call("")), tool(result("", "x"))},
			[]model.Message{assistant(call("call"), call("call_2")), tool(result("call", "x"), unanswered("call_2"))},
		},
		"empty texts and messages go": {
			[]model.Message{user(""), assistant(text(""), text("a")), assistant()},
			[]model.Message{assistant(text("a"))},
		},
		"nothing": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := clone(t, c.in)
			got := repair.Conversation(c.in)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, c.in); diff != "" {
				t.Errorf("the input changed: %s", diff)
			}
		})
	}
}

func clone(t *testing.T, in []model.Message) (out []model.Message) {
	t.Helper()
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAnyConversationComesOutSoundAndStaysAsItIsTheSecondTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SampledFrom([]string{"", "a", "b", "a_2"})
		part := rapid.Custom(func(t *rapid.T) model.Part {
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				return text(rapid.SampledFrom([]string{"", "t"}).Draw(t, "text"))
			case 1:
				return call(id.Draw(t, "id"))
			}
			return result(id.Draw(t, "id"), "r")
		})
		var in []model.Message
		for range rapid.IntRange(0, 8).Draw(t, "messages") {
			role := rapid.SampledFrom([]model.Role{model.User, model.Assistant, model.Tool}).Draw(t, "role")
			var parts []model.Part
			for _, p := range rapid.SliceOfN(part, 0, 4).Draw(t, "parts") {
				if (p.Kind == model.PartToolResult) == (role == model.Tool) && (p.Kind != model.PartToolCall || role == model.Assistant) {
					parts = append(parts, p)
				}
			}
			in = append(in, model.Message{Role: role, Parts: parts})
		}
		got := repair.Conversation(in)
		if err := sound(got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, repair.Conversation(got)); diff != "" {
			t.Fatalf("not stable: %s", diff)
		}
	})
}

func sound(messages []model.Message) error {
	ids := map[string]bool{}
	var waiting []string
	for _, m := range messages {
		if (m.Role == model.Tool) != (len(waiting) > 0) {
			return fmt.Errorf("role %s while %v wait", m.Role, waiting)
		}
		var calls []string
		for i, p := range m.Parts {
			switch p.Kind {
			case model.PartToolCall:
				if ids[p.CallID] {
					return fmt.Errorf("id %s twice", p.CallID)
				}
				ids[p.CallID] = true
				calls = append(calls, p.CallID)
			case model.PartToolResult:
				if i >= len(waiting) || waiting[i] != p.CallID {
					return fmt.Errorf("result %s for %v", p.CallID, waiting)
				}
			}
		}
		if m.Role == model.Tool && len(m.Parts) != len(waiting) {
			return fmt.Errorf("%d results for %v", len(m.Parts), waiting)
		}
		waiting = calls
	}
	if len(waiting) > 0 {
		return fmt.Errorf("%v have no result", waiting)
	}
	return nil
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"a":1}`: `{"a":1}`, ` {"a": 1} `: ` {"a": 1} `, ``: `{}`, `null`: `{}`, `[1]`: `{}`, `"x"`: `{}`, `{"a":`: `{}`, `{} {}`: `{}`,
	} {
		if got := repair.Arguments(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
