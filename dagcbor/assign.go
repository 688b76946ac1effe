package dagcbor

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
)

// TypeError says that a decoded value does not fit the Go value it was meant for.
type TypeError struct {
	// Path is where, such as "definition.tools[2]"; empty for the whole message.
	Path string
	// Want and Got name the kinds: "text", "integer", "map" and so on.
	Want, Got string
}

// Error implements error.
func (e *TypeError) Error() string {
	where := e.Path
	if where == "" {
		where = "the value"
	}
	return fmt.Sprintf("dagcbor: %s must be %s, not %s", where, e.Want, e.Got)
}

func mismatch(path, want string, got any) error {
	return &TypeError{Path: path, Want: want, Got: kindName(got)}
}

func kindName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case int64, uint64:
		return "integer"
	case float64:
		return "float"
	case string:
		return "text"
	case []byte:
		return "bytes"
	case CID:
		return "link"
	case []any:
		return "list"
	default:
		return "map"
	}
}

// assign puts a generic value into a settable Go value.
func assign(dst reflect.Value, src any, path string) error {
	if dst.Kind() == reflect.Pointer {
		if src == nil {
			dst.SetZero()
			return nil
		}
		if dst.IsNil() {
			dst.Set(reflect.New(dst.Type().Elem()))
		}
		return assign(dst.Elem(), src, path)
	}
	if done, err := assignCustom(dst, src, path); done {
		return err
	}
	if src == nil {
		dst.SetZero()
		return nil
	}
	switch dst.Kind() {
	case reflect.Interface:
		if dst.NumMethod() != 0 {
			return fmt.Errorf("dagcbor: %s: cannot decode into interface %s", path, dst.Type())
		}
		dst.Set(reflect.ValueOf(src))
		return nil
	case reflect.Struct:
		return assignStruct(dst, src, path)
	case reflect.Map:
		return assignMap(dst, src, path)
	case reflect.Slice, reflect.Array:
		return assignList(dst, src, path)
	}
	return assignScalar(dst, src, path)
}

// assignCustom serves the types that read themselves.
func assignCustom(dst reflect.Value, src any, path string) (done bool, err error) {
	switch p := dst.Addr().Interface().(type) {
	case *CID:
		c, ok := src.(CID)
		if !ok && src != nil {
			return true, mismatch(path, "link", src)
		}
		*p = c
		return true, nil
	case *json.Number:
		return src != nil, assignNumber(p, src, path)
	case *json.RawMessage:
		*p, err = ToJSON(src)
		return true, err
	case Unpacker:
		return true, at(path, p.UnpackDAGCBOR(src))
	case json.Unmarshaler:
		raw, err := ToJSON(src)
		if err != nil {
			return true, err
		}
		return true, at(path, p.UnmarshalJSON(raw))
	case encoding.TextUnmarshaler:
		if s, ok := src.(string); ok {
			return true, at(path, p.UnmarshalText([]byte(s)))
		}
		if src != nil {
			return true, mismatch(path, "text", src)
		}
	}
	return false, nil
}

func at(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("dagcbor: %s: %w", path, err)
}

func assignNumber(p *json.Number, src any, path string) error {
	switch v := src.(type) {
	case nil:
		return nil
	case int64:
		*p = json.Number(strconv.FormatInt(v, 10))
	case uint64:
		*p = json.Number(strconv.FormatUint(v, 10))
	case float64:
		*p = json.Number(strconv.FormatFloat(v, 'g', -1, 64))
	default:
		return mismatch(path, "number", src)
	}
	return nil
}

func assignStruct(dst reflect.Value, src any, path string) error {
	m, ok := src.(map[string]any)
	if !ok {
		return mismatch(path, "map", src)
	}
	fields, err := fieldsOf(dst.Type())
	if err != nil {
		return err
	}
	for _, f := range fields {
		v, ok := m[f.name]
		if !ok {
			continue
		}
		if err := assign(settable(dst, f.index), v, join(path, f.name)); err != nil {
			return err
		}
	}
	return nil
}

// settable walks to a field and allocates the embedded pointers on the way.
func settable(v reflect.Value, index []int) reflect.Value {
	for i, x := range index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	return v
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func assignMap(dst reflect.Value, src any, path string) error {
	m, ok := src.(map[string]any)
	if !ok {
		return mismatch(path, "map", src)
	}
	t := dst.Type()
	out := reflect.MakeMapWithSize(t, len(m))
	for k, v := range m {
		key := reflect.New(t.Key()).Elem()
		value := reflect.New(t.Elem()).Elem()
		if err := assign(key, k, join(path, k)); err != nil {
			return err
		}
		if err := assign(value, v, join(path, k)); err != nil {
			return err
		}
		out.SetMapIndex(key, value)
	}
	dst.Set(out)
	return nil
}

func assignList(dst reflect.Value, src any, path string) error {
	if dst.Type().Elem().Kind() == reflect.Uint8 {
		return assignBytes(dst, src, path)
	}
	list, ok := src.([]any)
	if !ok {
		return mismatch(path, "list", src)
	}
	out := dst
	if dst.Kind() == reflect.Slice {
		out = reflect.MakeSlice(dst.Type(), len(list), len(list))
	} else if dst.Len() != len(list) {
		return &TypeError{Path: path, Want: fmt.Sprintf("a list of %d", dst.Len()), Got: fmt.Sprintf("one of %d", len(list))}
	}
	for i, v := range list {
		if err := assign(out.Index(i), v, path+"["+strconv.Itoa(i)+"]"); err != nil {
			return err
		}
	}
	dst.Set(out)
	return nil
}

func assignBytes(dst reflect.Value, src any, path string) error {
	b, ok := src.([]byte)
	if !ok {
		return mismatch(path, "bytes", src)
	}
	if dst.Kind() == reflect.Slice {
		dst.SetBytes(b)
		return nil
	}
	if dst.Len() != len(b) {
		return &TypeError{Path: path, Want: fmt.Sprintf("%d bytes", dst.Len()), Got: fmt.Sprintf("%d bytes", len(b))}
	}
	reflect.Copy(dst, reflect.ValueOf(b))
	return nil
}

func assignScalar(dst reflect.Value, src any, path string) error {
	switch dst.Kind() {
	case reflect.Bool:
		if b, ok := src.(bool); ok {
			dst.SetBool(b)
			return nil
		}
		return mismatch(path, "boolean", src)
	case reflect.String:
		if s, ok := src.(string); ok {
			dst.SetString(s)
			return nil
		}
		return mismatch(path, "text", src)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if i, ok := src.(int64); ok && !dst.OverflowInt(i) {
			dst.SetInt(i)
			return nil
		}
		return mismatch(path, "an integer in the range of "+dst.Kind().String(), src)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if u, ok := unsigned(src); ok && !dst.OverflowUint(u) {
			dst.SetUint(u)
			return nil
		}
		return mismatch(path, "an integer in the range of "+dst.Kind().String(), src)
	case reflect.Float32, reflect.Float64:
		return assignFloat(dst, src, path)
	}
	return fmt.Errorf("dagcbor: %s: cannot decode into type %s", path, dst.Type())
}

func unsigned(src any) (uint64, bool) {
	switch v := src.(type) {
	case int64:
		return uint64(v), v >= 0
	case uint64:
		return v, true
	}
	return 0, false
}

func assignFloat(dst reflect.Value, src any, path string) error {
	switch v := src.(type) {
	case int64:
		dst.SetFloat(float64(v))
	case uint64:
		dst.SetFloat(float64(v))
	case float64:
		dst.SetFloat(v)
	default:
		return mismatch(path, "number", src)
	}
	return nil
}
