package server_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/vault"
	"github.com/loam-agents/loam/wire"
)

func TestAnInspectionSeesWhatAServerLeftAndChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		owner := h.Key.ID().String()
		servertest.Call[wire.SecretResponse](h, "SetSecret", map[string]any{"name": "k", "value": []byte("v")})
		h.Stop()
		data, err := server.Inspect(t.Context(), h.Config)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(data.Check(t.Context()), data.OpenVault(t.Context())); err != nil {
			t.Fatal(err)
		}
		if id, ok, err := data.Owner(t.Context()); id != owner || !ok || err != nil {
			t.Errorf("Owner() = %s, %v, %v", id, ok, err)
		}
		if names, err := data.Providers(t.Context()); len(names) != 1 || names[0] != "tutor" || err != nil {
			t.Errorf("Providers() = %q, %v", names, err)
		}
		if n, err := data.Probe(t.Context(), "tutor"); n != 1 || err != nil {
			t.Errorf("Probe() = %d, %v", n, err)
		}
		if n, err := data.RotateVault(t.Context()); n != 1 || err != nil {
			t.Errorf("RotateVault() = %d, %v", n, err)
		}
		if err := errors.Join(data.Close(), data.Close()); err != nil {
			t.Fatal(err)
		}
		again := servertest.Start(t, h.Config)
		if agents := servertest.Call[wire.ListAgentsResponse](again, "ListAgents", nil).Agents; len(agents) != 1 {
			t.Errorf("after an inspection there are %d agents", len(agents))
		}
	})
}

func TestAnInspectionSaysWhyItCannotLook(t *testing.T) {
	t.Parallel()
	empty := server.Config{DataDir: filepath.Join(t.TempDir(), "none")}
	if _, err := server.Inspect(t.Context(), empty); !errors.Is(err, server.ErrNoData) {
		t.Errorf("Inspect() before a first start = %v", err)
	}
	if _, err := os.Stat(empty.DataDir); !errors.Is(err, os.ErrNotExist) {
		t.Error("looking made the data directory")
	}
	h := servertest.Start(t, server.Config{})
	if _, err := server.Inspect(t.Context(), h.Config); !errors.Is(err, store.ErrLocked) {
		t.Errorf("Inspect() beside a server = %v", err)
	}
	servertest.Call[wire.SecretResponse](h, "SetSecret", map[string]any{"name": "k", "value": []byte("v")})
	h.Stop()
	other := h.Config
	other.VaultKey = vault.FileKey{Path: filepath.Join(t.TempDir(), "key")}
	data, err := server.Inspect(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = data.Close() }()
	if err := data.OpenVault(t.Context()); !errors.Is(err, vault.ErrNoKey) {
		t.Errorf("OpenVault() without the key = %v", err)
	}
}
