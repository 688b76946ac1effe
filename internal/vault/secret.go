package vault

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Secret carries a value through code that logs, prints or encodes what it is given: every such way shows [redacted]. Only
// Reveal gives the value.
type Secret struct{ value []byte }

// NewSecret wraps a value. It keeps the slice.
func NewSecret(value []byte) Secret { return Secret{value: value} }

// Reveal returns the value itself.
func (s Secret) Reveal() []byte { return s.value }

// Empty tells whether there is no value.
func (s Secret) Empty() bool { return len(s.value) == 0 }

// String implements fmt.Stringer.
func (Secret) String() string { return redacted }

// GoString implements fmt.GoStringer.
func (Secret) GoString() string { return redacted }

// Format implements fmt.Formatter, so that no verb (%x, %d, %+v) reaches the bytes.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalJSON implements json.Marshaler.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText implements encoding.TextMarshaler.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue implements slog.LogValuer.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
