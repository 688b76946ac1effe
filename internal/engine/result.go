package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
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

// stopped writes down what a canceled turn had said, or that it was stopped, and answers calls that it had announced.
func (t *turn) stopped(ctx context.Context) {
	text := t.partial.text.String()
	err := t.engine.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		if err := t.lease.CheckStopped(tx); err != nil {
			return err
		}
		entries := t.unanswered("The turn was stopped before this call had a result.")
		switch {
		case text != "":
			entries = append(entries, t.entry(wire.MessageEvent{Type: sessionlog.TypeMessage, Role: "assistant", Content: text}))
		case t.said == "" && len(entries) == 0:
			entries = append(entries, t.entry(wire.MessageEvent{Type: sessionlog.TypeMessage, Role: "assistant", Content: "Stopped."}))
		}
		if _, err := t.append(tx, nil, nil, entries...); err != nil {
			return err
		}
		return t.addUsage(tx)
	})
	if err != nil {
		t.engine.opts.Logger.WarnContext(ctx, "write down a stopped turn", "error", err)
	}
}
