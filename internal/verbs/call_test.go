package verbs_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/tooldoc"
)

// echo is a callable that acts outside and says what it was given.
type echo struct{}

func (echo) Document() tooldoc.Document {
	return tooldoc.Document{
		Name: "echo", Summary: "Says it again.", Description: "Says it again.",
		Input: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`),
	}
}
func (echo) Effect() tooldoc.Effect { return tooldoc.SideEffecting }
func (echo) Call(_ context.Context, _ space.Scope, input json.RawMessage) (space.Result, error) {
	return space.Result{"summary": "Said", "input": string(input)}, nil
}

// everything stands for ~/tools.
type everything struct{}

func (everything) Serves(address string) bool { return address == "~/tools/" }
func (everything) Forms() []space.Form        { return nil }
func (everything) Read(context.Context, space.Scope, space.ReadRequest) (space.Result, error) {
	return space.Result{"tools": []string{"echo"}}, nil
}

func TestCallReachesAToolAndHidesItsDescription(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		out, err := b.call("run", "call", `{"tool":"echo","input":{"text":"hi"},"description":"Greet"}`)
		if err != nil || out["input"] != `{"text":"hi"}` {
			t.Errorf("call = %v, %v", out, err)
		}
		if out, err := b.call("run", "echo", `{"text":"hi"}`); err != nil || out["input"] != `{"text":"hi"}` {
			t.Errorf("the tool by its own name = %v, %v", out, err)
		}
		if got := b.prepare("run", "call", `{"tool":"echo","input":{"text":"hi"}}`).Effect; got != tooldoc.SideEffecting {
			t.Errorf("the class is %s", got)
		}
	})
}

func TestAnInputThatDoesNotFitIsAnsweredWithTheContract(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		for _, arguments := range []string{
			`{"tool":"echo"}`, `{"tool":"echo","input":{}}`, `{"tool":"echo","input":null}`, `{"tool":"echo","input":"{}"}`, `{"tool":"echo","input":[1]}`,
			`{"tool":" echo ","input":{"text":1}}`, `{"tool":"echo","input":{"text":"a","more":1}}`,
		} {
			out, err := b.call("run", "call", arguments)
			contract, _ := out["contract"].(string)
			if err != nil || !strings.HasPrefix(contract, "# echo\n") || out["input"] != nil {
				t.Errorf("%s = %v, %v", arguments, out, err)
			}
			if got := b.prepare("run", "call", arguments).Effect; got != tooldoc.Pure {
				t.Errorf("%s is %s", arguments, got)
			}
		}
		for _, arguments := range []string{"", "null", `{"tool":`, `{"input":{}}`, `{"tool":1}`, `{"tool":"echo","inputs":{}}`} {
			out, err := b.call("run", "call", arguments)
			if contract, _ := out["contract"].(string); err != nil || !strings.HasPrefix(contract, "# call\n") {
				t.Errorf("%s = %v, %v", arguments, out, err)
			}
		}
	})
}

func TestANameThatTheAgentDoesNotHoldIsAnsweredWithItsTools(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		for name, want := range map[string]string{
			"": "No callable tool named", "bash": `No callable tool named "bash"`, "read": "a verb is used directly", "../echo": "No callable tool",
		} {
			out, err := b.call("run", "call", `{"tool":"`+name+`","input":{"text":"a"}}`)
			if summary, _ := out["summary"].(string); err != nil || !strings.Contains(summary, want) || out["tools"] == nil {
				t.Errorf("%q = %v, %v", name, out, err)
			}
			if out["input"] != nil {
				t.Errorf("%q was carried out", name)
			}
		}
		if _, err := b.call("run", "bash", `{}`); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("a name that is neither a verb nor a tool: %v", err)
		}
	})
}
