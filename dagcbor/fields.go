package dagcbor

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// field is one key of a struct's map form.
type field struct {
	name      string
	index     []int
	omitEmpty bool
	omitZero  bool
}

// fieldCache remembers the fields of struct types. It only ever holds what fieldsOf would compute again.
var fieldCache sync.Map // reflect.Type → []field

// fieldsOf lists the encoded fields of a struct type. The name comes from the `cbor` tag, else the `json` tag, else the
// field; "-" leaves it out; omitempty and omitzero are honoured and other options ignored. Untagged embedded structs
// give their fields to the outer one, where a shallower name wins; one name twice at one depth is an error.
func fieldsOf(t reflect.Type) ([]field, error) {
	if cached, ok := fieldCache.Load(t); ok {
		return cached.([]field), nil
	}
	var out []field
	depths := map[string]int{}
	if err := collect(t, nil, map[reflect.Type]bool{}, func(f field) error {
		depth := len(f.index)
		if have, ok := depths[f.name]; ok {
			if have == depth {
				return fmt.Errorf("dagcbor: type %s has two fields named %q", t, f.name)
			}
			if have < depth {
				return nil
			}
			out = without(out, f.name)
		}
		depths[f.name] = depth
		out = append(out, f)
		return nil
	}); err != nil {
		return nil, err
	}
	fieldCache.Store(t, out)
	return out, nil
}

func without(fields []field, name string) []field {
	kept := fields[:0]
	for _, f := range fields {
		if f.name != name {
			kept = append(kept, f)
		}
	}
	return kept
}

func collect(t reflect.Type, prefix []int, seen map[reflect.Type]bool, add func(field) error) error {
	if seen[t] {
		return fmt.Errorf("dagcbor: type %s embeds itself", t)
	}
	seen[t] = true
	defer delete(seen, t)
	for i := range t.NumField() {
		sf := t.Field(i)
		index := append(append([]int(nil), prefix...), i)
		name, options, tagged := tagOf(sf)
		if name == "-" && options == "" {
			continue
		}
		if inner := embedded(sf); inner != nil && !tagged {
			if err := collect(inner, index, seen, add); err != nil {
				return err
			}
			continue
		}
		if !sf.IsExported() {
			continue
		}
		if err := add(field{name, index, hasOption(options, "omitempty"), hasOption(options, "omitzero")}); err != nil {
			return err
		}
	}
	return nil
}

// embedded returns the struct type whose fields are promoted, or nil. A pointer to an unexported struct cannot be
// allocated by reflection and is left out, as encoding/json does.
func embedded(sf reflect.StructField) reflect.Type {
	if !sf.Anonymous {
		return nil
	}
	t := sf.Type
	if t.Kind() == reflect.Pointer {
		if !sf.IsExported() {
			return nil
		}
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return t
}

func tagOf(sf reflect.StructField) (name, options string, tagged bool) {
	tag, ok := sf.Tag.Lookup("cbor")
	if !ok {
		tag = sf.Tag.Get("json")
	}
	name, options, _ = strings.Cut(tag, ",")
	if name == "" {
		return sf.Name, options, false
	}
	return name, options, true
}

func hasOption(options, want string) bool {
	for option := range strings.SplitSeq(options, ",") {
		if option == want {
			return true
		}
	}
	return false
}

// omitted applies omitempty and omitzero with the meaning that encoding/json gives them.
func (f field) omitted(v reflect.Value) bool {
	if f.omitZero && isZero(v) {
		return true
	}
	return f.omitEmpty && isEmpty(v)
}

func isZero(v reflect.Value) bool {
	if z, ok := v.Interface().(interface{ IsZero() bool }); ok {
		if v.Kind() == reflect.Pointer && v.IsNil() {
			return true
		}
		return z.IsZero()
	}
	return v.IsZero()
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	default:
		return v.IsZero()
	}
}
