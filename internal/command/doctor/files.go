package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/vault"
)

// Free disk space in bytes: below these a finding warns or fails.
const (
	lowDisk  = 1 << 30
	fullDisk = 64 << 20
)

func (r *report) dataDir() string {
	if r.options.Config.DataDir != "" {
		return r.options.Config.DataDir
	}
	return server.DefaultDataDir
}

// folder looks at the data folder and who may read it.
func (r *report) folder() {
	const check = "data folder"
	dir := r.dataDir()
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.warn(check, dir+" does not exist yet.", "The first `loam serve` makes it; if you have data elsewhere, name it with --data.")
	case err != nil:
		r.fail(check, sentence(err.Error()), "Correct the owner and mode of the folders above it.")
	case !info.IsDir():
		r.fail(check, dir+" is not a folder.", "Name a folder with --data.")
	case info.Mode().Perm()&0o077 != 0:
		r.fail(check, fmt.Sprintf("%s has mode %04o: other users of this machine can reach conversations and keys.", dir, info.Mode().Perm()),
			"chmod 700 "+dir)
	case syscall.Access(dir, accessWrite) != nil:
		r.fail(check, dir+" cannot be written: the server could not start.", "Correct its owner, or run as the user whom it belongs to.")
	default:
		r.ok(check, dir+" can be written and belongs to you alone.")
	}
}

// accessWrite asks access(2) for reading, writing and entering a folder.
const accessWrite = 0x7

func (r *report) ownerKey() {
	const check = "owner key"
	path := filepath.Join(r.dataDir(), server.OwnerKeyFile)
	if _, err := os.Stat(path); err == nil && !r.private(check, path) {
		return
	}
	key, err := server.OwnerKey(r.dataDir())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(r.dataDir()); err == nil {
			r.warn(check, path+" is not there: commands on this machine cannot act as the owner.",
				"Bring it back from a backup, or give commands another key with --key.")
		}
	case err != nil:
		r.fail(check, sentence(err.Error()), "Bring the file back from a backup.")
	default:
		r.ok(check, key.ID().String()+" in "+path+".")
	}
}

// private reports a file that others may read, and returns whether it is private.
func (r *report) private(check, path string) bool {
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		r.fail(check, fmt.Sprintf("%s has mode %04o: other users of this machine can read it.", path, info.Mode().Perm()), "chmod 600 "+path)
		return false
	}
	return err == nil
}

// vaultKey says where the key of the secrets lies. Whether it is the right one is found when the database is opened.
func (r *report) vaultKey() {
	const check = "vault key place"
	source := r.options.Config.VaultKey
	if source == nil {
		source = vault.FileKey{Path: filepath.Join(r.dataDir(), "vault.key")}
	}
	file, isFile := source.(vault.FileKey)
	if !isFile {
		r.ok(check, source.String()+": not on the data's disk.")
		return
	}
	if _, err := os.Stat(file.Path); errors.Is(err, fs.ErrNotExist) {
		return
	}
	if !r.private(check, file.Path) {
		return
	}
	if beneath(r.dataDir(), file.Path) {
		r.warn(check, file.Path+" lies beside the data: who gets a copy of the folder can read every secret in it.",
			"Move the file to another disk and name it with --vault-key-file, or keep its text in "+vault.DefaultVariable+".")
		return
	}
	r.ok(check, file.Path+" lies apart from the data.")
}

func beneath(dir, path string) bool {
	absDir, err1 := filepath.Abs(dir)
	absPath, err2 := filepath.Abs(path)
	if err1 != nil || err2 != nil {
		return false
	}
	rel, err := filepath.Rel(absDir, absPath)
	return err == nil && filepath.IsLocal(rel)
}

// disk looks at the room where the data lies or will lie.
func (r *report) disk() {
	const check = "disk space"
	dir := r.dataDir()
	if _, err := os.Stat(dir); err != nil {
		dir = filepath.Dir(dir)
	}
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		r.warn(check, "The free space cannot be told: "+err.Error()+".", "Look with df, and correct the mode of the folders above "+dir+".")
		return
	}
	free := s.Bavail * uint64(s.Bsize)
	text := fmt.Sprintf("%.1f GiB are free.", float64(free)/(1<<30))
	switch {
	case free < fullDisk:
		r.fail(check, text+" Writes are about to fail.", "Make room on the disk of "+dir+".")
	case free < lowDisk:
		r.warn(check, text, "Make room on the disk of "+dir+" soon.")
	default:
		r.ok(check, text)
	}
}
