package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
	"golang.org/x/term"

	"github.com/loam-agents/loam/internal/backup"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/command/doctor"
	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/internal/server"
)

// passphraseVariable holds the passphrase of backups. It is no flag: other users of a machine can read command lines.
const passphraseVariable = "LOAM_BACKUP_PASSPHRASE"

type backupCommand struct {
	storage
	File           string   `arg:"" help:"File to make; it must not exist. A single - is standard output."`
	Recipient      []string `help:"Encrypt for this age recipient (age1…), or those in this file; may be given again." placeholder:"RECIPIENT"`
	PassphraseFile string   `help:"Encrypt with the passphrase in this file. Without it and without --recipient it is that of LOAM_BACKUP_PASSPHRASE, or is asked for." placeholder:"FILE"`
	WithKey        bool     `help:"Put the key of the secrets and the owner's key into the backup: it then restores everything by itself, and has to be kept as safe as they are."`
	JSON           bool     `help:"Print JSON."`
}

// Run makes a backup, beside the server if one runs.
func (c *backupCommand) Run(ctx context.Context, a *app) error {
	var cfg server.Config
	if err := c.apply(a, &cfg); err != nil {
		return exitcode.With(exitcode.Usage, err)
	}
	if _, err := os.Lstat(c.File); err == nil && c.File != "-" {
		return exitcode.With(exitcode.Usage, fmt.Errorf("%s exists; choose another name", c.File))
	}
	recipients, err := c.recipients(a)
	if err != nil {
		return exitcode.With(exitcode.Usage, err)
	}
	var made backup.Summary
	write := func(w io.Writer) (err error) {
		made, err = server.Backup(ctx, cfg, w, recipients, c.WithKey)
		return err
	}
	if c.File == "-" {
		if isTerminal(a.out) {
			return exitcode.With(exitcode.Usage, errors.New("a backup is no text for a terminal: send it to a file or a program"))
		}
		err = write(a.out)
	} else {
		err = server.WriteFile(c.File, false, write)
	}
	if err != nil {
		return err
	}
	if err := doctor.NoteBackup(a.data, clock.System{}.Now()); err != nil {
		fmt.Fprintln(a.err, "loam: the time of the backup could not be noted for `loam doctor`: "+err.Error())
	}
	return c.report(a, made)
}

func (c *backupCommand) report(a *app, made backup.Summary) error {
	if len(made.Missing) > 0 {
		fmt.Fprintf(a.err, "loam: %s could not be read whole, and the backup is without them: %s\n",
			count(len(made.Missing), "file"), strings.Join(made.Missing, " "))
	}
	out := a.out
	if c.File == "-" {
		out = a.err
	}
	if c.JSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(made)
	}
	keys := "without the keys: keep vault.key and owner.key elsewhere"
	if len(made.Keys) > 0 {
		keys = "with the keys of the server: whoever opens it can read every secret"
	}
	_, err := fmt.Fprintf(out, "wrote %s: %s, %s (%s); %s\n", c.File, count(int(made.Rows), "row"), count(int(made.Blobs), "file"), size(made.BlobBytes), keys)
	return err
}

// size is a number of bytes for people.
func size(n int64) string {
	const unit = 1024
	if n < unit {
		return count(int(n), "byte")
	}
	value, suffix := float64(n)/unit, 0
	for value >= unit && suffix < 4 {
		value, suffix = value/unit, suffix+1
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGTP"[suffix])
}

// recipients are those that were named, or one passphrase: age does not mix the two.
func (c *backupCommand) recipients(a *app) ([]age.Recipient, error) {
	if len(c.Recipient) > 0 {
		if c.PassphraseFile != "" {
			return nil, errors.New("--recipient and --passphrase-file exclude each other")
		}
		var out []age.Recipient
		for _, text := range c.Recipient {
			found, err := parseRecipients(text)
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
		}
		return out, nil
	}
	passphrase, err := a.passphrase(c.PassphraseFile, true)
	if err != nil {
		return nil, err
	}
	recipient, err := age.NewScryptRecipient(passphrase)
	return []age.Recipient{recipient}, err
}

func parseRecipients(text string) ([]age.Recipient, error) {
	if strings.HasPrefix(text, "AGE-SECRET-KEY-") {
		// Not repeated: it is a secret.
		return nil, errors.New("--recipient names the public part, which begins with age1; the identity (AGE-SECRET-KEY-…) is for restore")
	}
	if strings.HasPrefix(text, "age1") {
		out, err := age.ParseRecipients(strings.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("--recipient %s is no age recipient", text)
		}
		return out, nil
	}
	file, err := os.ReadFile(text)
	if err != nil {
		return nil, fmt.Errorf("--recipient %s is neither an age recipient (age1…) nor a file with some: %w", text, err)
	}
	out, err := age.ParseRecipients(bytes.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("--recipient %s: the file holds no age recipients, one on a line", text)
	}
	return out, nil
}

// passphrase comes from a file, the environment, or the person at the terminal, who repeats a new one.
func (a *app) passphrase(file string, fresh bool) (string, error) {
	var text string
	value, _ := a.lookup(passphraseVariable)
	switch {
	case file != "":
		raw, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("read the passphrase: %w", err)
		}
		text = string(raw)
	case value != "":
		text = value
	case a.terminal():
		return a.askPassphrase(fresh)
	default:
		return "", fmt.Errorf("a backup is encrypted: name a passphrase with --passphrase-file FILE or %s, or keys of age with --recipient (backup) and --identity (restore)", passphraseVariable)
	}
	if text = strings.TrimSpace(text); text == "" {
		return "", errors.New("the passphrase is empty")
	}
	return text, nil
}

