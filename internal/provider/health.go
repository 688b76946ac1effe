package provider

import (
	"fmt"
	"strings"

	"github.com/loam-agents/loam/internal/store"
)

// MaxLastError bounds the text of a last error in bytes; what is longer is cut.
const MaxLastError = 1000

// Health is how a provider fared when it was asked last, with its present configuration. Times are epoch milliseconds, zero is
// never; they are exact to about a minute. LastError is a sentence for people and holds no secret.
type Health struct {
	LastSuccessAt, LastErrorAt int64
	LastError                  string
}

// Succeeded records that a provider has answered. News of one that is gone, or was configured anew meanwhile, is dropped.
func Succeeded(tx store.Tx, p *Provider, now int64) error {
	_, err := tx.Exec(`UPDATE model_providers SET last_success_at = ? WHERE id = ? AND updated_at = ? AND last_success_at < ?`,
		now, p.ID, p.UpdatedAt, now)
	if err != nil {
		return fmt.Errorf("record a provider's answer: %w", err)
	}
	return nil
}

// Failed records why a provider has not answered, as Succeeded does.
func Failed(tx store.Tx, p *Provider, text string, now int64) error {
	_, err := tx.Exec(`UPDATE model_providers SET last_error_at = ?, last_error = ? WHERE id = ? AND updated_at = ? AND last_error_at <= ?`,
		now, fit(text), p.ID, p.UpdatedAt, now)
	if err != nil {
		return fmt.Errorf("record a provider's error: %w", err)
	}
	return nil
}

// fit makes a text one that a column takes.
func fit(text string) string {
	text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	return strings.ToValidUTF8(text[:min(len(text), MaxLastError)], "")
}
