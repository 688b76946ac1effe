package operation

import (
	"context"
	"encoding/json"

	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// sessionChange is what UpdateSession changes: what it leaves out stays.
type sessionChange struct {
	title    string
	override *wire.ModelOverride
	// model says that the override changes; a nil one is taken back.
	model bool
	// thoroughness is nil when it stays, and empty when it is taken back.
	thoroughness *string
}

func updateSession(ctx context.Context, c *Call) (Result, error) {
	var req wire.UpdateSessionRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	sessionID, err := bounded.Name(req.SessionID, "Session ID")
	if err != nil {
		return Result{}, err
	}
	change, err := c.sessionChange(&req)
	if err != nil {
		return Result{}, err
	}
	var tag string
	out, err := c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		s, found, err := c.onSession(tx, sessionID)
		if err != nil {
			return nil, err
		}
		if err := c.sessionUnchanged(&s); err != nil {
			return nil, err
		}
		if err := c.changeSession(tx, sessionID, found, change); err != nil {
			return nil, err
		}
		if s, err = sessionlog.Get(tx, sessionID); err != nil {
			return nil, err
		}
		tag, err = sessionTag(&s)
		return wire.SessionResponse{Session: s.Info()}, err
	})
	out.Tag = tag
	return out, err
}

func (c *Call) sessionChange(req *wire.UpdateSessionRequest) (change sessionChange, err error) {
	_, change.model = c.fields["modelOverride"]
	if _, given := c.fields["thoroughness"]; given {
		level, err := thoroughness(req.Thoroughness)
		if err != nil {
			return change, err
		}
		change.thoroughness = &level
	}
	if req.Title == nil && !change.model && change.thoroughness == nil {
		return change, fault.Invalid("Nothing to update: provide a title or a model override")
	}
	if change.title, err = optionalTitle(req.Title); err != nil {
		return change, err
	}
	if change.model && len(req.ModelOverride) > 0 && json.Unmarshal(req.ModelOverride, &change.override) != nil {
		return change, fault.Invalid("modelOverride must be an object or null")
	}
	return change, nil
}

// thoroughness reads a preset; null is none.
func thoroughness(raw json.RawMessage) (string, error) {
	var level *string
	if len(raw) > 0 && json.Unmarshal(raw, &level) != nil {
		return "", fault.Invalid("thoroughness must be quick, normal, deep or null").With("field", "thoroughness")
	}
	if level == nil {
		return "", nil
	}
	return preset(*level)
}

func preset(level string) (string, error) {
	switch level {
	case runs.Quick, runs.Normal, runs.Deep:
		return level, nil
	}
	return "", fault.Invalid("Thoroughness must be quick, normal or deep").With("field", "thoroughness")
}

func (c *Call) changeSession(tx store.Tx, sessionID string, found access, change sessionChange) error {
	if change.title != "" {
		if _, err := c.opts.Log.SetTitle(tx, sessionID, change.title, sessionlog.TitleUser); err != nil {
			return err
		}
	}
	if change.thoroughness != nil {
		if err := c.opts.Log.SetThoroughness(tx, sessionID, *change.thoroughness); err != nil {
			return err
		}
	}
	if !change.model {
		return nil
	}
	if change.override != nil {
		if err := c.checkOverride(tx, found.agent.Account, change.override); err != nil {
			return err
		}
	}
	return c.opts.Log.SetModelOverride(tx, sessionID, change.override)
}
