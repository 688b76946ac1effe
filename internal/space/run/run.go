// Package run serves run: addresses: the public record of an execution, and the source of a script. Runs are the account's, by design:
// an agent that is asked what another one found can look it up (seeds/000 "read"). In a conversation that somebody else than the
// owner has opened, only the runs of that conversation can be read.
//
// It is a scheme of the Space (tier 4), read-only, over runs.
package run

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
)

const prefix = "run:"

// Scheme serves run:.
type Scheme struct{ store store.Store }

// New returns the scheme.
func New(s store.Store) *Scheme { return &Scheme{store: s} }

// Serves implements space.Scheme.
func (*Scheme) Serves(address string) bool { return strings.HasPrefix(address, prefix) }

// Forms implements space.Scheme.
func (*Scheme) Forms() []space.Form {
	return []space.Form{{Address: prefix + "<id>", Read: "an execution: its state, plan, usage and error"}}
}

// Read implements space.Scheme.
func (s *Scheme) Read(ctx context.Context, scope space.Scope, req space.ReadRequest) (space.Result, error) {
	if err := space.KnownOptions(req.Options, prefix+"<id>"); err != nil {
		return nil, err
	}
	id := strings.Trim(strings.TrimPrefix(req.Address, prefix), "/ ")
	if id == "" {
		return nil, fault.Invalid("Name a run: %s<id>. The runs of a conversation stand in its results", prefix)
	}
	var r runs.Run
	err := s.store.Read(ctx, func(tx store.Tx) (err error) {
		if r, err = runs.Get(tx, id); err != nil {
			return err
		}
		return visible(tx, scope, &r)
	})
	if fault.CodeOf(err) == fault.NotFound {
		return nil, fault.Missing("There is no run %.100s on this account", id)
	}
	if err != nil {
		return nil, err
	}
	info := r.Info()
	encoded, err := json.Marshal(info)
	if err != nil {
		return nil, fmt.Errorf("encode run %s: %w", r.ID, err)
	}
	out := space.Result{}
	if err := json.Unmarshal(encoded, &out); err != nil {
		return nil, fmt.Errorf("encode run %s: %w", r.ID, err)
	}
	out["summary"] = fmt.Sprintf("Run %q is %s", info.Title, info.Status)
	return out, nil
}

// visible decides whether a run may be read from a scope.
func visible(tx store.Tx, scope space.Scope, r *runs.Run) error {
	gone := fault.Missing("Run not found")
	if r.Account != scope.Account || r.Agent == "" {
		return gone
	}
	if scope.Session == "" || r.Session == scope.Session {
		return nil
	}
	session, err := sessionlog.Get(tx, scope.Session)
	if err == nil && session.CreatedBy != "" && session.CreatedBy != session.Account {
		return gone
	}
	return err
}
