// Package dagcbor encodes and decodes canonical DAG-CBOR, the form in which everything that is signed or
// content-addressed travels, and computes the CIDs of such bytes.
//
// # Promises
//
// One value has one encoding: map keys are text, sorted by length and then bytewise; integers and lengths are minimal;
// lengths are definite; floats take 64 bits; the only tag is 42, a CID. Numbers follow JavaScript, because most peers
// are written in it: a number that is an integer within ±(2^53−1) is an integer whatever its Go type (2.0 is 02, −0 is
// 00), every other number is a float. NaN and the infinities have no encoding.
//
// Decoding refuses whatever could give one value two encodings and cannot be seen after decoding: duplicate keys,
// lengths and integers that are not minimal, indefinite lengths, trailing bytes. It also refuses keys that are not text,
// text that is not UTF-8, other tags, other simple values, NaN and the infinities. It tolerates what the reference
// decoder tolerates: unsorted keys, floats of 16 and 32 bits, and f7 (undefined, read as nil). A caller that verifies a
// signature therefore encodes the decoded value again, with Reencode, and verifies those bytes.
//
// # Values
//
// A generic value is nil, bool, int64, uint64 (only above the range of int64), float64 (only when it is no integer within
// ±(2^53−1)), string, []byte, CID, []any or map[string]any. Marshal and Unmarshal also take structs, whose fields are
// named by the `cbor` or else the `json` tag, so that one Go type serves the binary and the JSON transports.
//
// # Limits
//
// MaxDepth levels of nesting, MaxItems data items in a message. Encoded bytes are bounded by the caller.
//
// The package is tier 0 and public: it imports nothing of Loam. The bytes are read and written by
// github.com/fxamacker/cbor; this package adds the rules that general CBOR does not have.
package dagcbor
