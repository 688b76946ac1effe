// Package space is an agent's world as one tree of addresses: it finds the scheme that serves an address.
//
// A scheme is one folder under this package: it serves one kind of address for `read`, and for `write` when it can. Adding
// one means adding a folder and naming it in the composition root; nothing here lists schemes.
//
// Reads answer at once. A write prepares (it may do I/O) and returns a Change that the caller applies in the transaction
// that records the call's result, so that an effect and its record are never apart.
//
// space is tier 4. It imports store, tooldoc, fault and wire. The verbs (tier 5) call it.
package space

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/tooldoc"
	"github.com/loam-agents/loam/wire"
)

// Scope says for whom an address is resolved.
type Scope struct {
	Account string
	Agent   string
	Session string
	Run     string
	// Call is the call of the run that is carried out, where there is one.
	Call string
	// Decides says that a person acts who may decide approvals of the agent.
	Decides    bool
	Definition wire.AgentDefinition
	// Images says that whoever reads is a model that sees images.
	Images bool
}

// ReadRequest is the input of `read`.
type ReadRequest struct {
	Address string         `json:"address"`
	Format  string         `json:"format,omitempty"`
	Options map[string]any `json:"options,omitempty"`
}

// WriteRequest is the input of `write`.
type WriteRequest struct {
	Address string         `json:"address"`
	Content *string        `json:"content,omitempty"`
	Options map[string]any `json:"options,omitempty"`
	DryRun  *bool          `json:"dryRun,omitempty"`
}

// Result is what a verb returns: a JSON object whose `summary` is one line for people.
type Result map[string]any

// Change is a prepared write. Apply makes it and returns the result.
type Change interface {
	// Apply makes the change in tx. On an error the transaction must be given up. It may run again when tx is retried.
	Apply(tx store.Tx) (Result, error)
}

// Form documents one address form of a scheme.
type Form struct {
	// Address is the form as a person writes it, such as ~/memory/<path>.
	Address string
	// Read and Write say what the verbs do there; empty when they do nothing.
	Read, Write string
}

// Scheme serves one kind of address.
type Scheme interface {
	// Serves tells whether the address is of this kind.
	Serves(address string) bool
	// Forms documents the scheme.
	Forms() []Form
	// Read resolves an address. Errors are *fault.Error.
	Read(ctx context.Context, scope Scope, req ReadRequest) (Result, error)
}

// Writer is a Scheme that can be written to.
type Writer interface {
	Scheme
	// Write checks and prepares. Errors are *fault.Error; nothing has happened when it returns one.
	Write(ctx context.Context, scope Scope, req WriteRequest) (Change, error)
}

// Outward is a Writer whose writes act outside of this server before their result is recorded, such as publishing.
type Outward interface {
	Writer
	// Effect is the class of a write to an address of the scheme.
	Effect(address string) tooldoc.Effect
}

// Router finds the scheme of an address.
type Router struct{ schemes []Scheme }

// NewRouter returns a router that asks the schemes in order.
func NewRouter(schemes ...Scheme) *Router { return &Router{schemes: schemes} }

// Read resolves an address. One that is slightly wrong is read as what it most likely means, and the result says so in readAs.
func (r *Router) Read(ctx context.Context, scope Scope, req ReadRequest) (Result, error) {
	given := strings.TrimSpace(req.Address)
	req.Address = given
	scheme, err := r.find(given)
	if err != nil {
		if scheme, req.Address = r.meant(given); scheme == nil {
			return nil, err
		}
	}
	out, err := scheme.Read(ctx, scope, req)
	if short := strings.TrimRight(req.Address, "/"); fault.CodeOf(err) == fault.NotFound && short != req.Address {
		// A file does not end in a slash, but its address may have been given one.
		req.Address = short
		if again, shortErr := scheme.Read(ctx, scope, req); shortErr == nil {
			out, err = again, nil
		}
	}
	if err == nil && req.Address != given {
		out["readAs"] = req.Address
	}
	return out, err
}

// meant is the scheme that serves what a wrong address most likely means, and that address; nil when nothing does.
func (r *Router) meant(address string) (Scheme, string) {
	right, ok := Meant(address)
	if !ok {
		return nil, address
	}
	scheme, err := r.find(right)
	if err != nil {
		return nil, address
	}
	return scheme, right
}

