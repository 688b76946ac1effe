package dagcbor

import (
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// Packer is implemented by types that choose their own form. PackDAGCBOR returns a value that Marshal takes; it must
// not return the receiver's own type.
type Packer interface {
	// PackDAGCBOR returns the value to encode. Its error fails the encoding.
	PackDAGCBOR() (any, error)
}

// encMode writes canonical bytes of a normal tree.
var encMode = mustEncMode()

func mustEncMode() cbor.EncMode {
	mode, err := cbor.EncOptions{
		Sort:          cbor.SortLengthFirst,
		ShortestFloat: cbor.ShortestFloatNone,
		NaNConvert:    cbor.NaNConvertReject,
		InfConvert:    cbor.InfConvertReject,
		BigIntConvert: cbor.BigIntConvertReject,
		IndefLength:   cbor.IndefLengthForbidden,
		TagsMd:        cbor.TagsAllowed,
	}.EncMode()
	if err != nil {
		panic(fmt.Sprintf("dagcbor: encoder options: %v", err))
	}
	return mode
}

// Marshal encodes a value canonically.
//
// It takes generic values, structs (see the package comment for the tags), maps with text keys, slices, arrays,
// pointers, all numbers, json.Number, json.RawMessage (which becomes the value it holds), CID, and types that implement
// Packer, json.Marshaler or encoding.TextMarshaler, asked in this order. Nil pointers and interfaces are null; nil
// slices, maps and byte slices are empty, because peers expect lists to be present. Numbers follow JavaScript: an
// integer beyond ±(2^53−1) becomes a float.
//
// It fails for NaN, infinities, text that is not UTF-8, undefined CIDs, functions, channels, complex numbers, keys that
// are not text, and more than MaxDepth levels. The error names the place.
func Marshal(v any) ([]byte, error) {
	return encode(v, normaliser{})
}

// Reencode encodes a value that Unmarshal returned, canonically. It differs from Marshal in one point: an integer beyond
// ±(2^53−1) that stood in the bytes as an integer stays one, so that a signature over canonical bytes holds.
func Reencode(v any) ([]byte, error) {
	return encode(v, normaliser{keepInts: true})
}

// Canonical decodes bytes strictly and encodes them again. Bytes that are canonical come back unchanged.
func Canonical(data []byte) ([]byte, error) {
	v, err := decode(data)
	if err != nil {
		return nil, err
	}
	return Reencode(v)
}

func encode(v any, n normaliser) ([]byte, error) {
	tree, err := n.value(v, 0)
	if err != nil {
		return nil, fmt.Errorf("dagcbor: encode: %w", err)
	}
	data, err := encMode.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("dagcbor: encode: %w", err)
	}
	return data, nil
}
