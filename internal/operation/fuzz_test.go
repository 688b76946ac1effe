package operation_test

import (
	"testing"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/operation"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

// FuzzAction sends any fields to any operation: whatever they hold, the answer is an answer and never a defect of the server.
func FuzzAction(f *testing.F) {
	h := servertest.Start(f, server.Config{})
	key, err := principal.Generate(nil)
	if err != nil {
		f.Fatal(err)
	}
	operations := operation.New(operation.Options{}).Operations()
	// Sessions and agents that exist let the fields behind their ids be read.
	agent := servertest.Call[wire.ListAgentsResponse](h, "ListAgents", nil).Agents[0].ID
	session := h.Session(agent)
	seed := func(op int, fields object) {
		raw, err := dagcbor.Marshal(fields)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(op), true, raw)
		f.Add(uint8(op), false, raw)
	}
	odd := []any{nil, true, int64(-1), 1.5, "", "a\x00", []byte{0xff}, []any{nil, []any{}, object{}}, object{"": object{"/": "x"}}}
	for i := range operations {
		for j, v := range odd {
			w := odd[(j+i)%len(odd)]
			seed(i, object{
				"content": []any{v, object{"type": "text", "text": w, "blocks": v}}, "title": v, "definition": v, "provider": w, "name": v,
				"value": w, "cursor": v, "limit": w, "afterSeq": v, "modelOverride": w, "path": v, "metadata": w, "agentId": v,
			})
		}
	}
	f.Fuzz(func(t *testing.T, op uint8, known bool, raw []byte) {
		var fields map[string]any
		if dagcbor.Unmarshal(raw, &fields) != nil || fields == nil {
			return
		}
		name := operations[int(op)%len(operations)].Name
		owner := h.Key
		if known {
			fields["agentId"], fields["sessionId"] = agent, session
			if name == "DeleteAgent" || name == "DeleteSession" || name == "DeleteModelProvider" {
				return
			}
		} else {
			owner = key
		}
		fields["_"] = name
		body := signRawAction(t, owner, fields)
		status, answer := post(t, h.URL, body)
		if status == fault.From(errDefect).Status() {
			t.Errorf("%s: %d %v", name, status, decode(t, answer))
		}
	})
}
