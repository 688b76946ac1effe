package tutor_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/tutor"
)

// verbs are all the tools that the server may offer.
var verbs = []string{"read", "write", "call", "delegate", "plan", "status", "continue_session"}

// world is a conversation with a tutor and simple tools that behave as the verbs do.
type world struct {
	t       *testing.T
	offered []model.ToolSpec
	memory  map[string]string
	title   string
	plans   []plan
	// broken maps a tool to the failure that it answers with.
	broken   map[string]string
	messages []model.Message
	calls    []string
	usage    model.Usage
}

type plan struct {
	Title string
	Steps []struct{ ID, Label, Status string }
}

func newWorld(t *testing.T, names ...string) *world {
	w := &world{t: t, memory: map[string]string{}, broken: map[string]string{}}
	for _, name := range names {
		w.offered = append(w.offered, model.ToolSpec{Name: name, Schema: json.RawMessage(`{"type":"object"}`)})
	}
	return w
}

// maxTurns is more than any scene needs: a conversation that reaches it does not end.
const maxTurns = 20

// ask says something and lets the tutor act until it has answered; it returns the last answer.
func (w *world) ask(text string) string {
	w.t.Helper()
	w.messages = append(w.messages, model.Message{Role: model.User, Parts: []model.Part{{Kind: model.PartText, Text: text}}})
	for range maxTurns {
		answer, stop := w.generate()
		w.messages = append(w.messages, answer)
		if stop == model.StopEnd {
			return textOf(answer)
		}
		w.messages = append(w.messages, w.answer(answer))
	}
	w.t.Fatalf("%q leads to more than %d rounds of calls", text, maxTurns)
	return ""
}

func (w *world) request() model.Request {
	return model.Request{Model: tutor.ModelID, System: "You are an agent.", Messages: w.messages, Tools: w.offered}
}

func (w *world) generate() (model.Message, model.StopReason) {
	w.t.Helper()
	var streamed strings.Builder
	for ev, err := range tutor.New(tutor.Config{}).Stream(w.t.Context(), w.request()) {
		if err != nil {
			w.t.Fatal(err)
		}
		streamed.WriteString(ev.Text)
		if ev.Kind == model.EventDone {
			if streamed.String() != textOf(ev.Message) {
				w.t.Fatalf("streamed %q, stored %q", streamed.String(), textOf(ev.Message))
			}
			w.usage = w.usage.Add(ev.Usage)
			return ev.Message, ev.Stop
		}
	}
	w.t.Fatal("the stream ended without an answer")
	return model.Message{}, ""
}

func textOf(m model.Message) string {
	for _, p := range m.Parts {
		if p.Kind == model.PartText {
			return p.Text
		}
	}
	return ""
}

// answer runs the calls of an answer.
func (w *world) answer(m model.Message) model.Message {
	w.t.Helper()
	out := model.Message{Role: model.Tool}
	for _, p := range m.Parts {
		if p.Kind != model.PartToolCall {
			continue
		}
		if !slices.ContainsFunc(w.offered, func(s model.ToolSpec) bool { return s.Name == p.Name }) {
			w.t.Fatalf("a call to %s, which is not offered", p.Name)
		}
		var args map[string]any
		if err := json.Unmarshal([]byte(p.Arguments), &args); err != nil {
			w.t.Fatalf("arguments of %s: %v", p.Name, err)
		}
		w.calls = append(w.calls, strings.TrimSpace(p.Name+" "+fmt.Sprint(first(args, "address", "tool", "brief", "title"))))
		result, failed := w.execute(p.Name, args)
		out.Parts = append(out.Parts, model.Part{Kind: model.PartToolResult, CallID: p.CallID, Name: p.Name, Text: result, IsError: failed})
	}
	return out
}

func first(args map[string]any, keys ...string) any {
	for _, k := range keys {
		if v, ok := args[k]; ok {
			return v
		}
	}
	return ""
}

func (w *world) execute(name string, args map[string]any) (string, bool) {
	if failure, ok := w.broken[name]; ok {
		return failure, true
	}
	address, _ := args["address"].(string)
	switch name {
	case "read":
		return w.read(address)
	case "write":
		return w.write(address, args)
	case "status":
		w.title, _ = args["title"].(string)
		return encode(map[string]any{"ok": true, "title": w.title}), false
	case "plan":
		var p plan
		_ = json.Unmarshal([]byte(encode(args)), &p)
		w.plans = append(w.plans, p)
		return encode(map[string]any{"ok": true}), false
	case "call":
		return encode(map[string]any{"summary": "called", "markdown": fmt.Sprintf("input was %v", args["input"])}), false
	case "delegate":
		return encode(map[string]any{"status": "succeeded", "output": map[string]any{"text": "child says hi"}}), false
	}
	return encode(map[string]any{"ok": true}), false
}

func (w *world) read(address string) (string, bool) {
	path, inMemory := strings.CutPrefix(address, "~/memory/")
	switch {
	case inMemory && (path == "" || strings.HasSuffix(path, "/")):
		return w.list(path), false
	case inMemory:
		content, ok := w.memory[path]
		if !ok {
			return encode(map[string]any{"error": map[string]any{"code": "not_found", "message": "No file " + path}}), true
		}
		return encode(map[string]any{"summary": "read", "path": path, "content": content}), false
	case address == "~/self":
		return encode(map[string]any{"summary": "self", "name": "Assistant", "model": "tutor"}), false
	case address == "~/tools/":
		return encode(map[string]any{"summary": "tools", "markdown": "- search: find things"}), false
	}
	return "plain text at " + address, false
}

func (w *world) list(folder string) string {
	entries := []any{}
	seen := map[string]bool{}
	for _, path := range slices.Sorted(maps.Keys(w.memory)) {
		rest, ok := strings.CutPrefix(path, folder)
		name, _, deeper := strings.Cut(rest, "/")
		if !ok || seen[name] {
			continue
		}
		seen[name] = true
		kind := "file"
		if deeper {
			kind = "directory"
		}
		entries = append(entries, map[string]any{"path": folder + name, "type": kind})
	}
	return encode(map[string]any{"summary": "listing", "path": folder, "entries": entries})
}

func (w *world) write(address string, args map[string]any) (string, bool) {
	path := strings.TrimPrefix(address, "~/memory/")
	if options, ok := args["options"].(map[string]any); ok && options["delete"] == true {
		delete(w.memory, path)
		return encode(map[string]any{"path": path, "deleted": true}), false
	}
	w.memory[path], _ = args["content"].(string)
	return encode(map[string]any{"summary": "written", "path": path}), false
}

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}
