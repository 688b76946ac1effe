package engine

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/loam-agents/loam/internal/fault"
)

// explain is the text of a failed call for the model. What is not meant for others is logged instead.
func (t *turn) explain(c *call, err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Code != fault.Internal {
		return cutUTF8(f.Message, MaxResultShown)
	}
	t.engine.opts.Logger.Error("call failed", "tool", c.part.Name, "run", t.run.ID, "session", t.run.Session, "account", t.run.Account, "agent", t.run.Agent, "error", err)
	return "The server failed while it carried out this call."
}

// kept bounds what the log keeps of a result.
func kept(output json.RawMessage) json.RawMessage {
	if len(output) <= MaxResultKept {
		return output
	}
	var summary struct {
		Summary string `json:"summary"`
	}
	_ = json.Unmarshal(output, &summary) // a result without a summary has an empty one
	short, err := json.Marshal(map[string]any{
		"summary": summary.Summary, "truncated": true, "size": len(output),
		"content": strings.ToValidUTF8(string(output[:MaxResultKept/2]), ""),
	})
	if err != nil || len(short) > MaxResultKept {
		return json.RawMessage(`{"summary":"The result was too large to keep.","truncated":true}`)
	}
	return short
}

// detail is a call's subject in one line, for the live activity.
func detail(arguments string) string {
	var in struct{ Address, Title string }
	if json.Unmarshal([]byte(arguments), &in) != nil {
		return ""
	}
	if in.Address != "" {
		return cutUTF8(in.Address, 200)
	}
	return cutUTF8(in.Title, 200)
}
