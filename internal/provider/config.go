package provider

import (
	"net/url"
	"strings"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/wire"
)

// Limits of a provider, in bytes.
const (
	// MaxBaseURL bounds an address.
	MaxBaseURL = 2048
	// MaxModelDefaults bounds modelDefaults in CBOR.
	MaxModelDefaults = 16 << 10
)

// Subscription is the auth mode of providers that a person has signed in to; MsgNoSubscription is for servers without it.
const (
	authAPIKey        = "api-key"
	Subscription      = "subscription"
	MsgNoSubscription = "Subscription sign-in is not enabled on this server"
)

// secretKeys are the secrets that a provider can refer to.
func secretKeys() []string { return []string{"apiKey", "oauth"} }

// ParseName trims and checks the name of a provider.
func ParseName(name string) (string, error) { return bounded.Name(name, "Provider name") }

// ParseConfig checks a provider configuration as a client sends it and returns what is stored: known keys, trimmed, absent
// where empty. The address of a type with a fixed one is kept but never used. Everything wrong is a fault.Invalid with
// a text for the person who configures. subscriptions says whether this server has them.
func ParseConfig(fields map[string]any, subscriptions bool) (cfg wire.ProviderConfig, err error) {
	if cfg.Type, err = bounded.Name(fields["type"], "Provider type"); err != nil {
		return cfg, err
	}
	kind, ok := TypeNamed(cfg.Type)
	if !ok {
		return cfg, fault.Invalid("Provider type is not supported: %s", cfg.Type)
	}
	if cfg.AuthMode, err = authMode(fields["authMode"], kind, subscriptions); err != nil {
		return cfg, err
	}
	if cfg.BaseURL, err = baseURL(fields["baseUrl"]); err != nil {
		return cfg, err
	}
	if kind.CustomURL && kind.BaseURL == "" && cfg.BaseURL == "" {
		return cfg, fault.Invalid("Provider base URL is required")
	}
	if cfg.SecretRefs, err = secretRefs(fields["secretRefs"]); err != nil {
		return cfg, err
	}
	if cfg.AuthMode == Subscription && cfg.SecretRefs["oauth"] == "" {
		return cfg, fault.Invalid("Provider secretRefs.oauth is required")
	}
	if cfg.ModelDefaults, err = modelDefaults(fields["modelDefaults"]); err != nil {
		return cfg, err
	}
	return cfg, nil
}

func authMode(v any, kind Type, subscriptions bool) (string, error) {
	mode, _ := v.(string)
	switch {
	case v == nil || mode == authAPIKey:
		return mode, nil
	case mode != Subscription:
		return "", fault.Invalid("Provider auth mode is invalid")
	case !subscriptions:
		return "", fault.Invalid(MsgNoSubscription)
	case !kind.Subscription:
		return "", fault.Invalid("Subscription sign-in is not supported for %s", kind.Name)
	}
	return mode, nil
}

// baseURL takes an absolute http(s) address without credentials, query or fragment: a configuration is no place for a
// secret, and adapters append paths.
func baseURL(v any) (string, error) {
	if s, ok := v.(string); v == nil || ok && strings.TrimSpace(s) == "" {
		return "", nil
	}
	s, err := bounded.Text(v, "Provider base URL", MaxBaseURL)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return "", fault.Invalid("Provider base URL is invalid: it must be http(s)://host[:port][/path]")
	}
	return strings.TrimRight(s, "/"), nil
}

func secretRefs(v any) (map[string]string, error) {
	if v == nil {
		return nil, nil
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, fault.Invalid("Provider secret references are invalid")
	}
	var refs map[string]string
	for _, key := range secretKeys() {
		if fields[key] == nil {
			continue
		}
		name, err := bounded.Name(fields[key], "Secret name")
		if err != nil {
			return nil, err
		}
		if refs == nil {
			refs = map[string]string{}
		}
		refs[key] = name
	}
	return refs, nil
}

func modelDefaults(v any) (map[string]any, error) {
	if v == nil {
		return nil, nil
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, fault.Invalid("Model defaults are invalid")
	}
	raw, err := dagcbor.Marshal(fields)
	if err != nil {
		return nil, fault.Wrap(err, fault.ValidationFailed, "Model defaults are invalid")
	}
	if len(raw) > MaxModelDefaults {
		return nil, fault.Invalid("Model defaults are too large")
	}
	if len(fields) == 0 {
		return nil, nil
	}
	return fields, nil
}