func (a *app) askPassphrase(fresh bool) (string, error) {
	prompts := []string{"Passphrase of the backup (not shown): "}
	if fresh {
		prompts = append(prompts, "Once more: ")
	}
	var first string
	for i, prompt := range prompts {
		fmt.Fprint(a.err, prompt)
		text, err := term.ReadPassword(int(a.in.Fd()))
		fmt.Fprintln(a.err)
		if err != nil {
			return "", fmt.Errorf("read the passphrase: %w", err)
		}
		switch typed := strings.TrimSpace(string(text)); {
		case typed == "":
			return "", errors.New("the passphrase is empty")
		case i == 0:
			first = typed
		case typed != first:
			return "", errors.New("the two passphrases differ")
		}
	}
	return first, nil
}

type restoreCommand struct {
	storage
	File           string   `arg:"" help:"The backup. A single - is standard input."`
	Identity       []string `help:"File with the age identity that opens it; may be given again." placeholder:"FILE"`
	PassphraseFile string   `help:"File with the passphrase that opens it. Without it and without --identity it is that of LOAM_BACKUP_PASSPHRASE, or is asked for." placeholder:"FILE"`
	JSON           bool     `help:"Print JSON."`
}

// Run restores a backup into an empty data folder and, with --database-url, an empty database.
func (c *restoreCommand) Run(ctx context.Context, a *app) error {
	var cfg server.Config
	if err := c.apply(a, &cfg); err != nil {
		return exitcode.With(exitcode.Usage, err)
	}
	from := io.Reader(a.in)
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return exitcode.With(exitcode.Usage, fmt.Errorf("open the backup: %w", err))
		}
		defer f.Close()
		from = f
	}
	identities, err := c.identities(a)
	if err != nil {
		return exitcode.With(exitcode.Usage, err)
	}
	made, err := server.Restore(ctx, cfg, from, identities)
	if err != nil {
		return fmt.Errorf("nothing was restored: %w", err)
	}
	if c.JSON {
		return a.printJSON(made)
	}
	_, err = fmt.Fprintf(a.out, "restored %s and %s (%s) of %s into %s\n%s\n", count(int(made.Rows), "row"), count(int(made.Blobs), "file"),
		size(made.BlobBytes), when(made.CreatedAt.UnixMilli()), a.data, c.next(a, made))
	return err
}

// next says what is left to do before the first start.
func (c *restoreCommand) next(a *app, made backup.Summary) string {
	start := "start it with `loam serve" + a.dataFlag() + "`"
	if len(made.Keys) > 0 {
		return start
	}
	return fmt.Sprintf("the backup holds no keys: put the server's vault.key (unless it comes from elsewhere) and owner.key into %s, then %s", filepath.Clean(a.data), start)
}

func (c *restoreCommand) identities(a *app) ([]age.Identity, error) {
	if len(c.Identity) == 0 {
		if c.PassphraseFile == "" && c.plain() {
			return nil, nil
		}
		passphrase, err := a.passphrase(c.PassphraseFile, false)
		if err != nil {
			return nil, err
		}
		identity, err := age.NewScryptIdentity(passphrase)
		return []age.Identity{identity}, err
	}
	if c.PassphraseFile != "" {
		return nil, errors.New("--identity and --passphrase-file exclude each other")
	}
	var out []age.Identity
	for _, path := range c.Identity {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read the identity: %w", err)
		}
		found, err := age.ParseIdentities(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("%s holds no age identity (AGE-SECRET-KEY-…), one on a line", path)
		}
		out = append(out, found...)
	}
	return out, nil
}

// plain tells whether a file is one of the copies from before a migration, which are not encrypted.
func (c *restoreCommand) plain() bool {
	f, err := os.Open(c.File)
	if err != nil {
		return false
	}
	defer f.Close()
	return !backup.Encrypted(f)
}
