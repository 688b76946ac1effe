package openai

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/loam-agents/loam/internal/model"
)

// callDelta is a fragment of a tool call. Servers leave out every field but the function.
type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name string `json:"name"`
		// Arguments is a string; some servers send the object itself.
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// callList puts fragments together.
type callList struct {
	calls   []*growingCall
	byIndex map[int]*growingCall
}

type growingCall struct {
	id, name  string
	arguments strings.Builder
	started   bool
}

// add takes a fragment and returns the call that it starts, once its name is known.
func (l *callList) add(d callDelta) *growingCall {
	c := l.find(d)
	if c == nil {
		c = &growingCall{id: d.ID}
		l.calls = append(l.calls, c)
	}
	if d.Index != nil {
		if l.byIndex == nil {
			l.byIndex = map[int]*growingCall{}
		}
		l.byIndex[*d.Index] = c
	}
	if c.name == "" {
		c.name = d.Function.Name
	}
	if c.id == "" {
		c.id = d.ID
	}
	c.arguments.WriteString(argumentText(d.Function.Arguments))
	if c.started || c.name == "" {
		return nil
	}
	c.started = true
	if c.id == "" {
		c.id = l.freeID()
	}
	return c
}

// find returns the call that a fragment continues, nil when it starts one.
func (l *callList) find(d callDelta) *growingCall {
	if d.Index != nil {
		c := l.byIndex[*d.Index]
		if c != nil && d.startsAnother(c) {
			return nil
		}
		return c
	}
	if d.ID != "" {
		for _, c := range l.calls {
			if c.id == d.ID {
				return c
			}
		}
		return nil
	}
	if len(l.calls) == 0 {
		return nil
	}
	last := l.calls[len(l.calls)-1]
	if d.Function.Name != "" && (d.Function.Name != last.name || json.Valid([]byte(last.arguments.String()))) {
		return nil
	}
	return last
}

// startsAnother knows servers that send every call with index 0: a new id comes with a name.
func (d callDelta) startsAnother(c *growingCall) bool {
	return d.ID != "" && c.id != "" && d.ID != c.id && d.Function.Name != ""
}

// freeID makes an id for a call that came without one, unique in its message.
func (l *callList) freeID() string {
	taken := map[string]bool{}
	for _, c := range l.calls {
		taken[c.id] = true
	}
	for n := len(l.calls); ; n++ {
		if id := "call_" + strconv.Itoa(n); !taken[id] {
			return id
		}
	}
}

// parts are the finished calls in the order they began. A fragment that never got a name is nothing that could be called.
func (l *callList) parts() []model.Part {
	var out []model.Part
	for _, c := range l.calls {
		if c.started {
			out = append(out, model.Part{Kind: model.PartToolCall, CallID: c.id, Name: c.name, Arguments: c.arguments.String()})
		}
	}
	return out
}

func argumentText(raw json.RawMessage) string {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}
