package provider

import (
	"strings"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/wire"
)

// Addresses says whose addresses count on this server.
type Addresses struct {
	// Overrides are the operator's `providers.<type>.baseUrl` settings by type. They replace a type's default address.
	Overrides map[string]string
	// TrustAccount says that an address this account stored counts as the operator's: the account is the server owner, or
	// the server takes any account and listens on loopback only (design §10.2).
	TrustAccount bool
}

// Endpoint is where the requests of a provider go.
type Endpoint struct {
	// BaseURL has no slash at its end. It is empty for the tutor, which has no address.
	BaseURL string
	// Operator says which class of the egress client may call it: true when the address is the server's own choice, false
	// when an account chose it and private networks must stay out of reach.
	Operator bool
}

// Resolve says where the requests of a configuration go. An account's address wins for types that let it choose, then the
// operator's override, then the type's default. An unknown type, or a missing address, is a fault.Invalid.
func Resolve(cfg wire.ProviderConfig, a Addresses) (Endpoint, error) {
	kind, ok := TypeNamed(cfg.Type)
	if !ok {
		return Endpoint{}, fault.Invalid("Provider type is not supported: %s", cfg.Type)
	}
	out := Endpoint{BaseURL: kind.BaseURL, Operator: true}
	if kind.Name == Tutor {
		return out, nil
	}
	if override := a.Overrides[kind.Name]; override != "" {
		out.BaseURL = override
	}
	if kind.CustomURL && cfg.BaseURL != "" {
		out.BaseURL, out.Operator = cfg.BaseURL, a.TrustAccount
	}
	out.BaseURL = strings.TrimRight(out.BaseURL, "/")
	if out.BaseURL == "" {
		return Endpoint{}, fault.Invalid("Provider base URL is required")
	}
	return out, nil
}
