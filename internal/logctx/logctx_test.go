package logctx_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/logctx"
)

func TestALineHasTheFieldsOfItsContextOnce(t *testing.T) {
	t.Parallel()
	ctx := logctx.With(t.Context(), logctx.Request, "r1")
	ctx = logctx.With(ctx, logctx.Account, "a1")
	ctx = logctx.With(ctx, logctx.Session, "")
	for name, c := range map[string]struct {
		log  func(*slog.Logger)
		want string
	}{
		"from the context":      {func(l *slog.Logger) { l.InfoContext(ctx, "m") }, "msg=m request=r1 account=a1"},
		"the line's own wins":   {func(l *slog.Logger) { l.InfoContext(ctx, "m", "account", "a2") }, "msg=m account=a2 request=r1"},
		"the logger's own wins": {func(l *slog.Logger) { l.With("request", "r2").InfoContext(ctx, "m") }, "msg=m request=r2 account=a1"},
		"the last value counts": {func(l *slog.Logger) { l.InfoContext(logctx.With(ctx, logctx.Request, "r3"), "m") }, "msg=m account=a1 request=r3"},
		"no context":            {func(l *slog.Logger) { l.Info("m") }, "msg=m"},
		"inside a group":        {func(l *slog.Logger) { l.WithGroup("g").InfoContext(ctx, "m", "k", 1) }, "msg=m g.k=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			plain := slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
				if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
					return slog.Attr{}
				}
				return a
			}})
			c.log(slog.New(logctx.Handler(plain)))
			if got := strings.TrimSpace(out.String()); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if got := logctx.With(context.Background(), logctx.Run, ""); got != context.Background() {
		t.Error("an empty value made a field")
	}
}
