package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/vault"
	"github.com/loam-agents/loam/principal"
)

type keysCommand struct {
	Show        keysShow        `cmd:"" default:"withargs" help:"Print who the owner is."`
	Export      keysExport      `cmd:"" help:"Save the owner's key to a new file."`
	Import      keysImport      `cmd:"" help:"Make a key the owner's, before the first start of a server."`
	Vault       keysVault       `cmd:"" help:"Print a new key for the secrets, to keep in a secret manager."`
	RotateVault keysRotateVault `cmd:"" help:"Seal all secrets with a new key; the server must not run."`
}

func (a *app) ownerKeyPath() string { return filepath.Join(a.data, server.OwnerKeyFile) }

func (a *app) ownerKey() (*principal.Key, error) {
	key, err := server.OwnerKey(a.data)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no owner's key in %s; the first start of `loam serve` makes one", a.data)
	}
	return key, err
}

type keysShow struct {
	JSON bool `help:"Print JSON."`
}

// Run prints the owner's principal and where its key lies, never the key.
func (c *keysShow) Run(a *app) error {
	key, err := a.ownerKey()
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(map[string]string{"principal": key.ID().String(), "file": a.ownerKeyPath()})
	}
	return a.pairs([][2]string{{"owner", key.ID().String()}, {"file", a.ownerKeyPath()}})
}

type keysExport struct {
	File string `arg:"" help:"File to make; it must not exist."`
}

// Run copies the owner's key. Whoever has the copy is the owner.
func (c *keysExport) Run(a *app) error {
	key, err := a.ownerKey()
	if err != nil {
		return err
	}
	if err := principal.SaveKey(c.File, key); err != nil {
		return fmt.Errorf("save the key: %w", err)
	}
	_, err = fmt.Fprintf(a.out, "saved the key of %s to %s; whoever has this file is the owner\n", key.ID(), c.File)
	return err
}

type keysImport struct {
	File string `arg:"" help:"File with the key, as export writes it."`
}

// Run puts a key where the first start looks for it. A server has one owner for good, so a key that is there stays.
func (c *keysImport) Run(a *app) error {
	key, err := principal.LoadKey(c.File)
	if err != nil {
		return fmt.Errorf("read the key: %w", err)
	}
	if err := os.MkdirAll(a.data, 0o700); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	err = principal.SaveKey(a.ownerKeyPath(), key)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists: a server keeps its owner; import a key before the first start, or into another folder with --data", a.ownerKeyPath())
	}
	if err != nil {
		return fmt.Errorf("save the key: %w", err)
	}
	_, err = fmt.Fprintln(a.out, "the owner will be "+key.ID().String())
	return err
}

type keysVault struct{}

// Run prints a key for LOAM_VAULT_KEY or the program behind --vault-key-command.
func (c *keysVault) Run(a *app) error {
	key, err := vault.NewKey()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s\n", key)
	return err
}

type keysRotateVault struct {
	storage
}

// Run seals every secret again. It holds the lock of the data folder meanwhile.
func (c *keysRotateVault) Run(ctx context.Context, a *app) (err error) {
	var cfg server.Config
	if err := c.apply(a, &cfg); err != nil {
		return exitcode.With(exitcode.Usage, err)
	}
	data, err := server.Inspect(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	n, err := data.RotateVault(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "sealed %s with a new key\n", count(n, "secret"))
	return err
}
