package vault

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// keyring is a parsed key: a Tink keyset with one primary key, which seals, and older ones, which only open.
type keyring struct {
	handle  *keyset.Handle
	aead    tink.AEAD
	primary uint32
}

// NewKey makes a key in the text form that every KeySource holds: a Tink AES-256-GCM keyset as JSON. A source may hold the
// same text in standard base64, which is easier to put into a variable.
func NewKey() ([]byte, error) {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, fmt.Errorf("make a vault key: %w", err)
	}
	return encodeKeyset(handle)
}

func encodeKeyset(handle *keyset.Handle) ([]byte, error) {
	var buf bytes.Buffer
	if err := insecurecleartextkeyset.Write(handle, keyset.NewJSONWriter(&buf)); err != nil {
		return nil, fmt.Errorf("encode a vault key: %w", err)
	}
	return buf.Bytes(), nil
}

// parseKeyring reads a key. Its errors never quote the text.
func parseKeyring(text []byte) (*keyring, error) {
	text = bytes.TrimSpace(text)
	if len(text) > 0 && text[0] != '{' {
		decoded, err := base64.StdEncoding.DecodeString(string(text))
		if err != nil {
			return nil, errors.New("vault key is neither a keyset in JSON nor one in base64")
		}
		text = decoded
	}
	handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(text)))
	if err != nil {
		return nil, errors.New("vault key is not a valid keyset")
	}
	return newKeyring(handle)
}

func newKeyring(handle *keyset.Handle) (*keyring, error) {
	primitive, err := aead.New(handle)
	if err != nil {
		return nil, errors.New("vault key is a keyset, but not one for authenticated encryption")
	}
	primary, err := handle.Primary()
	if err != nil {
		return nil, errors.New("vault key has no primary key")
	}
	return &keyring{handle: handle, aead: primitive, primary: primary.KeyID()}, nil
}

// withNewPrimary returns a keyring that seals with a fresh key and still opens what this one opens, and its text.
func (r *keyring) withNewPrimary() (*keyring, []byte, error) {
	m := keyset.NewManagerFromHandle(r.handle)
	fresh, err := m.Add(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, nil, fmt.Errorf("add a vault key: %w", err)
	}
	if err := m.SetPrimary(fresh); err != nil {
		return nil, nil, fmt.Errorf("choose the new vault key: %w", err)
	}
	return fromManager(m)
}

// onlyPrimary returns a keyring without the older keys, and its text.
func (r *keyring) onlyPrimary() (*keyring, []byte, error) {
	m := keyset.NewManagerFromHandle(r.handle)
	for _, info := range r.handle.KeysetInfo().GetKeyInfo() {
		if info.GetKeyId() == r.primary {
			continue
		}
		if err := m.Delete(info.GetKeyId()); err != nil {
			return nil, nil, fmt.Errorf("drop an old vault key: %w", err)
		}
	}
	return fromManager(m)
}

func fromManager(m *keyset.Manager) (*keyring, []byte, error) {
	handle, err := m.Handle()
	if err != nil {
		return nil, nil, fmt.Errorf("build the vault key: %w", err)
	}
	ring, err := newKeyring(handle)
	if err != nil {
		return nil, nil, err
	}
	text, err := encodeKeyset(handle)
	return ring, text, err
}

// tinkPrefixSize is the length of what Tink puts before a ciphertext: a version byte and the key's id, big endian.
const tinkPrefixSize = 5

// current tells whether a ciphertext was sealed with the primary key.
func (r *keyring) current(ciphertext []byte) bool {
	return len(ciphertext) > tinkPrefixSize && binary.BigEndian.Uint32(ciphertext[1:tinkPrefixSize]) == r.primary
}

// checkText is sealed into the database so that a wrong key is found at the start.
const (
	checkText = "loam vault key check"
	checkData = "loam/vault-check/v1"
)

func (r *keyring) sealCheck() ([]byte, error) {
	return r.aead.Encrypt([]byte(checkText), []byte(checkData))
}

// opens tells whether the keyring opens a check text.
func (r *keyring) opens(check []byte) bool {
	text, err := r.aead.Decrypt(check, []byte(checkData))
	return err == nil && string(text) == checkText
}

// associated binds a seal to an account and a name. The length before the account keeps ("ab","c") and ("a","bc") apart.
func associated(account, name string) []byte {
	const label = "loam/secret/v1"
	out := make([]byte, 0, len(label)+8+len(account)+len(name))
	out = append(out, label...)
	out = binary.BigEndian.AppendUint64(out, uint64(len(account)))
	out = append(out, account...)
	return append(out, name...)
}
