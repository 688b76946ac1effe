package scripted

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/loam-agents/loam/internal/model"
)

// Script is what the model will say. It is also the format of a script file (JSON, the same names in lower camel case).
type Script struct {
	// Models is the list that the service offers; empty offers "scripted-1".
	Models []string `json:"models,omitempty"`
	// Key, when set, is the API key that every request must carry in the place its dialect wants it.
	Key string `json:"key,omitempty"`
	// Turns answer requests: each request takes the first turn that matches it and is not used up.
	Turns []Turn `json:"turns"`
}

// Turn is one answer.
type Turn struct {
	// Match decides which requests the turn may answer; the zero value matches all.
	Match Match `json:"match,omitzero"`
	// Repeat lets the turn answer any number of requests instead of one.
	Repeat bool `json:"repeat,omitempty"`
	// Steps are played in order. No steps is an empty answer.
	Steps []Step `json:"steps,omitempty"`
	// DelayMillis waits before every step; zero plays as fast as the connection takes it.
	DelayMillis int `json:"delayMillis,omitempty"`
	// Usage is reported at the end, in the dialect's own way of counting.
	Usage model.Usage `json:"usage,omitzero"`
	// Stop overrides the stop reason; empty is tool_calls after a call and end otherwise.
	Stop model.StopReason `json:"stop,omitempty"`
	// Status other than 0 and 200 answers with an HTTP error in the dialect's shape instead of a stream.
	Status int `json:"status,omitempty"`
	// Headers are added to the response, such as Retry-After.
	Headers map[string]string `json:"headers,omitempty"`
	// ErrorCode and ErrorMessage fill the body of an HTTP error.
	ErrorCode    string `json:"errorCode,omitempty"`
	ErrorMessage string `json:"errorMessage,omitempty"`
	// Body, when set, is sent verbatim as the whole response, with Headers and Status (200 when zero).
	Body string `json:"body,omitempty"`
}

// Match is a conjunction of conditions on a request; empty conditions hold.
type Match struct {
	// Model is the exact model id.
	Model string `json:"model,omitempty"`
	// User is a substring of the user texts that follow the last assistant message.
	User string `json:"user,omitempty"`
	// Result is a substring of the tool results that follow the last assistant message.
	Result string `json:"result,omitempty"`
	// System is a substring of the system prompt.
	System string `json:"system,omitempty"`
	// Nth is the number of the generation request since the start, from 1.
	Nth int `json:"nth,omitempty"`
}

// Step is one thing that happens in a stream. Exactly one field is set, apart from Times.
type Step struct {
	// Text is one delta of visible text.
	Text string `json:"text,omitempty"`
	// Reasoning is one delta of readable thinking.
	Reasoning string `json:"reasoning,omitempty"`
	// Opaque is the dialect's block of hidden state with this content: a thinking signature or redacted thinking
	// (Anthropic), encrypted reasoning (Responses), a thought signature on the next part (Gemini), reasoning_details (Chat).
	Opaque string `json:"opaque,omitempty"`
	// Call asks for a tool.
	Call *Call `json:"call,omitempty"`
	// Gate stops until the test opens the gate of this name with Server.Open.
	Gate string `json:"gate,omitempty"`
	// WaitMillis pauses.
	WaitMillis int `json:"waitMillis,omitempty"`
	// Raw is sent as one event (a line for Ollama), whatever it holds.
	Raw string `json:"raw,omitempty"`
	// Fail is an error reported inside the stream with this message; the stream ends.
	Fail string `json:"fail,omitempty"`
	// Cut ends the response without its end mark: CutAbort or CutClean.
	Cut string `json:"cut,omitempty"`
	// Times repeats the step, for benchmarks; zero is once.
	Times int `json:"times,omitempty"`
}

// The ways to cut a stream.
const (
	// CutAbort breaks the connection.
	CutAbort = "abort"
	// CutClean ends the response body as if it were complete.
	CutClean = "clean"
)

// Call is a tool call as the model writes it.
type Call struct {
	// ID is the call id; empty gets "call_<request>_<index>". Dialects without ids ignore it.
	ID string `json:"id,omitempty"`
	// Name is the tool.
	Name string `json:"name"`
	// Arguments are sent verbatim: they may be empty, null or broken. Gemini and Ollama carry objects and leave out what is
	// not JSON.
	Arguments string `json:"arguments"`
	// Quirks are deviations of OpenAI-compatible servers; see the Quirk constants.
	Quirks []string `json:"quirks,omitempty"`
}

// The quirks of OpenAI-compatible servers.
const (
	// QuirkNoIndex leaves the index of a tool call out.
	QuirkNoIndex = "no_index"
	// QuirkNoID leaves the id out.
	QuirkNoID = "no_id"
	// QuirkWhole sends name and arguments in one chunk.
	QuirkWhole = "whole"
	// QuirkRepeat repeats id and name in every fragment.
	QuirkRepeat = "repeat"
)

// Say is a turn that says the given deltas.
func Say(deltas ...string) Turn {
	t := Turn{}
	for _, d := range deltas {
		t.Steps = append(t.Steps, Step{Text: d})
	}
	return t
}

// CallTool is a turn that asks for one tool.
func CallTool(name, arguments string) Turn {
	return Turn{Steps: []Step{{Call: &Call{Name: name, Arguments: arguments}}}}
}

// FailWith is a turn that answers with an HTTP error.
func FailWith(status int, code, message string) Turn {
	return Turn{Status: status, ErrorCode: code, ErrorMessage: message}
}

// LoadFile reads a script file. Unknown fields are errors, so that a typo does not silently change a script.
func LoadFile(path string) (Script, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Script{}, fmt.Errorf("read the script: %w", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	var s Script
	if err := dec.Decode(&s); err != nil {
		return Script{}, fmt.Errorf("decode the script %s: %w", path, err)
	}
	return s, nil
}

func (t Turn) stop() model.StopReason {
	if t.Stop != "" {
		return t.Stop
	}
	for _, s := range t.Steps {
		if s.Call != nil {
			return model.StopToolCalls
		}
	}
	return model.StopEnd
}

func (t Turn) status() int {
	if t.Status == 0 {
		return http.StatusOK
	}
	return t.Status
}

func (t Turn) delay() time.Duration { return time.Duration(t.DelayMillis) * time.Millisecond }

func (c Call) has(quirk string) bool {
	for _, q := range c.Quirks {
		if q == quirk {
			return true
		}
	}
	return false
}
