package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/blobstore"
	"github.com/loam-agents/loam/internal/egress"
	"github.com/loam-agents/loam/internal/model/catalogue"
	"github.com/loam-agents/loam/internal/provider"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/vault"
)

// ErrNoData says that no server has been started on the data directory yet.
var ErrNoData = errors.New("there is no database yet")

// Inspection is the data of a server that does not run: `loam doctor` looks at it and `loam keys` changes the vault's key. It
// holds the lock of the data directory until Close.
type Inspection struct{ server *Server }

// Inspect opens an existing database and nothing else. Errors are those of Open, and ErrNoData when there is no database file.
// A database of an older version is migrated, as Open does.
func Inspect(ctx context.Context, cfg Config) (*Inspection, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	if path := cfg.databasePath(); cfg.DatabaseURL == "" {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: %s", ErrNoData, path)
		}
	}
	s := newServer(cfg)
	var err error
	if s.store, err = s.openStore(ctx); err != nil {
		return nil, err
	}
	return &Inspection{s}, nil
}

func (c *Config) databasePath() string {
	if c.DatabaseFile != "" {
		return c.DatabaseFile
	}
	return filepath.Join(c.DataDir, "loam.db")
}

// Check verifies the integrity of the database.
func (i *Inspection) Check(ctx context.Context) error { return i.server.store.Check(ctx) }

// OpenVault proves that the vault's key is there and opens this database's secrets. Errors wrap vault.ErrNoKey and
// vault.ErrWrongKey.
func (i *Inspection) OpenVault(ctx context.Context) (err error) {
	s := i.server
	if s.vault == nil {
		s.vault, err = vault.Open(ctx, s.store, s.cfg.vaultKey(), s.cfg.Clock, s.cfg.IDs)
	}
	return err
}

// RotateVault seals every secret with a new key and returns how many they were. See vault.Vault.Rotate.
func (i *Inspection) RotateVault(ctx context.Context) (int, error) {
	if err := i.OpenVault(ctx); err != nil {
		return 0, err
	}
	return i.server.vault.Rotate(ctx)
}

func (c *Config) vaultKey() vault.KeySource {
	if c.VaultKey != nil {
		return c.VaultKey
	}
	return vault.FileKey{Path: filepath.Join(c.DataDir, "vault.key")}
}

// Owner is the account of the server owner; ok is false before a first start.
func (i *Inspection) Owner(ctx context.Context) (id string, ok bool, err error) {
	err = i.server.store.Read(ctx, func(tx store.Tx) error {
		id, ok, err = account.Owner(tx)
		return err
	})
	return id, ok, err
}

// Providers names the model providers of the server owner, the one that changed last first.
func (i *Inspection) Providers(ctx context.Context) (names []string, err error) {
	owner, ok, err := i.Owner(ctx)
	if err != nil || !ok {
		return nil, err
	}
	err = i.server.store.Read(ctx, func(tx store.Tx) error {
		list, err := provider.List(tx, owner)
		names = nil
		for _, p := range list {
			names = append(names, p.Name)
		}
		return err
	})
	return names, err
}

// Probe asks a provider of the server owner for its models and returns how many it has. ctx bounds the request. It needs
// OpenVault first.
func (i *Inspection) Probe(ctx context.Context, name string) (models int, err error) {
	owner, _, err := i.Owner(ctx)
	if err != nil {
		return 0, err
	}
	if err := i.connect(); err != nil {
		return 0, err
	}
	list, err := i.server.models.List(ctx, owner, name)
	return len(list), err
}

// connect builds what speaks to providers, once.
func (i *Inspection) connect() (err error) {
	s := i.server
	if s.models != nil {
		return nil
	}
	if s.blobs, err = blobstore.OpenDir(s.cfg.blobDir()); err != nil {
		return fmt.Errorf("open the blob store: %w", err)
	}
	if s.egress, err = egress.New(egress.Options{Allow: s.cfg.EgressAllow, AgentsOff: s.cfg.EgressAgentsOff}); err != nil {
		return err
	}
	if s.catalogue, err = catalogue.New(s.cfg.ModelsFile); err != nil {
		return fmt.Errorf("read the model catalogue: %w", err)
	}
	return s.assemble()
}

// Close releases the database.
func (i *Inspection) Close() error { return i.server.Close() }
