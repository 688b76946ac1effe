package command

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/account/quota"
	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/vault"
)

// quietApp is an app on a folder of its own, without variables.
func quietApp(t *testing.T, env map[string]string) *app {
	t.Helper()
	return &app{
		data: t.TempDir(), out: io.Discard, err: io.Discard,
		lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}
}

func TestAServerThatIsStoppedWhileItStartsEndsWithoutAnError(t *testing.T) {
	t.Parallel()
	a := quietApp(t, nil)
	cfg := server.Config{Listen: "127.0.0.1:0", DataDir: a.data, Environ: func(string) string { return "" }}
	for range 3 {
		err := a.host(t.Context(), cfg, func(context.Context, hosted) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(addressFile(a.data).path()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the address of a stopped server is still there: %v", err)
		}
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.host(stopped, cfg, func(context.Context, hosted) error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestABusyAddressIsExplainedAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	a, b := quietApp(t, nil), quietApp(t, nil)
	none := func(string) string { return "" }
	err := a.host(t.Context(), server.Config{Listen: "127.0.0.1:0", DataDir: a.data, Environ: none}, func(ctx context.Context, h hosted) error {
		second := server.Config{Listen: strings.TrimPrefix(h.url, "http://"), DataDir: b.data, Environ: none}
		err := b.host(ctx, second, func(context.Context, hosted) error {
			t.Error("two servers on one address")
			return nil
		})
		if exitcode.Of(err) != exitcode.AddressInUse || !strings.Contains(err.Error(), "--listen") {
			t.Errorf("error is %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(addressFile(b.data).path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an address of a server that never listened: %v", err)
	}
}

func TestTheKeyOfTheSecretsHasOnePlace(t *testing.T) {
	t.Parallel()
	inEnvironment := map[string]string{vault.DefaultVariable: "x"}
	for name, c := range map[string]struct {
		storage storage
		env     map[string]string
		want    string
	}{
		"default":     {storage{}, nil, ""},
		"file":        {storage{VaultKeyFile: "k"}, nil, "file k"},
		"program":     {storage{VaultKeyCommand: "pass show loam"}, nil, "command pass"},
		"environment": {storage{}, inEnvironment, vault.DefaultVariable},
		"two":         {storage{VaultKeyFile: "k"}, inEnvironment, "error"},
	} {
		var cfg server.Config
		err := c.storage.apply(quietApp(t, c.env), &cfg)
		got := ""
		switch {
		case err != nil:
			got = "error"
		case cfg.VaultKey != nil:
			got = cfg.VaultKey.String()
		}
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: the key is in %q, %v", name, got, err)
		}
	}
}

func TestLimitsAreWhatTheOperatorSays(t *testing.T) {
	t.Parallel()
	good := serveCommand{
		Workers: 1, MaxBody: 1, DrainTimeout: 1, Listen: "127.0.0.1:0", LimitActions: 5, LimitSigner: 4, LimitMessages: 3,
		LimitStorage: 2, LimitSessions: 1, LimitKeys: 6, LimitSocketKeys: 7, LimitOwner: true,
	}
	cfg, err := good.configuration(quietApp(t, nil))
	want := quota.Limits{Actions: 5, SignerActions: 4, Messages: 3, Storage: 2, Sessions: 1, Sockets: -1, Subscriptions: 6}
	if err != nil || cfg.Limits != want || !cfg.LimitOwner || cfg.SocketSubscriptions != 7 {
		t.Errorf("the limits are %+v, %v", cfg.Limits, err)
	}
	for name, spoil := range map[string]func(*serveCommand){
		"negative": func(c *serveCommand) { c.LimitMessages = -1 }, "negative storage": func(c *serveCommand) { c.LimitStorage = -1 },
		"no key": func(c *serveCommand) { c.LimitSocketKeys = 0 },
	} {
		bad := good
		spoil(&bad)
		if _, err := bad.configuration(quietApp(t, nil)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
