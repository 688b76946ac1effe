package rest

import (
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/operation"
	"github.com/loam-agents/loam/internal/transport/inbound"
)

// fields reads a request's fields from its path, its query and its body.
func fields(w http.ResponseWriter, r *http.Request, route *operation.Route, limits inbound.Limits) (map[string]any, error) {
	known := fieldsOf(route.Request)
	inPath := pathFields(route.Path)
	for _, name := range inPath {
		delete(known, name)
	}
	out := map[string]any{}
	if route.InQuery() {
		if err := fromQuery(out, r.URL.Query(), known); err != nil {
			return nil, err
		}
	}
	switch {
	case route.Kind == operation.Upload:
		raw, err := limits.Read(w, r)
		if err != nil {
			return nil, err
		}
		out["content"] = raw
		if media := r.Header.Get("Content-Type"); media != "" {
			out["mimeType"] = media
		}
	case !route.InQuery():
		if err := fromBody(w, r, limits, out, known); err != nil {
			return nil, err
		}
	}
	for _, name := range inPath {
		out[name] = r.PathValue(name)
	}
	return out, nil
}

// pathFields are the names in a path: "/a/{b}/{c...}" has b and c.
func pathFields(path string) []string {
	var names []string
	for part := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			names = append(names, strings.TrimSuffix(strings.TrimSuffix(name, "}"), "..."))
		}
	}
	return names
}

// fieldsOf are the JSON names and types of a struct's fields; nil has none.
func fieldsOf(value any) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	if value == nil {
		return out
	}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(value)) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" && f.IsExported() {
			out[name] = f.Type
		}
	}
	return out
}

func unknown(path string, known map[string]reflect.Type) error {
	f := fault.Invalid("Unknown field %s", path).With("field", path)
	if len(known) > 0 {
		names := slices.Sorted(maps.Keys(known))
		f.Message += ": there are " + strings.Join(names, ", ")
	}
	return f
}

// fromQuery reads the query by the types of the fields.
func fromQuery(fields map[string]any, query url.Values, known map[string]reflect.Type) error {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		kind, ok := known[name]
		if !ok {
			return unknown(name, known)
		}
		if len(query[name]) > 1 {
			return fault.Invalid("%s is given more than once", name).With("field", name)
		}
		value, err := parse(query.Get(name), kind)
		if err != nil {
			return fault.Invalid("%s must be %s", name, err).With("field", name)
		}
		fields[name] = value
	}
	return nil
}

// parse reads a text by its type. The error says what it must be.
func parse(text string, kind reflect.Type) (any, error) {
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	switch kind.Kind() {
	case reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("a whole number")
		}
		return n, nil
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return nil, fmt.Errorf("true or false")
		}
		return b, nil
	default:
		return text, nil
	}
}

// fromBody reads a JSON object. No body at all is an empty one.
func fromBody(w http.ResponseWriter, r *http.Request, limits inbound.Limits, fields map[string]any, known map[string]reflect.Type) error {
	raw, err := limits.Read(w, r)
	if err != nil || len(raw) == 0 {
		return err
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != mediaJSON {
		return &fault.Error{
			Code: fault.ValidationFailed, HTTPStatus: http.StatusUnsupportedMediaType, Message: "Content-Type must be " + mediaJSON,
		}
	}
	value, err := dagcbor.FromJSON(raw)
	if err != nil {
		return fault.Invalid("The body is not JSON: %s", strings.TrimPrefix(err.Error(), "dagcbor: read JSON: "))
	}
	body, ok := value.(map[string]any)
	if !ok {
		return fault.Invalid("The body must be a JSON object")
	}
	for _, name := range slices.Sorted(maps.Keys(body)) {
		kind, ok := known[name]
		if !ok {
			return unknown(name, known)
		}
		if err := checkKnown(kind, body[name], name); err != nil {
			return err
		}
		fields[name] = body[name]
	}
	return nil
}

// checkKnown refuses fields that a type does not have, in structs inside structs and lists. Whether a value is of its type, the
// operation says.
func checkKnown(kind reflect.Type, value any, path string) error {
	switch kind.Kind() {
	case reflect.Pointer:
		return checkKnown(kind.Elem(), value, path)
	case reflect.Struct:
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		known := fieldsOf(reflect.Zero(kind).Interface())
		for _, name := range slices.Sorted(maps.Keys(object)) {
			inner, ok := known[name]
			if !ok {
				return unknown(path+"."+name, known)
			}
			if err := checkKnown(inner, object[name], path+"."+name); err != nil {
				return err
			}
		}
	case reflect.Slice:
		list, _ := value.([]any)
		for i, e := range list {
			if err := checkKnown(kind.Elem(), e, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	}
	return nil
}
