package dagcbor

import (
	"errors"
	"fmt"
	"math/big"
	"reflect"

	"github.com/fxamacker/cbor/v2"
)

// Unpacker is implemented by types that read their own form from a generic value.
type Unpacker interface {
	// UnpackDAGCBOR takes a generic value. Its error fails the decoding.
	UnpackDAGCBOR(v any) error
}

// decMode reads bytes that scan has accepted into a tree.
var decMode = mustDecMode()

func mustDecMode() cbor.DecMode {
	mode, err := cbor.DecOptions{
		DupMapKey:        cbor.DupMapKeyEnforcedAPF,
		IndefLength:      cbor.IndefLengthForbidden,
		IntDec:           cbor.IntDecConvertSignedOrBigInt,
		DefaultMapType:   reflect.TypeFor[map[string]any](),
		MaxNestedLevels:  MaxDepth + 1,
		MaxArrayElements: MaxItems,
		MaxMapPairs:      MaxItems,
		NaN:              cbor.NaNDecodeForbidden,
		Inf:              cbor.InfDecodeForbidden,
		TagsMd:           cbor.TagsAllowed,
	}.DecMode()
	if err != nil {
		panic(fmt.Sprintf("dagcbor: decoder options: %v", err))
	}
	return mode
}

// Unmarshal decodes one message into out, a pointer that is not nil.
//
// A *any receives the generic value. A struct receives the keys that its tags name; other keys are ignored, absent ones
// leave the field as it is, and null makes it zero. A json.RawMessage receives the value as JSON (see ToJSON). Types
// that implement Unpacker, json.Unmarshaler or, for text, encoding.TextUnmarshaler read themselves.
//
// Bytes that break a rule of the package give a *SyntaxError, a value that does not fit its place a *TypeError.
func Unmarshal(data []byte, out any) error {
	rv := reflect.ValueOf(out)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		return errors.New("dagcbor: Unmarshal needs a pointer that is not nil")
	}
	v, err := decode(data)
	if err != nil {
		return err
	}
	return assign(rv.Elem(), v, "")
}

// decode reads one message as a generic value.
func decode(data []byte) (any, error) {
	mustRewrite, err := scan(data)
	if err != nil {
		return nil, err
	}
	var v any
	if err := decMode.Unmarshal(data, &v); err != nil {
		return nil, &SyntaxError{Reason: err.Error()}
	}
	if !mustRewrite {
		return v, nil
	}
	v, err = rewrite(v)
	if err != nil {
		return nil, &SyntaxError{Reason: err.Error()}
	}
	return v, nil
}

// rewrite brings links, large integers and integral floats into the generic form, in place.
func rewrite(v any) (any, error) {
	switch v := v.(type) {
	case float64:
		return collapse(v), nil
	case big.Int:
		return v.Uint64(), nil
	case cbor.Tag:
		content, ok := v.Content.([]byte)
		if !ok {
			return nil, errors.New("a link must be bytes")
		}
		return parseLink(content)
	case []any:
		for i, item := range v {
			item, err := rewrite(item)
			if err != nil {
				return nil, err
			}
			v[i] = item
		}
	case map[string]any:
		for k, item := range v {
			item, err := rewrite(item)
			if err != nil {
				return nil, err
			}
			v[k] = item
		}
	}
	return v, nil
}
