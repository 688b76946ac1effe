// Package bearer makes secrets that prove who acts by being shown: tokens, cookies and sign-in codes.
//
// A secret is 130 random bits as text. Only its hash is stored: the database tells nobody how to act as somebody else. The hash
// is a plain SHA-256, which is enough for what cannot be guessed.
//
// bearer belongs to account (tier 2) and imports nothing of Loam. Its neighbours token and signin call it.
package bearer

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
)

// New is a fresh secret that begins with prefix.
func New(prefix string) string { return prefix + rand.Text() }

// Hash is what is stored of a secret.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
