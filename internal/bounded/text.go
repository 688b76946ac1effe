// Package bounded checks texts that come from outside, the way every action of the wire does (spec/agents-protocol.md §3.0).
//
// It is tier 0: it imports fault and wire. Whoever reads a request or a stored configuration calls it.
package bounded

import (
	"strings"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/wire"
)

// MaxName bounds names, ids, titles and models in bytes.
const MaxName = 256

// Name is Text with the bound of names.
func Name(value any, label string) (string, error) { return Text(value, label, MaxName) }

// Text trims a text and checks that it is not empty and has at most limit bytes and no NUL, which databases refuse. A value
// that is no text counts as an absent one. Errors are fault.Invalid with the wire's text, made from the label; one about the
// length carries the limit.
func Text(value any, label string, limit int) (string, error) {
	s, _ := value.(string)
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return "", fault.Invalid("%s", wire.MsgRequired(label))
	case len(s) > limit:
		return "", fault.Invalid("%s", wire.MsgTooLarge(label)).With("limit", limit)
	case strings.ContainsRune(s, 0):
		return "", fault.Invalid("%s must not contain a NUL character", label)
	}
	return s, nil
}
