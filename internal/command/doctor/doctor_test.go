package doctor_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/command/doctor"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/internal/vault"
	"github.com/loam-agents/loam/principal"
)

// started is the data folder of a server that ran once.
func started(t *testing.T) server.Config {
	t.Helper()
	cfg := server.Config{DataDir: filepath.Join(t.TempDir(), "data")}
	servertest.Start(t, cfg).Stop()
	cfg.Listen = "127.0.0.1:0"
	return cfg
}

// finding returns what a check found.
func finding(t *testing.T, findings []doctor.Finding, check string) doctor.Finding {
	t.Helper()
	for _, f := range findings {
		if f.Check == check {
			return f
		}
	}
	t.Fatalf("no finding about %q among %+v", check, findings)
	return doctor.Finding{}
}

func TestEachKindOfHarmIsFoundAndHasAFix(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, check string
		level       doctor.Level
		harm        func(t *testing.T, cfg *server.Config)
	}{
		{"nothing", "database", doctor.OK, func(*testing.T, *server.Config) {}},
		{"folder open to others", "data folder", doctor.Fail, func(t *testing.T, cfg *server.Config) { chmod(t, cfg.DataDir, 0o750) }},
		{"owner's key open to others", "owner key", doctor.Fail, func(t *testing.T, cfg *server.Config) { chmod(t, filepath.Join(cfg.DataDir, "owner.key"), 0o640) }},
		{"owner's key damaged", "owner key", doctor.Fail, func(t *testing.T, cfg *server.Config) { write(t, filepath.Join(cfg.DataDir, "owner.key")) }},
		{"owner's key gone", "owner key", doctor.Warn, func(t *testing.T, cfg *server.Config) { remove(t, filepath.Join(cfg.DataDir, "owner.key")) }},
		{"vault key beside the data", "vault key place", doctor.Warn, func(*testing.T, *server.Config) {}},
		{"vault key open to others", "vault key place", doctor.Fail, func(t *testing.T, cfg *server.Config) { chmod(t, filepath.Join(cfg.DataDir, "vault.key"), 0o604) }},
		{"vault key elsewhere", "vault key place", doctor.OK, func(t *testing.T, cfg *server.Config) {
			path := filepath.Join(t.TempDir(), "key")
			if err := os.Rename(filepath.Join(cfg.DataDir, "vault.key"), path); err != nil {
				t.Fatal(err)
			}
			cfg.VaultKey = vault.FileKey{Path: path}
		}},
		{"database damaged", "database", doctor.Fail, func(t *testing.T, cfg *server.Config) { write(t, filepath.Join(cfg.DataDir, "loam.db")) }},
		{"database gone", "database", doctor.Warn, func(t *testing.T, cfg *server.Config) { remove(t, filepath.Join(cfg.DataDir, "loam.db")) }},
		{"database server away", "database", doctor.Fail, func(_ *testing.T, cfg *server.Config) { cfg.DatabaseURL = "postgres://loam@127.0.0.1:1/loam" }},
		{"address in use", "address", doctor.Fail, func(t *testing.T, cfg *server.Config) {
			other, err := net.Listen("tcp", cfg.Listen)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = other.Close() })
			cfg.Listen = other.Addr().String()
		}},
		{"no backup", "backup", doctor.Warn, func(*testing.T, *server.Config) {}},
		{"an old backup", "backup", doctor.Warn, func(t *testing.T, cfg *server.Config) { noteBackup(t, cfg, 8*24*time.Hour) }},
		{"a backup of today", "backup", doctor.OK, func(t *testing.T, cfg *server.Config) { noteBackup(t, cfg, time.Hour) }},
		{"a note of noise", "backup", doctor.Warn, func(t *testing.T, cfg *server.Config) { write(t, filepath.Join(cfg.DataDir, "last-backup.json")) }},
		{"half of a restore", "database", doctor.Fail, func(t *testing.T, cfg *server.Config) {
			if err := os.Mkdir(filepath.Join(cfg.DataDir, "restoring"), 0o700); err != nil {
				t.Fatal(err)
			}
		}},
		{"an admin listener", "admin listener", doctor.OK, func(_ *testing.T, cfg *server.Config) { cfg.AdminListen = "127.0.0.1:0" }},
		{"an admin listener for others", "admin listener", doctor.Warn, func(_ *testing.T, cfg *server.Config) { cfg.AdminListen, cfg.AdminRemote = "0.0.0.0:0", true }},
		{"its address in use", "admin listener", doctor.Fail, func(t *testing.T, cfg *server.Config) {
			other, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = other.Close() })
			cfg.AdminListen = other.Addr().String()
		}},
		{"no folder", "data folder", doctor.Warn, func(_ *testing.T, cfg *server.Config) { cfg.DataDir = filepath.Join(cfg.DataDir, "none") }},
		{"no folder at all", "data folder", doctor.Fail, func(t *testing.T, cfg *server.Config) {
			cfg.DataDir = filepath.Join(t.TempDir(), "file")
			write(t, cfg.DataDir)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := started(t)
			tt.harm(t, &cfg)
			f := finding(t, doctor.Run(t.Context(), doctor.Options{Config: cfg}), tt.check)
			if f.Level != tt.level || f.Level != doctor.OK && f.Fix == "" || !strings.HasSuffix(f.Text, ".") {
				t.Errorf("finding %+v, want level %s", f, tt.level)
			}
		})
	}
}

func TestDataInUseIsTheServersMatter(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	cfg := server.Config{DataDir: h.Config.DataDir, Listen: "127.0.0.1:0"}

	findings := doctor.Run(t.Context(), doctor.Options{Config: cfg, Client: h.Client, URL: h.URL})
	if f := finding(t, findings, "server"); f.Level != doctor.OK || !strings.Contains(f.Text, h.URL) {
		t.Errorf("a running server: %+v", f)
	}
	if f := finding(t, findings, "provider tutor"); f.Level != doctor.OK {
		t.Errorf("its provider: %+v", f)
	}
	stranger, err := principal.Generate(nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = finding(t, doctor.Run(t.Context(), doctor.Options{Config: cfg, Client: h.As(stranger), URL: h.URL}), "server")

	findings = doctor.Run(t.Context(), doctor.Options{Config: cfg})
	if f := finding(t, findings, "database"); f.Level != doctor.Fail || !strings.Contains(f.Text, "in use") {
		t.Errorf("locked data: %+v", f)
	}
	if !doctor.Failed(findings) {
		t.Error("a failure among the findings does not count")
	}
}

func TestAServerThatDoesNotAnswerIsNone(t *testing.T) {
	t.Parallel()
	key, err := principal.Generate(nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New("http://127.0.0.1:1", key)
	if err != nil {
		t.Fatal(err)
	}
	findings := doctor.Run(t.Context(), doctor.Options{Config: started(t), Client: c, URL: "http://127.0.0.1:1", Timeout: time.Second})
	if f := finding(t, findings, "server"); f.Level != doctor.OK {
		t.Errorf("no server: %+v", f)
	}
	_ = finding(t, findings, "database")
	if doctor.Failed(findings) {
		t.Errorf("healthy data fail: %+v", findings)
	}
}

func noteBackup(t *testing.T, cfg *server.Config, ago time.Duration) {
	t.Helper()
	if err := doctor.NoteBackup(cfg.DataDir, time.Now().Add(-ago)); err != nil {
		t.Fatal(err)
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(strings.Repeat("noise ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
