package vault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// maxKeyText bounds what a source may hold: a keyset of hundreds of keys.
const maxKeyText = 64 << 10

// KeySource is where the vault's key lives. Its String names the place for messages and never shows the key.
type KeySource interface {
	fmt.Stringer
	// Load returns the key's text (see NewKey). ErrNoKey says that the place is there but holds nothing.
	Load(ctx context.Context) ([]byte, error)
	// Create saves the first key; when a key appeared meanwhile it leaves that one and returns nil. ErrReadOnlyKey says
	// that the source cannot be written.
	Create(ctx context.Context, key []byte) error
	// Replace saves a key over the present one, at once and durably. ErrReadOnlyKey as in Create.
	Replace(ctx context.Context, key []byte) error
}

// FileKey keeps the key in a file that only its owner may read. The path must be outside of what database backups copy
// unless the backup is encrypted.
type FileKey struct{ Path string }

// String names the file.
func (f FileKey) String() string { return "the key file " + f.Path }

// Load implements KeySource.
func (f FileKey) Load(context.Context) ([]byte, error) {
	text, err := os.ReadFile(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %s does not exist", ErrNoKey, f.Path)
	case err != nil:
		return nil, fmt.Errorf("read the vault key: %w", err)
	case len(text) > maxKeyText:
		return nil, fmt.Errorf("%s is too large for a vault key", f.Path)
	}
	return text, nil
}

// Create implements KeySource. The file appears complete, with mode 0600, and synced to disk.
func (f FileKey) Create(_ context.Context, key []byte) error {
	return f.place(key, func(temporary string) error {
		err := os.Link(temporary, f.Path)
		switch {
		case err == nil || errors.Is(err, fs.ErrExist):
			return nil
		default:
			// A file system without links: the data directory is locked, so nobody competes for the name.
			return os.Rename(temporary, f.Path)
		}
	})
}

// Replace implements KeySource.
func (f FileKey) Replace(_ context.Context, key []byte) error {
	return f.place(key, func(temporary string) error { return os.Rename(temporary, f.Path) })
}

// place writes a temporary file beside the target, lets move give it its name, and syncs both.
func (f FileKey) place(key []byte, move func(temporary string) error) error {
	dir := filepath.Dir(f.Path)
	tmp, err := os.CreateTemp(dir, ".vault-key-*")
	if err != nil {
		return fmt.Errorf("write the vault key: %w", err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(append(bytes.TrimSpace(key), '\n'))
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("write the vault key: %w", err)
	}
	if err := move(tmp.Name()); err != nil {
		return fmt.Errorf("place the vault key: %w", err)
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync the folder of the vault key: %w", err)
	}
	return errors.Join(d.Sync(), d.Close())
}

// DefaultVariable is the environment variable that EnvKey reads when it names none.
const DefaultVariable = "LOAM_VAULT_KEY"

// EnvKey takes the key from an environment variable.
type EnvKey struct {
	// Variable is its name; empty is DefaultVariable.
	Variable string
	// Lookup reads it; nil is os.LookupEnv.
	Lookup func(string) (string, bool)
}

func (e EnvKey) variable() string {
	if e.Variable == "" {
		return DefaultVariable
	}
	return e.Variable
}

// String names the variable.
func (e EnvKey) String() string { return "the environment variable " + e.variable() }

// Load implements KeySource.
func (e EnvKey) Load(context.Context) ([]byte, error) {
	lookup := e.Lookup
	if lookup == nil {
		lookup = os.LookupEnv
	}
	text, _ := lookup(e.variable())
	if text == "" {
		return nil, fmt.Errorf("%w: %s is empty", ErrNoKey, e.variable())
	}
	return []byte(text), nil
}

// Create implements KeySource: a process cannot set its parent's environment.
func (e EnvKey) Create(context.Context, []byte) error { return readOnly(e) }

// Replace implements KeySource.
func (e EnvKey) Replace(context.Context, []byte) error { return readOnly(e) }

// commandTimeout bounds a key command: it runs at the start, with a person or a supervisor waiting.
const commandTimeout = 30 * time.Second

// CommandKey takes the key from the standard output of a program, such as the client of a secret manager.
type CommandKey struct {
	// Argv is the program and its arguments, run without a shell.
	Argv []string
}

// String names the program, not its arguments.
func (c CommandKey) String() string {
	if len(c.Argv) == 0 {
		return "the key command"
	}
	return "the key command " + c.Argv[0]
}

// Load implements KeySource.
func (c CommandKey) Load(ctx context.Context) ([]byte, error) {
	if len(c.Argv) == 0 {
		return nil, errors.New("the key command is empty")
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.WaitDelay = time.Second
	// Standard error is not passed on: secret managers print what they should not.
	text, err := cmd.Output()
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", c, context.Cause(ctx))
	case err != nil:
		return nil, fmt.Errorf("%s failed: %s", c, exitText(err))
	case len(text) > maxKeyText:
		return nil, fmt.Errorf("%s printed too much for a vault key", c)
	case len(bytes.TrimSpace(text)) == 0:
		return nil, fmt.Errorf("%w: %s printed nothing", ErrNoKey, c)
	}
	return text, nil
}

func exitText(err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ProcessState.String()
	}
	return err.Error()
}

// Create implements KeySource.
func (c CommandKey) Create(context.Context, []byte) error { return readOnly(c) }

// Replace implements KeySource.
func (c CommandKey) Replace(context.Context, []byte) error { return readOnly(c) }

func readOnly(s KeySource) error {
	return fmt.Errorf("%w: put a key into %s yourself (`loam keys vault` prints one)", ErrReadOnlyKey, s)
}
