package dagcbor

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/fxamacker/cbor/v2"
)

// FromJSON reads one JSON text as a generic value. Numbers follow JavaScript; a number beyond float64 is an error. It
// gives the DAG-JSON forms of bytes and links no meaning: they stay maps, as in any JSON that people or models write.
func FromJSON(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("dagcbor: read JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("dagcbor: read JSON: text after the value")
	}
	return numbers(v)
}

// FromDAGJSON reads what ToJSON wrote: as FromJSON, but {"/": "<cid>"} is a CID and {"/": {"bytes": "<base64>"}} is a
// byte string.
func FromDAGJSON(data []byte) (any, error) {
	v, err := FromJSON(data)
	if err != nil {
		return nil, err
	}
	return fromForms(v)
}

// ToJSON writes a value that Marshal takes as JSON with sorted keys and without HTML escapes. Byte strings and CIDs,
// which JSON does not have, take their DAG-JSON forms: {"/": {"bytes": "<base64 without padding>"}} and
// {"/": "<cid>"}. Integers keep all their digits.
func ToJSON(v any) ([]byte, error) {
	tree, err := normaliser{keepInts: true}.value(v, 0)
	if err != nil {
		return nil, fmt.Errorf("dagcbor: write JSON: %w", err)
	}
	forms, err := toForms(tree)
	if err != nil {
		return nil, fmt.Errorf("dagcbor: write JSON: %w", err)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(forms); err != nil {
		return nil, fmt.Errorf("dagcbor: write JSON: %w", err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// transform replaces the leaves and, after their children, the maps of a tree in place.
func transform(v any, replace func(any) (any, error)) (any, error) {
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			item, err := transform(item, replace)
			if err != nil {
				return nil, err
			}
			v[i] = item
		}
		return v, nil
	case map[string]any:
		for k, item := range v {
			item, err := transform(item, replace)
			if err != nil {
				return nil, err
			}
			v[k] = item
		}
	}
	return replace(v)
}

func numbers(v any) (any, error) {
	return transform(v, func(v any) (any, error) {
		if n, ok := v.(json.Number); ok {
			return fromNumber(n)
		}
		return v, nil
	})
}

func toForms(tree any) (any, error) {
	return transform(tree, func(v any) (any, error) {
		switch v := v.(type) {
		case []byte:
			return map[string]any{"/": map[string]any{"bytes": base64.RawStdEncoding.EncodeToString(v)}}, nil
		case cbor.Tag:
			c, err := parseLink(v.Content.([]byte))
			if err != nil {
				return nil, err
			}
			return map[string]any{"/": c.String()}, nil
		}
		return v, nil
	})
}

func fromForms(v any) (any, error) {
	return transform(v, func(v any) (any, error) {
		m, ok := v.(map[string]any)
		if !ok || len(m) != 1 {
			return v, nil
		}
		switch form := m["/"].(type) {
		case string:
			return ParseCID(form)
		case map[string]any:
			if encoded, ok := form["bytes"].(string); ok && len(form) == 1 {
				return base64.RawStdEncoding.DecodeString(encoded)
			}
		}
		return v, nil
	})
}
