// Package logctx carries the fields of log lines in a context: whose work it is. A line that is logged with a context names
// the request, the account, the session and the run that it belongs to, whichever package logs it, so that one search finds
// everything that happened to one of them.
//
// The package is tier 0: it imports nothing of Loam, and every package may use it.
package logctx

import (
	"context"
	"log/slog"
	"slices"
)

// The keys of the fields (design §13).
const (
	Request = "request"
	Account = "account"
	Session = "session"
	Run     = "run"
	Agent   = "agent"
)

type key struct{}

// With returns a context whose lines carry a field more, or another value of it. An empty value adds none.
func With(ctx context.Context, name, value string) context.Context {
	if value == "" {
		return ctx
	}
	have, _ := ctx.Value(key{}).([]slog.Attr)
	fields := make([]slog.Attr, 0, len(have)+1)
	for _, f := range have {
		if f.Key != name {
			fields = append(fields, f)
		}
	}
	return context.WithValue(ctx, key{}, append(fields, slog.String(name, value)))
}

// Handler adds the fields of a line's context to the line. A field that the line itself has stays the line's.
func Handler(next slog.Handler) slog.Handler { return handler{Handler: next} }

type handler struct {
	slog.Handler
	// own are the keys that With gave the logger at the top level.
	own []string
	// grouped says that a group is open: fields of the context would land inside it, where nobody looks for them.
	grouped bool
}

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	fields, _ := ctx.Value(key{}).([]slog.Attr)
	if len(fields) == 0 || h.grouped {
		return h.Handler.Handle(ctx, r)
	}
	have := slices.Clone(h.own)
	r.Attrs(func(a slog.Attr) bool {
		have = append(have, a.Key)
		return true
	})
	r = r.Clone()
	for _, f := range fields {
		if !slices.Contains(have, f.Key) {
			r.AddAttrs(f)
		}
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	own := slices.Clone(h.own)
	if !h.grouped {
		for _, a := range attrs {
			own = append(own, a.Key)
		}
	}
	return handler{Handler: h.Handler.WithAttrs(attrs), own: own, grouped: h.grouped}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler {
	return handler{Handler: h.Handler.WithGroup(name), own: h.own, grouped: h.grouped || name != ""}
}
