package principal_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/loam-agents/loam/principal"
)

func TestGenerateReadsTheGivenRandomness(t *testing.T) {
	t.Parallel()
	seed := bytes.Repeat([]byte{7}, principal.SeedSize)
	k, err := principal.Generate(bytes.NewReader(seed))
	if err != nil || !bytes.Equal(k.Seed(), seed) {
		t.Errorf("Generate = %v, %v", k, err)
	}
	if _, err := principal.Generate(iotest.ErrReader(errors.New("dry"))); err == nil {
		t.Error("a key came out of no randomness")
	}
	a, errA := principal.Generate(nil)
	b, errB := principal.Generate(nil)
	if errA != nil || errB != nil || a.ID() == b.ID() {
		t.Errorf("two keys of the system's randomness: %v, %v", errA, errB)
	}
	if _, err := principal.NewKey(seed[:31]); err == nil {
		t.Error("a seed of 31 bytes was taken")
	}
}

func TestNoVerbPrintsTheSeed(t *testing.T) {
	t.Parallel()
	k := key(t, "account")
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "key", k)
	printed := log.String()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x", "%X", "%q"} {
		printed += fmt.Sprintf(verb+" ", k)
	}
	secret := hex.EncodeToString(k.Seed())
	if strings.Contains(strings.ToLower(printed), secret) || strings.Contains(printed, "1 2 3 4") {
		t.Errorf("the seed is in %s", printed)
	}
	if got := fmt.Sprint((*principal.Key)(nil)); got != "<no key>" {
		t.Errorf("nil key prints %q", got)
	}
}

func TestSavedKeyLoadsAndIsNeverOverwritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "owner.key")
	k := key(t, "account")
	if _, err := principal.LoadKey(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("LoadKey of nothing: %v", err)
	}
	if err := principal.SaveKey(path, k); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := principal.SaveKey(path, key(t, "device")); !errors.Is(err, os.ErrExist) {
		t.Errorf("second SaveKey: %v", err)
	}
	loaded, err := principal.LoadKey(path)
	if err != nil || loaded.ID() != k.ID() {
		t.Errorf("LoadKey = %v, %v", loaded, err)
	}
	if err := principal.SaveKey(filepath.Join(path, "below"), k); err == nil {
		t.Error("a key was saved below a file")
	}
}

func TestLoadKeyRefusesWhatIsNoPrivateKeyFile(t *testing.T) {
	t.Parallel()
	seed := strings.Repeat("07", principal.SeedSize)
	for name, tc := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"bare seed line":     {"ed25519-seed " + seed, 0o600, ""},
		"comments and CRLF":  {"# x\r\n\r\ned25519-seed " + seed + "\r\n", 0o400, ""},
		"readable by others": {"ed25519-seed " + seed, 0o644, "chmod 600"},
		"readable by group":  {"ed25519-seed " + seed, 0o640, "chmod 600"},
		"empty":              {"", 0o600, "holds no key"},
		"short seed":         {"ed25519-seed 0707", 0o600, "32 bytes"},
		"not hexadecimal":    {"ed25519-seed " + strings.Repeat("zz", 32), 0o600, "hexadecimal"},
		"two seeds":          {"ed25519-seed " + seed + "\ned25519-seed " + seed, 0o600, "not of a key file"},
		"other file":         {"-----BEGIN PRIVATE KEY-----", 0o600, "not of a key file"},
		"other principal":    {"principal z6Mkx\ned25519-seed " + seed, 0o600, "names z6Mkx"},
		"too large":          {strings.Repeat("#\n", 4096), 0o600, "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "key")
			if err := os.WriteFile(path, []byte(tc.text), tc.mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, tc.mode); err != nil {
				t.Fatal(err)
			}
			k, err := principal.LoadKey(path)
			if tc.want == "" {
				if err != nil || k == nil {
					t.Errorf("LoadKey: %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("LoadKey = %v, %v; want %q", k, err, tc.want)
			} else if strings.Contains(err.Error(), seed) {
				t.Errorf("the error shows the seed: %v", err)
			}
		})
	}
}
