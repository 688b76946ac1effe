package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/vault"
	"github.com/loam-agents/loam/wire"
)

// running asks the server, if there is one, and tells whether it answers.
func (r *report) running(ctx context.Context) bool {
	const check = "server"
	if r.options.Client == nil {
		r.ok(check, "No server runs on this data.")
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, r.options.Timeout)
	defer cancel()
	health, err := r.options.Client.Health(ctx)
	if err != nil {
		r.ok(check, "No server runs at "+r.options.URL+".")
		return false
	}
	if health.Status != "ok" {
		r.fail(check, fmt.Sprintf("The server at %s says %q about itself.", r.options.URL, health.Status), "Read its log.")
		return true
	}
	r.ok(check, fmt.Sprintf("Version %s runs at %s for %.0f s. It holds the database, so that is not looked at; stop it and run doctor again for that.",
		health.Version, r.options.URL, health.Uptime))
	return true
}

// remoteProviders asks the running server for the models of each provider.
func (r *report) remoteProviders(ctx context.Context) {
	c := r.options.Client
	list, err := client.Call[wire.ListModelProvidersResponse](ctx, c, "ListModelProviders", nil)
	if err != nil {
		r.warn("providers", "The server did not list its providers: "+sentence(err.Error()), "Give a key that the server knows with --key.")
		return
	}
	for _, p := range list.Providers {
		r.provider(ctx, p.Name, func(ctx context.Context) (int, error) {
			out, err := client.Call[wire.ListProviderModelsResponse](ctx, c, "ListProviderModels", wire.ListProviderModelsRequest{Provider: p.Name})
			return len(out.Models), err
		})
	}
}

func (r *report) provider(ctx context.Context, name string, probe func(context.Context) (int, error)) {
	check := "provider " + name
	ctx, cancel := context.WithTimeout(ctx, r.options.Timeout)
	defer cancel()
	models, err := probe(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		r.fail(check, fmt.Sprintf("It did not answer within %s: agents that use it cannot work.", r.options.Timeout), "Check the network and the address of the provider.")
	case err != nil:
		text := err.Error()
		if e, ok := model.AsError(err); ok {
			text = e.Error()
		}
		r.fail(check, sentence(text)+" Agents that use it cannot work.", "Set its key or address again: loam providers set "+name+" --help")
	default:
		r.ok(check, "It answers, and its list of models has "+strconv.Itoa(models)+".")
	}
}

// port tells whether a server could listen.
func (r *report) port() {
	const check = "address"
	listen := r.options.Config.Listen
	if listen == "" {
		listen = server.DefaultListen
	}
	listener, err := net.Listen("tcp", listen)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		r.fail(check, "Another program listens on "+listen+": `loam serve` could not start.", "Stop that program, or choose another address with --listen.")
	case err != nil:
		r.fail(check, sentence(err.Error()), "Choose another address with --listen.")
	default:
		_ = listener.Close()
		r.ok(check, listen+" is free.")
	}
}

// adminRule warns of an admin listener that other machines may reach, and tells whether it may be.
func (r *report) adminRule() (open bool) {
	cfg := r.options.Config
	if cfg.AdminListen == "" || !cfg.AdminRemote {
		return false
	}
	r.warn("admin listener", cfg.AdminListen+" is served to other machines without a sign-in: whoever reaches it reads metrics and profiles.",
		"Let a firewall decide who gets there, or use a loopback address and drop --admin-remote.")
	return true
}

// admin looks at the admin listener that a server would open.
func (r *report) admin() {
	const check = "admin listener"
	listen := r.options.Config.AdminListen
	if r.adminRule() || listen == "" {
		return
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		r.fail(check, "It could not be opened, and `loam serve` would not start: "+sentence(err.Error()), "Choose another address with --admin-listen.")
		return
	}
	_ = listener.Close()
	r.ok(check, listen+" is free, and this machine alone can reach it.")
}

// database opens the store and looks at what only it can tell.
func (r *report) database(ctx context.Context) {
	const check = "database"
	data, err := server.Inspect(ctx, r.options.Config)
	if err != nil {
		r.unopened(err)
		return
	}
	defer func() { _ = data.Close() }()
	if err := data.Check(ctx); err != nil {
		r.fail(check, sentence(err.Error()), "Restore a backup (loam restore); copies from before migrations lie beside the file.")
		return
	}
	r.ok(check, "It opens, and its integrity check passes.")
	if !r.vault(ctx, data) {
		return
	}
	names, err := data.Providers(ctx)
	if err != nil {
		r.fail("providers", sentence(err.Error()), "Restore a backup (loam restore) if the database is damaged; else run doctor again.")
		return
	}
	for _, name := range names {
		r.provider(ctx, name, func(ctx context.Context) (int, error) { return data.Probe(ctx, name) })
	}
}

// unopened explains why the database could not be opened.
func (r *report) unopened(err error) {
	const check = "database"
	text := sentence(err.Error())
	switch {
	case errors.Is(err, server.ErrNoData):
		r.warn(check, "Nothing is there yet.", "The first `loam serve` makes it.")
	case errors.Is(err, store.ErrLocked):
		r.fail(check, text, "If that process hangs, end it; its lock goes with it.")
	case errors.Is(err, server.ErrRestoring):
		r.fail(check, text, "Empty the folder, and run `loam restore` again with the same backup.")
	case errors.Is(err, store.ErrNewerSchema):
		r.fail(check, text, "Run the newer version of Loam that has changed it.")
	case errors.Is(err, store.ErrCorrupt):
		r.fail(check, text, "Restore a backup; copies from before migrations lie beside the file.")
	case errors.Is(err, store.ErrUnreachable):
		r.fail(check, text, "Start PostgreSQL, or correct --database-url.")
	case errors.Is(err, store.ErrFull):
		r.fail(check, text, "Make room on the disk.")
	default:
		r.fail(check, text, "Correct the owner and mode of the data folder and the files in it.")
	}
}

// vault proves the key of the secrets.
func (r *report) vault(ctx context.Context, data *server.Inspection) bool {
	const check = "vault key"
	switch err := data.OpenVault(ctx); {
	case err == nil:
		r.ok(check, "It opens the secrets of this database.")
		return true
	case errors.Is(err, vault.ErrWrongKey):
		r.fail(check, sentence(err.Error()), "Bring back the key that belongs to this database; without it the secrets are lost.")
	case errors.Is(err, vault.ErrNoKey):
		r.fail(check, sentence(err.Error()), "Bring the key back from a backup.")
	default:
		r.fail(check, sentence(err.Error()), "Correct the mode of the key's file, or the program behind --vault-key-command; `loam keys vault` shows what a key looks like.")
	}
	return false
}
