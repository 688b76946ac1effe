package mcp

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/wire"
)

// The transports, and the way to sign in.
const (
	TransportHTTP  = "http"
	TransportSSE   = "sse"
	TransportStdio = "stdio"
	AuthOAuth      = "oauth"
)

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)

// ParseName trims and checks the name of a server: it begins the names of its tools.
func ParseName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if !nameForm.MatchString(name) {
		return "", fault.Invalid("MCP server name must be 1 to 32 of a-z, 0-9, _ and -, beginning with a letter or digit")
	}
	return name, nil
}

// ParseConfig checks a configuration as a client sends it and returns what is stored. Everything wrong is a fault.Invalid with a text for
// the person who configures.
func ParseConfig(fields map[string]any) (cfg wire.McpServerConfig, err error) {
	for key := range fields {
		switch key {
		case "url", "transport", "headers", "secretRefs", "auth", "command":
		default:
			return cfg, fault.Invalid("MCP server configuration has no field %.100q", key)
		}
	}
	if cfg.Command, err = words(fields["command"]); err != nil {
		return cfg, err
	}
	if len(cfg.Command) > 0 {
		if fields["url"] != nil || fields["transport"] != nil || fields["auth"] != nil {
			return cfg, fault.Invalid("An MCP server has either a url or a command")
		}
	} else if err := remote(fields, &cfg); err != nil {
		return cfg, err
	}
	if cfg.Headers, err = pairs(fields["headers"], "MCP server headers", MaxHeader); err != nil {
		return cfg, err
	}
	if cfg.SecretRefs, err = pairs(fields["secretRefs"], "MCP server secretRefs", bounded.MaxName); err != nil {
		return cfg, err
	}
	return cfg, names(cfg)
}

// remote reads what is special about servers on the network.
func remote(fields map[string]any, cfg *wire.McpServerConfig) (err error) {
	if cfg.URL, err = endpoint(fields["url"]); err != nil {
		return err
	}
	switch fields["transport"] {
	case nil, "":
	case TransportHTTP, TransportSSE:
		cfg.Transport, _ = fields["transport"].(string)
	default:
		return fault.Invalid("MCP server transport must be http or sse")
	}
	switch fields["auth"] {
	case nil, "":
	case AuthOAuth:
		cfg.Auth = AuthOAuth
	default:
		return fault.Invalid("MCP server auth must be oauth, or absent")
	}
	return nil
}

// endpoint takes an absolute address without credentials or fragment.
func endpoint(v any) (string, error) {
	text, err := bounded.Text(v, "MCP server URL", MaxURL)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fault.Invalid("MCP server URL must be an absolute http or https address")
	}
	if u.User != nil || u.Fragment != "" {
		return "", fault.Invalid("MCP server URL must not hold credentials or a fragment; put a key into a header")
	}
	return u.String(), nil
}

func words(v any) ([]string, error) {
	if v == nil {
		return nil, nil
	}
	list, ok := v.([]any)
	if !ok || len(list) == 0 || len(list) > MaxArguments {
		return nil, fault.Invalid("MCP server command must be a list of 1 to %d words: a program and its arguments", MaxArguments)
	}
	out := make([]string, len(list))
	for i, item := range list {
		word, ok := item.(string)
		if !ok || len(word) > MaxArgument || strings.ContainsRune(word, 0) || i == 0 && strings.TrimSpace(word) == "" {
			return nil, fault.Invalid("MCP server command must be a list of texts of at most %d bytes", MaxArgument)
		}
		out[i] = word
	}
	return out, nil
}

func pairs(v any, label string, limit int) (map[string]string, error) {
	if v == nil {
		return nil, nil
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, fault.Invalid("%s must map names to texts", label)
	}
	if len(fields) > MaxHeaders {
		return nil, fault.Invalid("%s are more than %d", label, MaxHeaders).With("limit", MaxHeaders)
	}
	out := map[string]string{}
	for key, value := range fields {
		text, ok := value.(string)
		switch {
		case !ok || key == "" || len(key) > bounded.MaxName:
			return nil, fault.Invalid("%s must map names to texts", label)
		case len(text) > limit:
			return nil, fault.Invalid("%s: the value of %.100q is longer than %d bytes", label, key, limit).With("limit", limit)
		case !httpguts.ValidHeaderFieldName(key) || !httpguts.ValidHeaderFieldValue(text):
			return nil, fault.Invalid("%s: %.100q is not a usable name or has an unusable value", label, key)
		}
		out[key] = text
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}

// reserved headers belong to the transport.
var reserved = []string{"content-type", "accept", "content-length", "host", "connection", "transfer-encoding", "mcp-session-id", "mcp-protocol-version", "last-event-id"}

// names refuses headers that would fight with the transport or with each other.
func names(cfg wire.McpServerConfig) error {
	seen := map[string]bool{}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(cfg.Headers)), slices.Sorted(maps.Keys(cfg.SecretRefs))) {
		lower := strings.ToLower(name)
		switch {
		case len(cfg.Command) == 0 && slices.Contains(reserved, lower):
			return fault.Invalid("The header %s is set by the protocol", name)
		case cfg.Auth == AuthOAuth && lower == "authorization":
			return fault.Invalid("The header %s is set by the sign-in", name)
		case seen[lower]:
			return fault.Invalid("The header %s stands there twice", name)
		}
		seen[lower] = true
	}
	if len(seen) > MaxHeaders {
		return fault.Invalid("MCP server headers are more than %d", MaxHeaders).With("limit", MaxHeaders)
	}
	return nil
}
