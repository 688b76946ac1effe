package trigger

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/wire"
)

// The kinds of continuations.
const (
	NewThread = "newThread"
	Wake      = "wake"
	Tool      = "tool"
	Script    = "script"
	Send      = "webhook"
)

// onFailureThread opens a thread about a headless run that failed.
const onFailureThread = "thread"

func refuseAction(field, format string, args ...any) error {
	return fault.Invalid(format, args...).With("field", "continuation."+field)
}

// parseContinuation checks what a trigger does, and compiles what it runs without a conversation. Nil is a new thread.
func (s *Service) parseContinuation(ctx context.Context, in *wire.TriggerContinuation) (out *wire.TriggerContinuation, program json.RawMessage, err error) {
	if in == nil {
		return nil, nil, nil
	}
	out = &wire.TriggerContinuation{Kind: in.Kind}
	switch in.Kind {
	case NewThread:
		if out.SessionID, err = optional(in.SessionID, "Continuation session", "sessionId", bounded.MaxName); err != nil {
			return nil, nil, fault.From(err).With("field", "continuation.sessionId")
		}
		return out, nil, nil
	case Wake:
		err = parseWake(in, out)
		return out, nil, err
	case Tool:
		if out.Tool, err = bounded.Text(in.Tool, "Continuation tool", 128); err != nil {
			return nil, nil, fault.From(err).With("field", "continuation.tool")
		}
		name, err := json.Marshal(out.Tool)
		if err != nil {
			return nil, nil, err
		}
		return s.parseHeadless(ctx, in, out, "export default async function (input, ctx) { return await ctx.call("+string(name)+", input) }")
	case Script:
		if out.Script = in.Script; strings.TrimSpace(in.Script) == "" {
			return nil, nil, refuseAction("script", "%s", wire.MsgRequired("Continuation script"))
		}
		return s.parseHeadless(ctx, in, out, in.Script)
	case Send:
		out.URL, err = parseURL(in.URL)
		return out, nil, err
	}
	return nil, nil, refuseAction("kind", "Continuation kind must be newThread, wake, tool, script or webhook")
}

func parseWake(in, out *wire.TriggerContinuation) (err error) {
	if out.Signal, err = bounded.Text(in.Signal, "Continuation signal", 128); err != nil {
		return fault.From(err).With("field", "continuation.signal")
	}
	if strings.TrimSpace(in.RunID) != "" {
		if out.RunID, err = bounded.Name(in.RunID, "Continuation run"); err != nil {
			return fault.From(err).With("field", "continuation.runId")
		}
	}
	out.Payload = in.Payload
	return fits(in.Payload, "payload")
}

// fits bounds a value that is kept as JSON.
func fits(value any, field string) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return refuseAction(field, "Continuation %s cannot be written as JSON", field)
	}
	if len(raw) > MaxPayload {
		return fault.New(fault.TooLarge, "Continuation %s has %d bytes, at most %d KiB", field, len(raw), MaxPayload>>10).
			With("field", "continuation."+field)
	}
	return nil
}

func (s *Service) parseHeadless(ctx context.Context, in, out *wire.TriggerContinuation, source string) (*wire.TriggerContinuation, json.RawMessage, error) {
	switch in.OnFailure {
	case "", "none":
	case onFailureThread:
		out.OnFailure = in.OnFailure
	default:
		return nil, nil, refuseAction("onFailure", "Continuation onFailure must be none or thread")
	}
	out.Input = in.Input
	if err := fits(in.Input, "input"); err != nil {
		return nil, nil, err
	}
	program, err := s.opts.Compile(ctx, source)
	if err != nil {
		return nil, nil, err
	}
	return out, program, nil
}

// parseURL checks where a webhook is sent, as far as that can be said without looking up its name.
func parseURL(value string) (string, error) {
	text, err := bounded.Text(value, "Continuation url", MaxURL)
	if err != nil {
		return "", fault.From(err).With("field", "continuation.url")
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return "", refuseAction("url", "Continuation url must be an http or https address without a password")
	}
	u.Fragment = ""
	return u.String(), nil
}

// SigningPrefix begins signing secrets (Standard Webhooks); base64 of 24 to 64 bytes follows.
const SigningPrefix = "whsec_"

// parseSigning checks a signing secret that a sender has made.
func parseSigning(value string) (string, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(strings.TrimSpace(value), SigningPrefix))
	if err != nil || !strings.HasPrefix(strings.TrimSpace(value), SigningPrefix) || len(key) < 24 || len(key) > 64 {
		return "", fault.Invalid("Signing secret must be whsec_ and 24 to 64 bytes in base64").With("field", "signingSecret")
	}
	return strings.TrimSpace(value), nil
}

// expand puts what happened into a template: the texts "$event" and "$event.path" stand for all of it or a part of it, null when there
// is no such part.
func expand(template any, event any) any {
	switch v := template.(type) {
	case string:
		if v == "$event" {
			return event
		}
		path, ok := strings.CutPrefix(v, "$event.")
		if !ok {
			return v
		}
		value := event
		for key := range strings.SplitSeq(path, ".") {
			fields, _ := value.(map[string]any)
			value = fields[key]
		}
		return value
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = expand(v[i], event)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key := range v {
			out[key] = expand(v[key], event)
		}
		return out
	}
	return template
}
