package engine

import (
	"fmt"

	"github.com/loam-agents/loam/internal/model"
)

// foreground tells whether the turn is one of a person's conversation, which can go on in a fresh one; a delegated task cannot.
func (t *turn) foreground() bool { return t.session.Parent == "" && t.run.Parent == "" }

// contextOf is how much of a context a generation was sent.
func contextOf(u model.Usage) int64 { return u.Input + u.CacheRead + u.CacheWrite }

// contextUsage tells a model that may go on in a fresh thread how full this one is (spec §7.3).
func (t *turn) contextUsage() string {
	if !t.foreground() || t.model.Window <= 0 {
		return ""
	}
	return fmt.Sprintf("<context_usage tokens=\"%d\" window=\"%d\" percent=\"%d\"/>\n", t.context, t.model.Window, min(t.context*100/t.model.Window, 100))
}
