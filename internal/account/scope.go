package account

import (
	"slices"

	"github.com/loam-agents/loam/internal/fault"
)

// Scope is what a credential lets its bearer do. Scopes do not contain one another.
type Scope string

// The scopes of tokens.
const (
	// Read lets a bearer see what its account has.
	Read Scope = "read"
	// Write lets it change agents, sessions and files.
	Write Scope = "write"
	// Admin lets it change who may act and with which secrets: tokens, keys, sign-ins, passkeys, secrets, providers. Whoever has
	// it can give itself the rest.
	Admin Scope = "admin"
)

// Scopes are all of them, in the order in which they are shown.
func Scopes() []Scope { return []Scope{Read, Write, Admin} }

// ParseScopes checks a list of names and returns it without repetitions, in the order of Scopes. An empty list and unknown
// names are fault.Invalid.
func ParseScopes(names []string) ([]Scope, error) {
	var out []Scope
	for _, s := range Scopes() {
		if slices.Contains(names, string(s)) {
			out = append(out, s)
		}
	}
	for _, name := range names {
		if !slices.Contains(Scopes(), Scope(name)) {
			return nil, fault.Invalid("Unknown scope %q: use read, write or admin", name).With("field", "scopes")
		}
	}
	if len(out) == 0 {
		return nil, fault.Invalid("scopes must name at least one of read, write and admin").With("field", "scopes")
	}
	return out, nil
}
