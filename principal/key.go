package principal

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"io"
)

// SeedSize is the length of a private key's seed in bytes.
const SeedSize = ed25519.SeedSize

// Key is a private key. It is safe for concurrent use. Whatever verb prints it, it shows its principal only.
type Key struct {
	private ed25519.PrivateKey
	id      ID
}

// NewKey makes the key of a 32-byte seed.
func NewKey(seed []byte) (*Key, error) {
	if len(seed) != SeedSize {
		return nil, fmt.Errorf("principal: a seed has %d bytes, not %d", SeedSize, len(seed))
	}
	private := ed25519.NewKeyFromSeed(seed)
	id, err := FromPublicKey(private.Public().(ed25519.PublicKey))
	if err != nil {
		return nil, err
	}
	return &Key{private: private, id: id}, nil
}

// Generate makes a new key from random, or from crypto/rand when random is nil.
func Generate(random io.Reader) (*Key, error) {
	if random == nil {
		random = rand.Reader
	}
	seed := make([]byte, SeedSize)
	if _, err := io.ReadFull(random, seed); err != nil {
		return nil, fmt.Errorf("principal: read randomness: %w", err)
	}
	return NewKey(seed)
}

// ID is the principal of the key.
func (k *Key) ID() ID { return k.id }

// Sign is the 64-byte Ed25519 signature over message.
func (k *Key) Sign(message []byte) []byte { return ed25519.Sign(k.private, message) }

// Seed is a copy of the 32 secret bytes. Whoever holds them is the principal.
func (k *Key) Seed() []byte { return append([]byte(nil), k.private.Seed()...) }

// Format implements fmt.Formatter, so that no verb prints the secret.
func (k *Key) Format(s fmt.State, _ rune) {
	if k == nil {
		_, _ = io.WriteString(s, "<no key>")
		return
	}
	_, _ = io.WriteString(s, "key of "+k.id.String())
}

// MarshalText implements encoding.TextMarshaler with the same text, for structured logs and JSON.
func (k *Key) MarshalText() ([]byte, error) { return fmt.Append(nil, k), nil }
