package dagcbor

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/fxamacker/cbor/v2"
)

// normaliser turns any supported value into the tree that the encoder writes: generic values, with a CID as tag 42.
type normaliser struct {
	// keepInts leaves integers beyond ±(2^53−1) as they are.
	keepInts bool
}

var errTooDeep = fmt.Errorf("nested deeper than %d levels", MaxDepth)

// value handles the generic values without reflection, since these are most of what is encoded.
func (n normaliser) value(v any, depth int) (any, error) {
	if depth > MaxDepth {
		return nil, errTooDeep
	}
	switch v := v.(type) {
	case nil, bool:
		return v, nil
	case string:
		return text(v)
	case []byte:
		if v == nil {
			return []byte{}, nil
		}
		return v, nil
	case int64:
		return n.int(v), nil
	case int:
		return n.int(int64(v)), nil
	case uint64:
		return n.uint(v), nil
	case float64:
		return finite(v)
	case CID:
		return link(v)
	case json.Number:
		return fromNumber(v)
	case json.RawMessage:
		return n.raw(v, depth)
	case map[string]any:
		return n.genericMap(v, depth)
	case []any:
		return n.genericList(v, depth)
	}
	return n.reflected(reflect.ValueOf(v), depth)
}

func (n normaliser) int(i int64) any {
	if n.keepInts {
		return i
	}
	return safeInt(i)
}

func (n normaliser) uint(u uint64) any {
	if n.keepInts {
		return u
	}
	return safeUint(u)
}

func text(s string) (any, error) {
	if !utf8.ValidString(s) {
		return nil, errors.New("text is not UTF-8")
	}
	return s, nil
}

func link(c CID) (any, error) {
	if !c.Defined() {
		return nil, errors.New("the CID is undefined")
	}
	return cbor.Tag{Number: linkTag, Content: linkBytes(c)}, nil
}

func (n normaliser) raw(raw json.RawMessage, depth int) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	v, err := FromJSON(raw)
	if err != nil {
		return nil, err
	}
	return n.value(v, depth)
}

func (n normaliser) genericMap(m map[string]any, depth int) (any, error) {
	out := make(map[string]any, len(m))
	for k, v := range m {
		if err := n.put(out, k, v, depth); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (n normaliser) put(out map[string]any, k string, v any, depth int) error {
	if !utf8.ValidString(k) {
		return fmt.Errorf("key %q: text is not UTF-8", k)
	}
	value, err := n.value(v, depth+1)
	if err != nil {
		return fmt.Errorf("%s: %w", k, err)
	}
	out[k] = value
	return nil
}

func (n normaliser) genericList(list []any, depth int) (any, error) {
	out := make([]any, len(list))
	for i, v := range list {
		value, err := n.value(v, depth+1)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		out[i] = value
	}
	return out, nil
}

// reflected handles everything else. Methods with pointer receivers count only where the value is addressable.
func (n normaliser) reflected(rv reflect.Value, depth int) (any, error) {
	if rv.Kind() == reflect.Pointer || rv.Kind() == reflect.Interface {
		if rv.IsNil() {
			return nil, nil
		}
	}
	if out, done, err := n.custom(rv, depth); done {
		return out, err
	}
	switch rv.Kind() {
	case reflect.Pointer, reflect.Interface:
		// A chain of pointers may be a cycle, so each one counts as a level.
		if depth >= MaxDepth {
			return nil, errTooDeep
		}
		return n.child(rv.Elem(), depth+1)
	case reflect.Struct:
		return n.structure(rv, depth)
	case reflect.Map:
		return n.mapping(rv, depth)
	case reflect.Slice, reflect.Array:
		return n.list(rv, depth)
	}
	return n.scalar(rv)
}

func (n normaliser) scalar(rv reflect.Value) (any, error) {
	switch rv.Kind() {
	case reflect.Bool:
		return rv.Bool(), nil
	case reflect.String:
		return text(rv.String())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return n.int(rv.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return n.uint(rv.Uint()), nil
	case reflect.Float32, reflect.Float64:
		return finite(rv.Float())
	}
	return nil, fmt.Errorf("type %s has no encoding", rv.Type())
}

// child passes a nested value on. Addressable structs stay reflected, so that their pointer methods are found.
func (n normaliser) child(rv reflect.Value, depth int) (any, error) {
	if depth > MaxDepth {
		return nil, errTooDeep
	}
	if rv.CanAddr() && rv.Kind() == reflect.Struct && rv.Type() != reflect.TypeFor[CID]() {
		return n.reflected(rv, depth)
	}
	return n.value(rv.Interface(), depth)
}

// custom asks the type itself.
func (n normaliser) custom(rv reflect.Value, depth int) (out any, done bool, err error) {
	v := rv.Interface()
	if rv.CanAddr() {
		v = rv.Addr().Interface()
	}
	switch v := v.(type) {
	case *CID, *json.RawMessage, *json.Number:
		return nil, false, nil
	case Packer:
		packed, err := v.PackDAGCBOR()
		if err != nil {
			return nil, true, err
		}
		out, err = n.value(packed, depth+1)
		return out, true, err
	case json.Marshaler:
		raw, err := v.MarshalJSON()
		if err != nil {
			return nil, true, err
		}
		out, err = n.raw(raw, depth)
		return out, true, err
	case encoding.TextMarshaler:
		b, err := v.MarshalText()
		if err != nil {
			return nil, true, err
		}
		out, err = text(string(b))
		return out, true, err
	}
	return nil, false, nil
}

func (n normaliser) structure(rv reflect.Value, depth int) (any, error) {
	fields, err := fieldsOf(rv.Type())
	if err != nil {
		return nil, err
	}
	out := make(map[string]any, len(fields))
	for _, f := range fields {
		fv, err := rv.FieldByIndexErr(f.index)
		if err != nil || f.omitted(fv) {
			// The error means a nil embedded pointer: its fields are absent.
			continue
		}
		value, err := n.child(fv, depth+1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		out[f.name] = value
	}
	return out, nil
}

func (n normaliser) mapping(rv reflect.Value, depth int) (any, error) {
	out := make(map[string]any, rv.Len())
	for iter := rv.MapRange(); iter.Next(); {
		key, err := keyText(iter.Key())
		if err != nil {
			return nil, err
		}
		if err := n.put(out, key, iter.Value().Interface(), depth); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func keyText(k reflect.Value) (string, error) {
	if m, ok := k.Interface().(encoding.TextMarshaler); ok {
		b, err := m.MarshalText()
		return string(b), err
	}
	if k.Kind() != reflect.String {
		return "", fmt.Errorf("map keys of type %s are not text", k.Type())
	}
	return k.String(), nil
}

func (n normaliser) list(rv reflect.Value, depth int) (any, error) {
	if rv.Type().Elem().Kind() == reflect.Uint8 {
		if rv.Kind() == reflect.Slice {
			return append([]byte{}, rv.Bytes()...), nil
		}
		out := make([]byte, rv.Len())
		reflect.Copy(reflect.ValueOf(out), rv)
		return out, nil
	}
	out := make([]any, rv.Len())
	for i := range out {
		value, err := n.child(rv.Index(i), depth+1)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		out[i] = value
	}
	return out, nil
}
