package adaptertest

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/scripted"
)

var update = flag.Bool("update", false, "write the golden payloads instead of comparing them")

// Body sends a request and returns the payload that arrived.
func Body(t *testing.T, a Adapter, req model.Request) []byte {
	t.Helper()
	s := Serve(t, scripted.Say("ok"))
	if _, err := Collect(t.Context(), a.provider(t, s.BaseURL(a.Dialect)), req); err != nil {
		t.Fatal(err)
	}
	return s.Requests()[0].Body
}

// Golden compares a payload, indented, with a file in testdata; -update writes the file.
func Golden(t *testing.T, name string, body []byte) {
	t.Helper()
	var indented bytes.Buffer
	if err := json.Indent(&indented, body, "", "  "); err != nil {
		t.Fatalf("the payload is not JSON: %v", err)
	}
	indented.WriteByte('\n')
	path := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.WriteFile(path, indented.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run the test with -update)", err)
	}
	if !bytes.Equal(want, indented.Bytes()) {
		t.Errorf("the payload differs from %s; got:\n%s", path, indented.String())
	}
}

// Everything is a request with all that a conversation can hold: text beside parallel calls, a failed result, results that
// are late, doubled or without a call, a repeated id, arguments that are none, an image, blank text, messages of one role in
// a row, opaque blocks of this model, of another model and of another dialect, and a volatile tail.
func Everything(modelID string, own ...model.Part) model.Request {
	text := func(s string) model.Part { return model.Part{Kind: model.PartText, Text: s} }
	call := func(id, name, args string) model.Part {
		return model.Part{Kind: model.PartToolCall, CallID: id, Name: name, Arguments: args}
	}
	result := func(id, name, s string, failed bool) model.Part {
		return model.Part{Kind: model.PartToolResult, CallID: id, Name: name, Text: s, IsError: failed}
	}
	foreign := func(d model.Dialect, m string) model.Part {
		return model.Part{Kind: model.PartOpaque, Opaque: &model.Opaque{Dialect: d, Model: m, Block: json.RawMessage(`{"foreign":true}`)}}
	}
	first := append([]model.Part{foreign(model.OpenAIResponses, modelID), foreign(model.Anthropic, "another-model")}, own...)
	first = append(first, text("Let me look at both."), call("c1", "read", `{"address":"~/a <b> & c"}`), call("c2", "read", ""))
	return model.Request{
		Model: modelID, System: "You are an agent. <rules> & more.", Reasoning: model.ReasoningMedium, VolatileTail: true,
		Tools: []model.ToolSpec{
			{Name: "read", Description: "Read an address.", Schema: json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"address":{"type":"string"}},"required":["address"],"additionalProperties":false}`)},
			{Name: "status", Description: "No input."},
		},
		Messages: []model.Message{
			{Role: model.User, Parts: []model.Part{text("Look at this."), {Kind: model.PartImage, MIMEType: "image/png", Data: []byte{0x89, 'P', 'N', 'G'}}}},
			{Role: model.User, Parts: []model.Part{text("  "), text("And be quick.")}},
			{Role: model.Assistant, Parts: first},
			{Role: model.Tool, Parts: []model.Part{result("c2", "read", "no such address", true)}},
			{Role: model.Tool, Parts: []model.Part{result("c1", "read", "content of a", false), result("c1", "read", "again", false), result("lost", "read", "orphan", false)}},
			{Role: model.Assistant, Parts: []model.Part{call("c1", "status", "null"), call("never", "read", `{"broken`)}},
			{Role: model.Tool, Parts: []model.Part{result("c1", "status", "", false)}},
			{Role: model.User, Parts: []model.Part{text("<session_status>Monday</session_status>")}},
		},
	}
}

// testShapes sends random conversations: the payload must be JSON and the answer must come.
func testShapes(t *testing.T, a Adapter) {
	turn := scripted.Say("ok")
	turn.Repeat = true
	s := Serve(t, turn)
	p := a.provider(t, s.BaseURL(a.Dialect))
	rapid.Check(t, func(rt *rapid.T) {
		req := model.Request{Model: a.Model, Messages: rapid.SliceOfN(messages(), 1, 6).Draw(rt, "messages"), VolatileTail: rapid.Bool().Draw(rt, "tail")}
		before, err := json.Marshal(req.Messages)
		if err != nil {
			rt.Fatal(err)
		}
		if _, err := Collect(t.Context(), p, req); err != nil {
			rt.Fatalf("the stream failed: %v", err)
		}
		sent := s.Requests()
		if body := sent[len(sent)-1].Body; !json.Valid(body) {
			rt.Fatalf("not JSON: %s", body)
		}
		if after, _ := json.Marshal(req.Messages); !bytes.Equal(before, after) {
			rt.Fatal("the adapter changed the request")
		}
	})
}

// testAnyStream plays random events: whatever arrives, the sequence ends with done or with one *model.Error, at once.
func testAnyStream(t *testing.T, a Adapter) {
	s := Serve(t)
	p := a.provider(t, s.BaseURL(a.Dialect))
	frames := append([]string{"", "null", "{}", "[]", "0", `{"type":null}`}, a.Frames...)
	rapid.Check(t, func(rt *rapid.T) {
		var turn scripted.Turn
		for _, f := range rapid.SliceOfN(rapid.SampledFrom(frames), 0, 8).Draw(rt, "frames") {
			if rapid.IntRange(0, 9).Draw(rt, "cut") == 0 {
				f = f[:len(f)/2]
			}
			turn.Steps = append(turn.Steps, scripted.Step{Raw: f + " "})
		}
		s.Push(turn)
		ended := false
		for ev, err := range p.Stream(t.Context(), a.hello()) {
			if ended {
				rt.Fatal("the sequence went on after its end")
			}
			_, typed := model.AsError(err)
			if err != nil && !typed {
				rt.Fatalf("the error is a %T", err)
			}
			ended = err != nil || ev.Kind == model.EventDone
		}
		if !ended {
			rt.Fatal("the sequence ended with neither done nor an error")
		}
	})
}

func messages() *rapid.Generator[model.Message] {
	return rapid.Custom(func(t *rapid.T) model.Message {
		m := model.Message{Role: rapid.SampledFrom([]model.Role{model.User, model.Assistant, model.Tool}).Draw(t, "role")}
		for range rapid.IntRange(0, 3).Draw(t, "parts") {
			m.Parts = append(m.Parts, part(t, m.Role))
		}
		return m
	})
}

func part(t *rapid.T, role model.Role) model.Part {
	id := rapid.SampledFrom([]string{"", "a", "b", "c.d|e"}).Draw(t, "id")
	text := rapid.SampledFrom([]string{"", " ", "text", "<&>\u2028", "\x00"}).Draw(t, "text")
	if role == model.Tool {
		return model.Part{Kind: model.PartToolResult, CallID: id, Name: "read", Text: text, IsError: rapid.Bool().Draw(t, "failed")}
	}
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		return model.Part{Kind: model.PartImage, MIMEType: "image/png", Data: []byte("x")}
	case 1:
		if role == model.Assistant {
			args := rapid.SampledFrom([]string{"", "null", "{}", `{"a":1}`, `{"a"`, "[1]", " {\"b\":2} "}).Draw(t, "arguments")
			return model.Part{Kind: model.PartToolCall, CallID: id, Name: "read", Arguments: args}
		}
	case 2:
		if role == model.Assistant {
			return model.Part{Kind: model.PartOpaque, Opaque: &model.Opaque{Dialect: model.OpenAIResponses, Model: "m", Block: json.RawMessage(`{}`)}}
		}
	}
	return model.Part{Kind: model.PartText, Text: text}
}
