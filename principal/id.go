package principal

import (
	"crypto/ed25519"
	"errors"
	"fmt"

	"github.com/mr-tron/base58"
)

const (
	// IDSize is the length of a principal's binary form in bytes.
	IDSize = 2 + ed25519.PublicKeySize
	// SignatureSize is the length of a signature in bytes.
	SignatureSize = ed25519.SignatureSize

	codec0, codec1 = 0xed, 0x01
	multibase      = 'z'
	// maxIDText bounds the text that ParseID decodes; every principal's text has 48 bytes.
	maxIDText = 64
)

// ErrInvalidID is the error of everything that is not a principal.
var ErrInvalidID = errors.New("principal: not an Ed25519 principal")

// ID is a principal in its binary form: the unsigned varint of the multicodec ed25519-pub and the public key. It is
// comparable and may be a map key. The zero value is no principal; its text is empty.
type ID [IDSize]byte

// FromPublicKey is the principal of a 32-byte public key.
func FromPublicKey(key ed25519.PublicKey) (ID, error) {
	if len(key) != ed25519.PublicKeySize {
		return ID{}, fmt.Errorf("%w: a public key has %d bytes, not %d", ErrInvalidID, ed25519.PublicKeySize, len(key))
	}
	id := ID{codec0, codec1}
	copy(id[2:], key)
	return id, nil
}

// FromBytes reads the binary form: 34 bytes that begin with 0xED 0x01.
func FromBytes(b []byte) (ID, error) {
	if len(b) != IDSize {
		return ID{}, fmt.Errorf("%w: it has %d bytes, not %d", ErrInvalidID, IDSize, len(b))
	}
	if b[0] != codec0 || b[1] != codec1 {
		return ID{}, fmt.Errorf("%w: it has the codec %x", ErrInvalidID, b[:2])
	}
	return ID(b), nil
}

// ParseID reads the text form, such as z6MkehRgf7yJbgaGfYsdoAsKdBPE3dj2CYhowQdcjqSJgvVd.
func ParseID(text string) (ID, error) {
	if text == "" || text[0] != multibase {
		return ID{}, fmt.Errorf("%w: its text must begin with z", ErrInvalidID)
	}
	if len(text) > maxIDText {
		return ID{}, fmt.Errorf("%w: its text has %d bytes", ErrInvalidID, len(text))
	}
	b, err := base58.Decode(text[1:])
	if err != nil {
		return ID{}, fmt.Errorf("%w: its text is not base58: %w", ErrInvalidID, err)
	}
	return FromBytes(b)
}

// IsZero reports whether id is the zero value, which names nobody.
func (id ID) IsZero() bool { return id == ID{} }

// String is the text form; empty for the zero value.
func (id ID) String() string {
	if id.IsZero() {
		return ""
	}
	return string(multibase) + base58.Encode(id[:])
}

// Bytes is a copy of the binary form.
func (id ID) Bytes() []byte { return append([]byte(nil), id[:]...) }

// PublicKey is the Ed25519 key of the principal.
func (id ID) PublicKey() ed25519.PublicKey { return append(ed25519.PublicKey(nil), id[2:]...) }

// MarshalText implements encoding.TextMarshaler, so that JSON, CBOR and logs show the text form.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. Empty text is the zero value.
func (id *ID) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*id = ID{}
		return nil
	}
	parsed, err := ParseID(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// Verify reports whether sig is the principal's signature over message.
func Verify(id ID, message, sig []byte) bool {
	return len(sig) == SignatureSize && id[0] == codec0 && id[1] == codec1 &&
		ed25519.Verify(ed25519.PublicKey(id[2:]), message, sig)
}
