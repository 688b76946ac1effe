// Package triggers serves ~/triggers: what starts the agent by itself, to read and to write.
//
// An agent makes, edits, switches and deletes its own triggers; they are live at once. Secrets of webhooks are never shown here, since
// what an agent reads stands in its log.
//
// It is a scheme of the Space (tier 4) over package trigger.
package triggers

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/internal/agent/prompt"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/trigger"
	"github.com/loam-agents/loam/wire"
)

const root = "~/triggers"

// recentFirings is how many firings are read with a trigger.
const recentFirings = 5

// Scheme serves ~/triggers.
type Scheme struct {
	store    store.Store
	triggers *trigger.Service
	// changed announces, after the commit, that an agent has written a trigger.
	changed func(tx store.Tx, scope space.Scope)
}

// New returns the scheme.
func New(s store.Store, triggers *trigger.Service, changed func(tx store.Tx, scope space.Scope)) *Scheme {
	return &Scheme{s, triggers, changed}
}

// Serves implements space.Scheme.
func (s *Scheme) Serves(address string) bool {
	_, ok := space.Under(address, root)
	return ok
}

// Forms implements space.Scheme.
func (s *Scheme) Forms() []space.Form {
	return []space.Form{
		{Address: root + "/", Read: "what starts you by itself: schedules, webhooks, ends of runs"},
		{Address: root + "/<name>", Read: "one of them, with its newest firings", Write: "content is a trigger as JSON; options.delete removes it"},
	}
}

// Read implements space.Scheme.
func (s *Scheme) Read(ctx context.Context, scope space.Scope, req space.ReadRequest) (space.Result, error) {
	if err := space.KnownOptions(req.Options, root); err != nil {
		return nil, err
	}
	name := nameOf(req.Address)
	var out space.Result
	err := s.store.Read(ctx, func(tx store.Tx) error {
		list, err := trigger.List(tx, scope.Agent)
		if err != nil {
			return err
		}
		if name == "" {
			out = s.listing(list)
			return nil
		}
		t, err := named(list, name)
		if err != nil {
			return err
		}
		if t == nil {
			return fault.Missing("There is no trigger %q. Read %s/ to list them", name, root)
		}
		firings, err := trigger.Firings(tx, t.ID, recentFirings)
		out = s.shown(t, firings)
		return err
	})
	return out, err
}

func nameOf(address string) string {
	rest, _ := space.Under(address, root)
	return strings.TrimSpace(strings.Trim(rest, "/"))
}

// named finds a trigger by its id or its name; nil when there is none.
func named(list []trigger.Trigger, name string) (found *trigger.Trigger, err error) {
	var ids []string
	for i := range list {
		t := &list[i]
		if t.ID == name {
			return t, nil
		}
		if t.Name == name && t.MergedInto == "" {
			found, ids = t, append(ids, t.ID)
		}
	}
	if len(ids) > 1 {
		return nil, fault.Invalid("Several triggers are named %q: write to one of %s/%s", name, root, strings.Join(ids, ", "+root+"/")).With("ids", ids)
	}
	return found, nil
}

// listing lists triggers, with how to write them.
func (s *Scheme) listing(list []trigger.Trigger) space.Result {
	items := []map[string]any{}
	for i := range list {
		t := &list[i]
		info := s.triggers.Info(t)
		item := map[string]any{"name": t.Name, "id": t.ID, "status": status(t), "type": t.Source.Type, "when": info.When, "does": does(t)}
		present(item, "lastFiredAt", info.LastFiredAt)
		present(item, "nextFireAt", info.NextFireAt)
		present(item, "lastError", info.LastError)
		present(item, "notice", info.Notice)
		present(item, "mergedInto", info.MergedInto)
		items = append(items, item)
	}
	summary := fmt.Sprintf("%d triggers", len(list))
	if len(list) == 1 {
		summary = "1 trigger"
	}
	return space.Result{"summary": summary, "triggers": items, "contract": Contract}
}

// present adds a value that is not zero.
func present[T comparable](into map[string]any, key string, value T) {
	var zero T
	if value != zero {
		into[key] = value
	}
}

func status(t *trigger.Trigger) string {
	if t.Enabled {
		return "active"
	}
	return "disabled"
}

// does says in a few words what a trigger does when it fires.
func does(t *trigger.Trigger) string {
	c := t.Continuation
	if c == nil {
		return "opens a thread"
	}
	switch c.Kind {
	case trigger.Wake:
		return "gives the signal " + c.Signal
	case trigger.Tool:
		return "calls " + c.Tool
	case trigger.Script:
		return "runs a script"
	case trigger.Send:
		return "sends a webhook to " + c.URL
	}
	if c.SessionID != "" {
		return "goes on in thread:" + c.SessionID
	}
	return "opens a thread"
}

func (s *Scheme) shown(t *trigger.Trigger, firings []wire.TriggerFiring) space.Result {
	info := s.triggers.Info(t)
	out := space.Result{
		"summary": fmt.Sprintf("%s: %s, %s", t.Name, info.When, status(t)), "id": t.ID, "name": t.Name, "enabled": t.Enabled, "source": plain(t.Source),
		"prompt": prompt.Markdown(t.Prompt), "createdAt": t.CreatedAt, "updatedAt": t.UpdatedAt,
	}
	if t.Continuation != nil {
		out["continuation"] = plain(t.Continuation)
	}
	present(out, "lastFiredAt", info.LastFiredAt)
	present(out, "nextFireAt", info.NextFireAt)
	present(out, "lastError", info.LastError)
	present(out, "notice", info.Notice)
	present(out, "mergedInto", info.MergedInto)
	recent := []map[string]any{}
	for _, f := range firings {
		item := map[string]any{"firingId": f.ID, "status": f.Status, "firedAt": f.CreatedAt, "what": f.ActivitySummary}
		present(item, "error", f.Error)
		present(item, "sessionId", f.SessionID)
		present(item, "runId", f.RunID)
		if f.SessionID != "" {
			item["thread"] = "thread:" + f.SessionID
		}
		recent = append(recent, item)
	}
	out["recentFirings"] = recent
	return out
}

// plain is a value of the wire as JSON has it.
func plain(v any) any {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	var out any
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}
