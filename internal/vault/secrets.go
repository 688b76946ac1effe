package vault

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
)

// Limits of a secret, in bytes (spec/agents-protocol.md §3.0).
const (
	MaxName     = 256
	MaxValue    = 64 << 10
	MaxMetadata = 16 << 10
)

// Info is what may be shown of a secret.
type Info struct {
	// ID is a UUIDv7 that stays the same when the value changes.
	ID      string
	Account string
	Name    string
	// Metadata is what the owner stored beside the value, in clear text; nil when nothing.
	Metadata map[string]any
	// CreatedAt and UpdatedAt are epoch milliseconds.
	CreatedAt int64
	UpdatedAt int64
}

// Set creates or replaces a secret. The name is trimmed and 1 to 256 bytes; the value 1 byte to 64 KiB; metadata, measured
// as the JSON that is stored, at most 16 KiB and replaced as a whole (nil removes it). Metadata must be what JSON can say:
// bytes become base64 text. Errors are faults: validation_failed for the limits, unavailable while another process rotates
// the key (see Refresh).
func (v *Vault) Set(tx store.Tx, account, name string, value []byte, metadata map[string]any) (Info, error) {
	name = strings.TrimSpace(name)
	if err := validate(name, value); err != nil {
		return Info{}, err
	}
	meta, err := encodeMetadata(metadata)
	if err != nil {
		return Info{}, err
	}
	ring := v.ring.Load()
	if err := requireCurrent(tx, ring); err != nil {
		return Info{}, err
	}
	sealed, err := ring.aead.Encrypt(value, associated(account, name))
	if err != nil {
		return Info{}, fmt.Errorf("seal a secret: %w", err)
	}
	now := clock.Millis(v.clock)
	info := Info{Account: account, Name: name, UpdatedAt: now}
	err = tx.QueryRow(`
		INSERT INTO secrets (account_id, name, id, ciphertext, metadata, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (account_id, name) DO UPDATE
		SET ciphertext = excluded.ciphertext, metadata = excluded.metadata, updated_at = excluded.updated_at
		RETURNING id, created_at`,
		account, name, v.ids(), sealed, meta, now, now).Scan(&info.ID, &info.CreatedAt)
	if err != nil {
		return Info{}, fmt.Errorf("store a secret: %w", err)
	}
	info.Metadata, err = decodeMetadata(meta)
	return info, err
}

// SetMetadata replaces what is stored beside a value. Limits and errors are those of Set; an absent secret is the fault not_found.
func (v *Vault) SetMetadata(tx store.Tx, account, name string, metadata map[string]any) (Info, error) {
	meta, err := encodeMetadata(metadata)
	if err != nil {
		return Info{}, err
	}
	info := Info{Account: account, Name: strings.TrimSpace(name), UpdatedAt: clock.Millis(v.clock)}
	err = tx.QueryRow(`UPDATE secrets SET metadata = ?, updated_at = ? WHERE account_id = ? AND name = ? RETURNING id, created_at`,
		meta, info.UpdatedAt, account, info.Name).Scan(&info.ID, &info.CreatedAt)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Info{}, fault.Missing("Secret not found")
	case err != nil:
		return Info{}, fmt.Errorf("change a secret's metadata: %w", err)
	}
	info.Metadata, err = decodeMetadata(meta)
	return info, err
}

// Get returns a value and what may be shown of it. An absent secret is the fault not_found. When the seal does not open, the
// key is read again once, as another process may have rotated it.
func (v *Vault) Get(ctx context.Context, account, name string) ([]byte, Info, error) {
	value, info, err := v.read(ctx, account, name)
	if !errors.Is(err, ErrWrongKey) {
		return value, info, err
	}
	if err := v.Refresh(ctx); err != nil {
		return nil, Info{}, err
	}
	return v.read(ctx, account, name)
}

func (v *Vault) read(ctx context.Context, account, name string) (value []byte, info Info, err error) {
	err = v.store.Read(ctx, func(tx store.Tx) error {
		value, info, err = v.GetTx(tx, account, name)
		return err
	})
	return value, info, err
}

// GetTx is Get inside a transaction, without the second try.
func (v *Vault) GetTx(tx store.Tx, account, name string) ([]byte, Info, error) {
	info := Info{Account: account, Name: strings.TrimSpace(name)}
	var sealed []byte
	var meta sql.NullString
	err := tx.QueryRow(`
		SELECT id, ciphertext, metadata, created_at, updated_at FROM secrets WHERE account_id = ? AND name = ?`,
		account, info.Name).Scan(&info.ID, &sealed, &meta, &info.CreatedAt, &info.UpdatedAt)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, Info{}, fault.Missing("Secret not found")
	case err != nil:
		return nil, Info{}, fmt.Errorf("read a secret: %w", err)
	}
	if info.Metadata, err = decodeMetadata(meta); err != nil {
		return nil, Info{}, err
	}
	value, err := v.ring.Load().aead.Decrypt(sealed, associated(account, info.Name))
	if err != nil {
		v.failed.Add(1)
		return nil, Info{}, fmt.Errorf("open a secret: %w", ErrWrongKey)
	}
	return value, info, nil
}

// Delete removes a secret. An absent one is the fault not_found.
func (v *Vault) Delete(tx store.Tx, account, name string) error {
	n, err := tx.Exec(`DELETE FROM secrets WHERE account_id = ? AND name = ?`, account, strings.TrimSpace(name))
	switch {
	case err != nil:
		return fmt.Errorf("delete a secret: %w", err)
	case n == 0:
		return fault.Missing("Secret not found")
	}
	return nil
}

// List returns what may be shown of an account's secrets, by name.
func (v *Vault) List(tx store.Tx, account string) ([]Info, error) {
	rows, err := tx.Query(`
		SELECT id, name, metadata, created_at, updated_at FROM secrets WHERE account_id = ? ORDER BY name`, account)
	if err != nil {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	defer rows.Close()
	var out []Info
	for rows.Next() {
		info := Info{Account: account}
		var meta sql.NullString
		if err := rows.Scan(&info.ID, &info.Name, &meta, &info.CreatedAt, &info.UpdatedAt); err != nil {
			return nil, fmt.Errorf("list secrets: %w", err)
		}
		if info.Metadata, err = decodeMetadata(meta); err != nil {
			return nil, err
		}
		out = append(out, info)
	}
	return out, rows.Err()
}

func validate(name string, value []byte) error {
	switch {
	case name == "":
		return fault.Invalid("Secret name is required")
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return fault.Invalid("Secret name is invalid")
	case len(name) > MaxName:
		return fault.Invalid("Secret name is too large")
	case len(value) == 0:
		return fault.Invalid("Secret value is required")
	case len(value) > MaxValue:
		return fault.Invalid("Secret value is too large")
	}
	return nil
}

func encodeMetadata(metadata map[string]any) (sql.NullString, error) {
	if metadata == nil {
		return sql.NullString{}, nil
	}
	text, err := json.Marshal(metadata)
	switch {
	case err != nil:
		return sql.NullString{}, fault.Invalid("Secret metadata is invalid")
	case len(text) > MaxMetadata:
		return sql.NullString{}, fault.Invalid("Secret metadata is too large")
	}
	return sql.NullString{String: string(text), Valid: true}, nil
}

func decodeMetadata(text sql.NullString) (map[string]any, error) {
	if !text.Valid {
		return nil, nil
	}
	var out map[string]any
	if err := json.Unmarshal([]byte(text.String), &out); err != nil {
		return nil, fmt.Errorf("read a secret's metadata: %w", err)
	}
	return out, nil
}
