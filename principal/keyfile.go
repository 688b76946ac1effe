package principal

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// The key file is text: comment lines that begin with #, and one line "ed25519-seed <64 hexadecimal digits>". A line
// "principal <z6Mk…>" may stand before it, and must then agree.
const (
	seedWord      = "ed25519-seed"
	principalWord = "principal"
	maxKeyFile    = 4 << 10
)

// SaveKey writes a key to a new file with mode 0600 and waits until file and folder are on disk. It never overwrites:
// an existing file gives an error that wraps os.ErrExist. The folder must exist.
func SaveKey(path string, k *Key) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("principal: save key: %w", err)
	}
	defer func() {
		if err != nil {
			// A file that is cut short would block the next attempt and hold no key.
			err = errors.Join(fmt.Errorf("principal: save key: %w", err), os.Remove(path))
		}
	}()
	text := fmt.Sprintf("# Loam key. Whoever reads this file can act as the principal below: keep it private.\n%s %s\n%s %s\n",
		principalWord, k.id, seedWord, hex.EncodeToString(k.Seed()))
	_, writeErr := io.WriteString(f, text)
	if err := errors.Join(writeErr, f.Sync(), f.Close()); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		// Windows has no handle of a folder that can be flushed.
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// LoadKey reads a file that SaveKey wrote. It refuses a file that other users may read, because its key must count as
// known. An absent file gives an error that wraps os.ErrNotExist. No error shows the file's content.
func LoadKey(path string) (*Key, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("principal: load key: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("principal: load key: %w", err)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return nil, fmt.Errorf("principal: load key: %s has mode %04o and must be private: chmod 600 it", path, mode)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return nil, fmt.Errorf("principal: load key: %w", err)
	}
	k, err := parseKeyFile(text)
	if err != nil {
		return nil, fmt.Errorf("principal: load key: %s: %w", path, err)
	}
	return k, nil
}

func parseKeyFile(text []byte) (*Key, error) {
	if len(text) > maxKeyFile {
		return nil, fmt.Errorf("the file is larger than %d bytes", maxKeyFile)
	}
	var key *Key
	var named string
	for line := range bytes.Lines(text) {
		word, value, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		switch {
		case word == "" || word[0] == '#':
		case word == principalWord:
			named = value
		case word == seedWord && key == nil:
			seed, err := hex.DecodeString(value)
			if err != nil {
				return nil, errors.New("the seed is not hexadecimal")
			}
			if key, err = NewKey(seed); err != nil {
				return nil, err
			}
		default:
			return nil, errors.New("it holds a line that is not of a key file")
		}
	}
	switch {
	case key == nil:
		return nil, errors.New("it holds no key; it may be cut short")
	case named != "" && named != key.id.String():
		return nil, fmt.Errorf("it names %s but holds the key of %s", named, key.id)
	}
	return key, nil
}