// Write prepares a write. It refuses rather than guesses: a slightly wrong address is answered with the one that may be meant.
func (r *Router) Write(ctx context.Context, scope Scope, req WriteRequest) (Change, error) {
	req.Address = strings.TrimSpace(req.Address)
	scheme, err := r.find(req.Address)
	if err != nil {
		if near, right := r.meant(req.Address); near != nil {
			return nil, fault.Invalid("Nothing is written to %q, which is no address. Did you mean %s?", clip(req.Address), clip(right))
		}
		return nil, err
	}
	w, ok := scheme.(Writer)
	if !ok {
		return nil, fault.Invalid("%s cannot be written to. Addresses that can: %s", req.Address, r.list(true))
	}
	return w.Write(ctx, scope, req)
}

// Effect is the class of a write to an address.
func (r *Router) Effect(address string) tooldoc.Effect {
	scheme, err := r.find(strings.TrimSpace(address))
	if o, ok := scheme.(Outward); ok && err == nil {
		return o.Effect(address)
	}
	return tooldoc.Idempotent
}

// Forms documents every scheme, in order.
func (r *Router) Forms() []Form {
	var out []Form
	for _, s := range r.schemes {
		out = append(out, s.Forms()...)
	}
	return out
}

func (r *Router) find(address string) (Scheme, error) {
	if address == "" {
		return nil, fault.Invalid("Address is required. Supported addresses: %s", r.list(false))
	}
	for _, s := range r.schemes {
		if s.Serves(address) {
			return s, nil
		}
	}
	return nil, fault.Invalid("Unsupported address %q. Supported addresses: %s", clip(address), r.list(false))
}

func (r *Router) list(writable bool) string {
	var names []string
	for _, f := range r.Forms() {
		if !writable && f.Read != "" || writable && f.Write != "" {
			names = append(names, f.Address)
		}
	}
	return strings.Join(names, ", ")
}

// Under tells whether an address is root itself or stands below it, and returns the rest without leading slash.
func Under(address, root string) (rest string, ok bool) {
	if address == root {
		return "", true
	}
	return strings.CutPrefix(address, root+"/")
}

// ToolName is the tool that an address names, or means to name, as ~/tools/<name> does: one segment.
func ToolName(address string) (name string, ok bool) {
	rest, ok := Under(strings.TrimSpace(address), "~/tools")
	if right, meant := Meant(address); !ok && meant {
		rest, ok = Under(right, "~/tools")
	}
	name = strings.Trim(rest, "/")
	return name, ok && name != "" && !strings.Contains(name, "/")
}

// KnownOptions refuses option keys outside the given set, naming them and the set.
func KnownOptions(options map[string]any, address string, known ...string) error {
	var unknown []string
	for key := range options {
		found := false
		for _, k := range known {
			found = found || k == key
		}
		if !found {
			unknown = append(unknown, key)
		}
	}
	slices.Sort(unknown)
	switch {
	case len(unknown) == 0:
		return nil
	case options["dryRun"] != nil:
		return fault.Invalid("dryRun is a field of the call itself, not an option")
	case len(known) == 0:
		return fault.Invalid("Unknown option %s for %s: it takes no options", quoteAll(unknown), address)
	}
	return fault.Invalid("Unknown option %s for %s. Supported: %s", quoteAll(unknown), address, strings.Join(known, ", "))
}

// Count reads an option that is a whole number from 1 to most; an absent one is fallback. A larger one is taken as most.
func Count(options map[string]any, name string, fallback, most int64) (int64, error) {
	value, ok := options[name]
	if !ok {
		return fallback, nil
	}
	n, ok := value.(float64)
	if !ok || n < 1 || n != float64(int64(n)) {
		return 0, fault.Invalid("options.%s must be a whole number, at least 1", name)
	}
	return min(int64(n), most), nil
}

// Flag reads an option that is true or false; an absent one is false.
func Flag(options map[string]any, name string) (bool, error) {
	value, ok := options[name]
	if !ok {
		return false, nil
	}
	b, ok := value.(bool)
	if !ok {
		return false, fault.Invalid("options.%s must be true or false", name)
	}
	return b, nil
}

func quoteAll(keys []string) string {
	for i, k := range keys {
		keys[i] = fmt.Sprintf("%q", clip(k))
	}
	return strings.Join(keys, ", ")
}

func clip(s string) string {
	const limit = 200
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
