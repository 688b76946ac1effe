// Package vault keeps the secrets of accounts: provider keys, signing keys, tokens.
//
// A secret is sealed with AES-256-GCM (a Tink keyset) before it reaches the database, and the seal is bound to the account
// and the name, so a row that was copied to another account or renamed does not open. The key is never in the database: it
// comes from a KeySource (a file beside the data, the environment, a command). What the vault promises: no value is in an
// error, a log line or a database file; a wrong key is found when the vault is opened, not at the first use; a crash at any
// point of a rotation leaves every secret readable. What it does not: metadata and names are stored in clear text, and
// whoever holds both the key and the database holds the secrets.
//
// vault is tier 2. It calls store, clock and id; operations and provider configuration call it.
package vault

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/store"
)

// Errors that Open returns, wrapped in a text that says what to do. The command line gives each its exit code.
var (
	// ErrWrongKey says that the key does not open this database's secrets.
	ErrWrongKey = errors.New("vault key does not belong to this database")
	// ErrNoKey says that the source has no key although the database holds secrets, or cannot make one.
	ErrNoKey = errors.New("vault key is missing")
	// ErrReadOnlyKey says that the source cannot be written, so Loam can neither make nor rotate its key.
	ErrReadOnlyKey = errors.New("vault key source is read-only")
)

// Vault seals and opens secrets. It is safe for concurrent use.
type Vault struct {
	store  store.Store
	source KeySource
	clock  clock.Clock
	ids    id.Source
	ring   atomic.Pointer[keyring]
	failed atomic.Int64
}

// Open loads the key from source and proves that it belongs to the database. When the source has no key and the database
// no secrets, it makes a key and saves it. Errors: ErrNoKey, ErrWrongKey, ErrReadOnlyKey, and what the store returns.
func Open(ctx context.Context, st store.Store, source KeySource, c clock.Clock, ids id.Source) (*Vault, error) {
	v := &Vault{store: st, source: source, clock: c, ids: ids}
	ring, err := v.load(ctx)
	if err != nil {
		return nil, err
	}
	if err := v.adopt(ctx, ring); err != nil {
		return nil, err
	}
	v.ring.Store(ring)
	return v, nil
}

// Failures is how often a secret could not be opened since Open, for metrics.
func (v *Vault) Failures() int64 { return v.failed.Load() }

// loadPresent reads the key that the source has.
func (v *Vault) loadPresent(ctx context.Context) (*keyring, error) {
	text, err := v.source.Load(ctx)
	if err != nil {
		return nil, err
	}
	ring, err := parseKeyring(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v.source, err)
	}
	return ring, nil
}

// load reads the key, or makes the first one.
func (v *Vault) load(ctx context.Context) (*keyring, error) {
	ring, err := v.loadPresent(ctx)
	if !errors.Is(err, ErrNoKey) {
		return ring, err
	}
	if err := v.store.Read(ctx, func(tx store.Tx) error { return requireNoSecrets(tx, v.source) }); err != nil {
		return nil, err
	}
	made, err := NewKey()
	if err != nil {
		return nil, err
	}
	if err := v.source.Create(ctx, made); err != nil {
		return nil, fmt.Errorf("save a new vault key: %w", err)
	}
	// Another process may have created its key first: what the source holds is what counts.
	return v.loadPresent(ctx)
}

// requireNoSecrets refuses to go on without a key while there is something that only that key opens.
func requireNoSecrets(tx store.Tx, source KeySource) error {
	var n int64
	if err := tx.QueryRow(`SELECT COUNT(*) FROM secrets`).Scan(&n); err != nil {
		return fmt.Errorf("count secrets: %w", err)
	}
	if n > 0 {
		return fmt.Errorf("%w: the database holds %d secrets but %s has no key; restore the key from your backup", ErrNoKey, n, source)
	}
	return nil
}

// adopt compares the key with the database's check text, and writes that text when neither a secret nor a server at work
// depends on another one.
func (v *Vault) adopt(ctx context.Context, ring *keyring) error {
	peers, err := v.store.Peers(ctx)
	if err != nil {
		return err
	}
	return v.store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		check, err := readCheck(tx)
		if err != nil {
			return err
		}
		if check != nil {
			if ring.opens(check) && ring.current(check) {
				return nil
			}
			// An older key of the ring sealed the check: a rotation stopped before it announced the new one, which happens now.
			if ring.opens(check) {
				return writeCheck(tx, ring)
			}
			if err := requireNoSecrets(tx, v.source); err != nil {
				return fmt.Errorf("%w: %s holds another key than the one that sealed this database; restore the right one", ErrWrongKey, v.source)
			}
			if peers > 0 {
				return fmt.Errorf("%w: %s holds another key than the server that works on this database; give all servers one key", ErrWrongKey, v.source)
			}
		}
		return writeCheck(tx, ring)
	})
}

// Refresh reads the key again, after another process has rotated it. Get does this by itself when a seal does not open.
func (v *Vault) Refresh(ctx context.Context) error {
	ring, err := v.loadPresent(ctx)
	if err != nil {
		return err
	}
	err = v.store.Read(ctx, func(tx store.Tx) error {
		check, err := readCheck(tx)
		if err == nil && !ring.opens(check) {
			return fmt.Errorf("%w: %s changed to a key that did not seal this database", ErrWrongKey, v.source)
		}
		return err
	})
	if err != nil {
		return err
	}
	v.ring.Store(ring)
	return nil
}

// errStale is what a mutation answers while this process holds an older key than the database.
func errStale() error {
	return fault.New(fault.Unavailable, "Secrets are being sealed with a new key; try again")
}
