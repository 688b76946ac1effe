package operation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loam-agents/loam/wire"
)

// Limits of an event in a page (wire.SinceTruncated).
const (
	// maxWhole is up to how many bytes a payload is whole.
	maxWhole = 64 << 10
	// keptText, keptItems and keptDepth are what is left of texts, lists and nests of a larger one, and keptField bounds the texts
	// and names in one of its fields: lists in lists are many.
	keptText, keptItems, keptDepth = 2 << 10, 32, 8
	keptField                      = 4 << 10
)

// truncate shortens the large events of a page. What is left is a payload of the same form, with the beginnings of its texts and
// lists, so that a client shows it like any other.
func truncate(events []wire.SessionEvent) error {
	for i := range events {
		e := &events[i]
		if len(e.Event) <= maxWhole {
			continue
		}
		in := json.NewDecoder(bytes.NewReader(e.Event))
		in.UseNumber()
		var payload map[string]any
		if err := in.Decode(&payload); err != nil {
			return fmt.Errorf("session %s: decode event %d: %w", e.SessionID, e.Seq, err)
		}
		for name, field := range payload {
			left := keptField
			payload[name] = shorten(field, keptDepth, &left)
		}
		short, err := json.Marshal(payload)
		if err != nil {
			return fmt.Errorf("session %s: encode event %d: %w", e.SessionID, e.Seq, err)
		}
		e.Event, e.Truncated = short, true
	}
	return nil
}

// shorten keeps the beginning of a value, and about left bytes of texts.
func shorten(v any, depth int, left *int) any {
	switch v := v.(type) {
	case string:
		kept := min(len(v), keptText, max(*left, 0))
		*left -= kept
		if kept == len(v) {
			return v
		}
		return strings.ToValidUTF8(v[:kept], "") + "…"
	case []any:
		if depth == 0 {
			return []any{}
		}
		v = v[:min(len(v), keptItems)]
		for i := range v {
			v[i] = shorten(v[i], depth-1, left)
		}
		return v
	case map[string]any:
		if depth == 0 {
			return map[string]any{}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if *left -= len(name); *left < 0 {
				delete(v, name)
				continue
			}
			v[name] = shorten(v[name], depth-1, left)
		}
		return v
	}
	return v
}
