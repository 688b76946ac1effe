package principal

import (
	"errors"
	"fmt"
	"maps"

	"github.com/loam-agents/loam/dagcbor"
)

// The keys that every signed blob has.
const (
	fieldSignature = "sig"
	fieldSigner    = "signer"
)

// The ways in which a blob can fail verification.
var (
	// ErrBlobEncoding is the error of bytes that are not DAG-CBOR.
	ErrBlobEncoding = errors.New("principal: the blob is not valid DAG-CBOR")
	// ErrBlobShape is the error of a value that is not a map.
	ErrBlobShape = errors.New("principal: the blob is not a map")
	// ErrBlobSigner is the error of a blob whose signer is not a principal, or not the key that should sign it.
	ErrBlobSigner = errors.New("principal: the blob has no valid signer")
	// ErrBlobSignature is the error of a blob whose signature is absent or wrong.
	ErrBlobSignature = errors.New("principal: the blob's signature is not valid")
)

// zeroSignature fills `sig` while a blob is signed. It is only ever read.
var zeroSignature = make([]byte, SignatureSize)

// SigningBytes is what a signature covers: the canonical encoding of a decoded blob, all keys included, with `sig` set
// to 64 zero bytes. The map is not changed.
func SigningBytes(fields map[string]any) ([]byte, error) {
	return dagcbor.Reencode(withSignature(fields, zeroSignature))
}

// withSignature copies one level: the values inside are shared.
func withSignature(fields map[string]any, sig []byte) map[string]any {
	out := make(map[string]any, len(fields)+1)
	maps.Copy(out, fields)
	out[fieldSignature] = sig
	return out
}

// SignBlob signs a blob of any type and returns its canonical encoding. The map holds what dagcbor.Marshal takes; `sig`
// is added or replaced, and `signer` is added when it is absent. A `signer` that is not the key's principal gives
// ErrBlobSigner. The map is not changed.
func SignBlob(k *Key, blob map[string]any) ([]byte, error) {
	fields := withSignature(blob, zeroSignature)
	switch signer := fields[fieldSigner].(type) {
	case nil:
		fields[fieldSigner] = k.id.Bytes()
	case []byte:
		if string(signer) != string(k.id[:]) {
			return nil, ErrBlobSigner
		}
	default:
		return nil, ErrBlobSigner
	}
	return signFields(k, fields)
}

// signFields signs a map whose `sig` is zero-filled, and sets it.
func signFields(k *Key, fields map[string]any) ([]byte, error) {
	message, err := dagcbor.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("principal: sign: %w", err)
	}
	fields[fieldSignature] = k.Sign(message)
	data, err := dagcbor.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("principal: sign: %w", err)
	}
	return data, nil
}

// VerifyBlob decodes a signed blob and checks the signature of its `signer`. It returns all keys as generic values (see
// package dagcbor). Errors wrap one of the ErrBlob errors.
func VerifyBlob(raw []byte) (map[string]any, error) {
	var v any
	if err := dagcbor.Unmarshal(raw, &v); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBlobEncoding, err)
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, ErrBlobShape
	}
	signer, err := idField(fields, fieldSigner)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBlobSigner, err)
	}
	if !verifyFields(signer, fields) {
		return nil, ErrBlobSignature
	}
	return fields, nil
}

func idField(fields map[string]any, key string) (ID, error) {
	b, _ := fields[key].([]byte)
	return FromBytes(b)
}

func verifyFields(signer ID, fields map[string]any) bool {
	sig, _ := fields[fieldSignature].([]byte)
	if len(sig) != SignatureSize {
		return false
	}
	message, err := SigningBytes(fields)
	return err == nil && Verify(signer, message, sig)
}
