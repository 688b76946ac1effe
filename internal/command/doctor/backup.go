package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// backupNote is where the time of the last backup stands, inside the data folder.
const backupNote = "last-backup.json"

// oldBackup is the age from which a backup is a finding.
const oldBackup = 7 * 24 * time.Hour

type noted struct {
	// At is in epoch milliseconds.
	At int64 `json:"at"`
}

// NoteBackup writes down, for later looks, when a backup of a data folder was made.
func NoteBackup(dataDir string, at time.Time) error {
	text, err := json.Marshal(noted{At: at.UnixMilli()})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dataDir, backupNote), append(text, '\n'), 0o600)
}

// backup says how old the last backup is.
func (r *report) backup() {
	const check = "backup"
	const fix = "loam backup FILE, regularly and to another machine; docs/operations.md has a timer for it."
	if _, err := os.Stat(r.dataDir()); err != nil {
		return
	}
	text, err := os.ReadFile(filepath.Join(r.dataDir(), backupNote))
	var last noted
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.warn(check, "No backup was ever made of this data folder.", fix)
		return
	case err != nil || json.Unmarshal(text, &last) != nil || last.At <= 0:
		r.warn(check, "The note of the last backup cannot be read: "+filepath.Join(r.dataDir(), backupNote)+".", fix)
		return
	}
	made := time.UnixMilli(last.At)
	said := fmt.Sprintf("The last one was made on %s.", made.Format("2006-01-02 15:04"))
	if r.options.Now().Sub(made) > oldBackup {
		r.warn(check, said+" Everything since would be lost with the disk.", fix)
		return
	}
	r.ok(check, said)
}
