package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"

	"github.com/loam-agents/loam/internal/backup"
	"github.com/loam-agents/loam/internal/blobstore"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/postgres"
	"github.com/loam-agents/loam/internal/store/sqlite"
)

// staging is the folder inside the data folder in which a restore puts everything before it is whole. While it is there, no
// server starts on the folder.
const staging = "restoring"

// ErrRestoring says that a restore into the data folder was interrupted.
var ErrRestoring = errors.New("a restore into this data folder was interrupted")

// Restore fills an empty data folder and an empty database from a backup. What arrives is put aside until all of it was read
// and found whole; a restore that fails leaves the folder and the database as they were. Errors: backup.ErrLocked,
// backup.ErrDamaged, store.ErrNotEmpty, store.ErrNewerSchema, store.ErrFull, store.ErrUnreachable.
func Restore(ctx context.Context, cfg Config, from io.Reader, identities []age.Identity) (out backup.Summary, err error) {
	cfg.defaults()
	r := &restore{cfg: &cfg, dir: filepath.Join(cfg.DataDir, staging)}
	if err := r.prepare(); err != nil {
		return out, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.undo())
		}
	}()
	blobs, err := blobstore.OpenDir(filepath.Join(r.dir, "blobs"))
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, blobs.Close()) }()
	out, err = backup.Read(ctx, from, identities, backup.Target{
		Blobs: blobs, Key: r.key,
		Database: func(f store.Filling) error { return r.database(ctx, f) },
		Complete: r.place,
	})
	if err != nil {
		return out, err
	}
	return out, r.finish()
}

type restore struct {
	cfg *Config
	// dir is the staging folder.
	dir string
	// made says that the data folder was made, placed what was moved into it.
	made   bool
	placed []string
}

// prepare makes the staging folder in a data folder that is absent or empty, except for what an interrupted restore left.
func (r *restore) prepare() error {
	entries, err := os.ReadDir(r.cfg.DataDir)
	if errors.Is(err, fs.ErrNotExist) {
		r.made = true
		err = os.MkdirAll(r.cfg.DataDir, 0o700)
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		// A lock without a database, and the folder that a file system makes at its root, are nothing.
		if e.Name() != staging && e.Name() != "loam.lock" && e.Name() != "lost+found" {
			return fmt.Errorf("%w: %s holds %s; restore into a new folder with --data", store.ErrNotEmpty, r.cfg.DataDir, e.Name())
		}
	}
	if path := r.cfg.DatabaseFile; path != "" && r.cfg.DatabaseURL == "" {
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%w: there is a database %s", store.ErrNotEmpty, path)
		}
	}
	return errors.Join(os.RemoveAll(r.dir), os.Mkdir(r.dir, 0o700), os.RemoveAll(r.cfg.DatabaseFile+stagedSuffix))
}

// stagedSuffix names a database that is not in the data folder while it is being filled: it may be on another disk.
const stagedSuffix = ".restoring"

// stagedDatabase is the file that is filled.
func (r *restore) stagedDatabase() string {
	if r.cfg.DatabaseFile != "" {
		return r.cfg.DatabaseFile + stagedSuffix
	}
	return filepath.Join(r.dir, "loam.db")
}

func (r *restore) database(ctx context.Context, f store.Filling) error {
	if r.cfg.DatabaseURL != "" {
		return postgres.Fill(ctx, postgres.Options{URL: r.cfg.DatabaseURL, Logger: r.cfg.Logger}, f)
	}
	return sqlite.Fill(ctx, sqlite.Options{Path: r.stagedDatabase(), Clock: r.cfg.Clock, Logger: r.cfg.Logger}, f)
}

func (r *restore) key(k backup.Key) error {
	return WriteFile(filepath.Join(r.dir, k.Name), false, func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(k.Text))
		return err
	})
}

// place moves blobs and keys to where they belong. It runs before the database is kept, so that no database is there without
// them.
func (r *restore) place() error {
	if err := r.move(filepath.Join(r.dir, "blobs"), r.cfg.blobDir()); err != nil {
		return err
	}
	return r.placeKeys()
}

func (r *restore) placeKeys() error {
	places := map[string]string{backup.OwnerKey: filepath.Join(r.cfg.DataDir, OwnerKeyFile)}
	// A key that comes from a variable or a program is the operator's to put there.
	if path, ok := r.cfg.keyFile(); ok {
		places[backup.VaultKey] = path
	}
	for name, path := range places {
		text, err := os.ReadFile(filepath.Join(r.dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		// Written, not moved: the key of the secrets may belong on another disk.
		if err := WriteFile(path, false, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
			return fmt.Errorf("put a key in its place: %w", notEmpty(err))
		}
		r.placed = append(r.placed, path)
	}
	return nil
}

func notEmpty(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %w", store.ErrNotEmpty, err)
	}
	return err
}

// move renames what was staged. What is there is never replaced.
func (r *restore) move(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("%w: there is a file %s", store.ErrNotEmpty, to)
	}
	if err := os.Rename(from, to); err != nil {
		return fmt.Errorf("put what was restored in its place: %w", err)
	}
	r.placed = append(r.placed, to)
	return syncDir(filepath.Dir(to))
}

// finish gives a SQLite file its name, which is what makes the restore real, and removes the staging folder.
func (r *restore) finish() error {
	if r.cfg.DatabaseURL == "" {
		if err := r.move(r.stagedDatabase(), r.cfg.databasePath()); err != nil {
			return err
		}
	}
	return errors.Join(os.RemoveAll(r.dir), syncDir(r.cfg.DataDir))
}

// undo takes everything away again.
func (r *restore) undo() error {
	var errs []error
	for _, path := range append(r.placed, r.dir, r.stagedDatabase()) {
		errs = append(errs, os.RemoveAll(path))
	}
	if r.made {
		errs = append(errs, os.Remove(r.cfg.DataDir))
	}
	return errors.Join(errs...)
}

// checkRestored refuses a folder in which a restore was interrupted.
func (c *Config) checkRestored() error {
	if _, err := os.Lstat(filepath.Join(c.DataDir, staging)); err != nil {
		return nil
	}
	return fmt.Errorf("%w: empty the folder %s and restore again", ErrRestoring, strings.TrimSuffix(c.DataDir, "/"))
}
