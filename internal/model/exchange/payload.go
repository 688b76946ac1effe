package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Encode writes a payload as JSON without escaping < > and &, which opaque blocks may hold, and merges extra shallowly over
// its top level; keep names the fields that extra may not change, because the adapter depends on them.
func Encode(payload any, extra map[string]any, keep ...string) ([]byte, error) {
	body, err := compact(payload)
	if err != nil || len(extra) == 0 {
		return body, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, fmt.Errorf("merge model defaults: %w", err)
	}
	fixed := make(map[string]bool, len(keep))
	for _, name := range keep {
		fixed[name] = true
	}
	for name, value := range extra {
		if fixed[name] {
			continue
		}
		if fields[name], err = compact(value); err != nil {
			return nil, fmt.Errorf("model default %q: %w", name, err)
		}
	}
	return compact(fields)
}

func compact(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// Schema returns a tool's schema, or that of a tool without input when it has none.
func Schema(schema json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(schema)) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return schema
}
