// Package provider keeps the model providers that accounts configure: a name, a type, and where its key is kept.
//
// A provider names secrets and never holds one. Its type fixes the service address, unless the type is meant for services
// that people run themselves; Resolve says where requests go and whose word that is. Rows live in the caller's
// transaction.
//
// provider is tier 2: it imports dagcbor, wire, store and fault. Operations (tier 6) and the engine (tier 5) call it; the
// vault keeps the secrets, and adapters in model speak to the service.
package provider

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// Provider is one row: a configured provider of an account.
type Provider struct {
	// ID is the row's id; Name is unique in the account.
	ID, Account, Name string
	// Config is what ParseConfig returned when the provider was saved.
	Config wire.ProviderConfig
	Health Health
	// CreatedAt and UpdatedAt are epoch milliseconds.
	CreatedAt, UpdatedAt int64
}

// Info is the provider as its readers see it, without addresses, secret names and how it fared.
func (p Provider) Info() wire.ProviderInfo {
	out := wire.ProviderInfo{
		ID: p.ID, Name: p.Name, Type: p.Config.Type, HasSecrets: len(p.Config.SecretRefs) > 0,
		CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
	}
	if p.Config.AuthMode == Subscription {
		out.AuthMode = Subscription
	}
	return out
}

// OwnerInfo is the provider as its own account sees it.
func (p Provider) OwnerInfo() wire.ProviderInfo {
	info := p.Info()
	info.LastSuccessAt, info.LastErrorAt, info.LastError = p.Health.LastSuccessAt, p.Health.LastErrorAt, p.Health.LastError
	return info
}

// SetParams is a provider to save.
type SetParams struct {
	// ID is used when the name is new. Name comes from ParseName, Config from ParseConfig.
	ID, Account, Name string
	Config            wire.ProviderConfig
	// Now is epoch milliseconds.
	Now int64
}

// Set makes the provider of that name or replaces its configuration whole, keeping id and creation time. How the earlier
// configuration fared is forgotten.
func Set(tx store.Tx, p SetParams) (Provider, error) {
	text, err := dagcbor.ToJSON(p.Config)
	if err != nil {
		return Provider{}, fmt.Errorf("encode provider: %w", err)
	}
	out := Provider{Account: p.Account, Name: p.Name, Config: p.Config, UpdatedAt: p.Now}
	err = tx.QueryRow(`INSERT INTO model_providers (id, account_id, name, type, config, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (account_id, name) DO UPDATE
		SET type = excluded.type, config = excluded.config, last_success_at = 0, last_error_at = 0, last_error = '',
			updated_at = excluded.updated_at
		RETURNING id, created_at`,
		p.ID, p.Account, p.Name, p.Config.Type, string(text), p.Now, p.Now).Scan(&out.ID, &out.CreatedAt)
	if err != nil {
		return Provider{}, fmt.Errorf("save provider: %w", err)
	}
	return out, nil
}

const columns = `id, account_id, name, config, last_success_at, last_error_at, last_error, created_at, updated_at`

// Get finds a provider by name, or returns fault.NotFound.
func Get(tx store.Tx, account, name string) (Provider, error) {
	row := tx.QueryRow(`SELECT `+columns+` FROM model_providers WHERE account_id = ? AND name = ?`, account, name)
	p, err := scan(row.Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Provider{}, notFound()
	}
	return p, err
}

// List returns the account's providers, newest update first.
func List(tx store.Tx, account string) (out []Provider, err error) {
	rows, err := tx.Query(`SELECT `+columns+` FROM model_providers WHERE account_id = ?
		ORDER BY updated_at DESC, id DESC`, account)
	if err != nil {
		return nil, fmt.Errorf("list providers: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		p, err := scan(rows.Scan)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list providers: %w", err)
	}
	return out, nil
}

// Has tells whether the account has a provider of that name, and of which type.
func Has(tx store.Tx, account, name string) (providerType string, ok bool, err error) {
	err = tx.QueryRow(`SELECT type FROM model_providers WHERE account_id = ? AND name = ?`, account, name).
		Scan(&providerType)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("look up provider: %w", err)
	}
	return providerType, true, nil
}

// Delete removes a provider and returns the names of secrets that no other provider of the account refers to: the caller
// removes them in the same transaction. A missing provider is fault.NotFound.
func Delete(tx store.Tx, account, name string) (orphans []string, err error) {
	gone, err := Get(tx, account, name)
	if err != nil {
		return nil, err
	}
	_, err = tx.Exec(`DELETE FROM model_providers WHERE account_id = ? AND name = ?`, account, name)
	if err != nil {
		return nil, fmt.Errorf("delete provider: %w", err)
	}
	rest, err := List(tx, account)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for _, p := range rest {
		for _, secret := range p.Config.SecretRefs {
			used[secret] = true
		}
	}
	for _, key := range secretKeys() {
		secret := gone.Config.SecretRefs[key]
		if secret != "" && !used[secret] {
			orphans, used[secret] = append(orphans, secret), true
		}
	}
	return orphans, nil
}

func notFound() error { return fault.Missing("Model provider not found") }

func scan(into func(...any) error) (Provider, error) {
	var p Provider
	var text string
	err := into(&p.ID, &p.Account, &p.Name, &text, &p.Health.LastSuccessAt, &p.Health.LastErrorAt, &p.Health.LastError, &p.CreatedAt, &p.UpdatedAt)
	if err != nil {
		return Provider{}, fmt.Errorf("read provider: %w", err)
	}
	value, err := dagcbor.FromDAGJSON([]byte(text))
	if err != nil {
		return Provider{}, fmt.Errorf("decode provider %s: %w", p.ID, err)
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return Provider{}, fmt.Errorf("decode provider %s: not an object", p.ID)
	}
	if p.Config, err = decodeConfig(fields); err != nil {
		return Provider{}, fmt.Errorf("decode provider %s: %w", p.ID, err)
	}
	return p, nil
}

// decodeConfig goes through CBOR, which keeps integers of modelDefaults apart from floats.
func decodeConfig(fields map[string]any) (cfg wire.ProviderConfig, err error) {
	raw, err := dagcbor.Reencode(fields)
	if err != nil {
		return cfg, err
	}
	err = dagcbor.Unmarshal(raw, &cfg)
	return cfg, err
}
