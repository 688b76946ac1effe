package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"filippo.io/age"

	"github.com/loam-agents/loam/internal/backup"
	"github.com/loam-agents/loam/internal/blobstore"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/postgres"
	"github.com/loam-agents/loam/internal/store/sqlite"
	"github.com/loam-agents/loam/internal/vault"
)

// Backup writes everything that a server keeps to w, encrypted for the recipients, while the server runs or not. The keys (of
// the secrets, and of the owner) are in it only withKey. Errors: ErrNoData, and what store and vault return. The result is
// whole only when the error is nil.
func Backup(ctx context.Context, cfg Config, w io.Writer, recipients []age.Recipient, withKey bool) (out backup.Summary, err error) {
	cfg.defaults()
	data, err := cfg.openReader(ctx)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	src := backup.Source{Store: data, Now: cfg.Clock.Now()}
	blobs, err := blobstore.OpenReader(cfg.blobDir())
	switch {
	case err == nil:
		defer func() { err = errors.Join(err, blobs.Close()) }()
		src.Blobs = blobs
	case !errors.Is(err, fs.ErrNotExist):
		return out, err
	}
	if withKey {
		if src.Keys, err = cfg.keys(ctx); err != nil {
			return out, err
		}
	}
	sealed, err := backup.Seal(w, recipients...)
	if err != nil {
		return out, fmt.Errorf("encrypt the backup: %w", err)
	}
	if out, err = backup.Write(ctx, sealed, src); err != nil {
		return out, err
	}
	return out, sealed.Close()
}

func (c *Config) blobDir() string { return filepath.Join(c.DataDir, "blobs") }

// openReader opens an existing database beside the server that may work on it.
func (c *Config) openReader(ctx context.Context) (store.Store, error) {
	if c.DatabaseURL != "" {
		return postgres.OpenReader(ctx, postgres.Options{URL: c.DatabaseURL, Logger: c.Logger})
	}
	s, err := sqlite.OpenReader(ctx, sqlite.Options{Path: c.databasePath(), Clock: c.Clock, Logger: c.Logger})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrNoData, c.databasePath())
	}
	return s, err
}

// keys are the secret files of the server. The owner's may have been taken away; the vault's must be there.
func (c *Config) keys(ctx context.Context) ([]backup.Key, error) {
	text, err := c.vaultKey().Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the key of the secrets: %w", err)
	}
	out := []backup.Key{{Name: backup.VaultKey, Text: text}}
	switch text, err := os.ReadFile(filepath.Join(c.DataDir, OwnerKeyFile)); {
	case err == nil:
		out = append(out, backup.Key{Name: backup.OwnerKey, Text: text})
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return out, nil
}

// keptCopies is how many copies from before migrations of a PostgreSQL database stay in the data folder.
const keptCopies = 2

const copyPrefix = "postgres.before-"

// beforeMigrating copies the rows of a PostgreSQL database into the data folder, in the form of a backup that is not encrypted,
// and removes the oldest copies. (SQLite copies its file.) Migrations do not touch blobs.
func (s *Server) beforeMigrating(ctx context.Context, version int64) (err error) {
	data, err := s.cfg.openReader(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	target := filepath.Join(s.cfg.DataDir, fmt.Sprintf("%s%04d", copyPrefix, version))
	err = WriteFile(target, true, func(w io.Writer) error {
		_, err := backup.Write(ctx, backup.Plain(w), backup.Source{Store: data, Now: s.cfg.Clock.Now()})
		return err
	})
	if err != nil {
		return err
	}
	s.cfg.Logger.Info("database copied before migrating", "copy", target)
	return dropOldCopies(s.cfg.DataDir)
}

func dropOldCopies(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var copies []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), copyPrefix) && !strings.HasSuffix(e.Name(), partialSuffix) {
			copies = append(copies, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(copies)
	var errs []error
	for len(copies) > keptCopies {
		errs = append(errs, os.Remove(copies[0]))
		copies = copies[1:]
	}
	return errors.Join(errs...)
}

const partialSuffix = ".partial"

// WriteFile makes a file of mode 0600 that appears whole and flushed, or not at all. Without replace a file that is there is
// kept, and the error is fs.ErrExist.
func WriteFile(path string, replace bool, write func(io.Writer) error) (err error) {
	if _, err := os.Lstat(path); err == nil && !replace {
		return fmt.Errorf("write %s: %w", path, fs.ErrExist)
	}
	partial := path + partialSuffix
	f, err := os.OpenFile(partial, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(partial))
		}
	}()
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(partial, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// keyFile is where the key of the secrets is kept as a file; ok is false when it comes from elsewhere.
func (c *Config) keyFile() (path string, ok bool) {
	file, ok := c.vaultKey().(vault.FileKey)
	return file.Path, ok
}
