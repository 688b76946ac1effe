package command

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

type identitiesCommand struct {
	List   identitiesList   `cmd:"" default:"withargs" help:"List the accounts that agents can sign for."`
	Create identitiesCreate `cmd:"" help:"Make an account and publish it to the hypermedia server."`
	Import identitiesImport `cmd:"" help:"Keep the key of an account that there is already."`
	Set    identitiesSet    `cmd:"" help:"Publish another name or picture of an account."`
	Delete identitiesDelete `cmd:"" help:"Forget the key of an account; what it has published stays."`
}

type identitiesList struct {
	connection
	JSON bool `help:"Print JSON."`
}

// Run lists identities.
func (c *identitiesList) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	reply, err := client.Call[wire.ListSigningIdentitiesResponse](ctx, cl, "ListSigningIdentities", nil)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(reply.Identities)
	}
	rows := make([][]string, len(reply.Identities))
	for i, id := range reply.Identities {
		rows[i] = []string{id.Name, id.Label, id.AccountID, id.ServerURL, when(id.CreatedAt)}
	}
	return a.table("There are no signing identities. `loam identities create` makes one.", []string{"NAME", "LABEL", "ACCOUNT", "SERVER", "MADE"}, rows)
}

type identitiesCreate struct {
	connection
	Label string `arg:"" optional:"" help:"What the account is called."`
}

// Run makes an identity and prints the name that definitions use.
func (c *identitiesCreate) Run(ctx context.Context, a *app) error {
	return c.change(ctx, a, "CreateSigningIdentity", wire.CreateSigningIdentityRequest{Label: given(c.Label)})
}

// given is a text, or nil when it is empty.
func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// change carries out an action that answers an identity, and prints its name.
func (c *connection) change(ctx context.Context, a *app, action string, request any) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	reply, err := client.Call[wire.SigningIdentityResponse](ctx, cl, action, request)
	if err != nil {
		return err
	}
	return a.say(fmt.Sprintln(reply.Identity.Name, reply.Identity.AccountID))
}

type identitiesImport struct {
	connection
	File  string `arg:"" help:"File with the key, as loam keys export writes it."`
	Label string `help:"What the account is called." placeholder:"TEXT"`
}

// Run stores a key.
func (c *identitiesImport) Run(ctx context.Context, a *app) error {
	k, err := principal.LoadKey(c.File)
	if err != nil {
		return exitcode.With(exitcode.Usage, fmt.Errorf("read the key: %w", err))
	}
	return c.change(ctx, a, "ImportSigningIdentity", wire.ImportSigningIdentityRequest{Seed: k.Seed(), Label: given(c.Label)})
}

type identitiesSet struct {
	connection
	Name  string `arg:"" help:"Name that the list shows."`
	Label string `arg:"" help:"What the account is called from now on."`
	Icon  string `help:"File with a picture, at most 4 MiB." placeholder:"FILE"`
}

// Run renames an identity.
func (c *identitiesSet) Run(ctx context.Context, a *app) error {
	request := wire.UpdateSigningIdentityRequest{Name: c.Name, Label: c.Label}
	if c.Icon != "" {
		data, err := os.ReadFile(c.Icon)
		if err != nil {
			return exitcode.With(exitcode.Usage, fmt.Errorf("read the picture: %w", err))
		}
		request.Icon = &wire.IdentityIcon{Data: data, MimeType: http.DetectContentType(data), FileName: filepath.Base(c.Icon)}
	}
	return c.change(ctx, a, "UpdateSigningIdentity", request)
}

type identitiesDelete struct {
	connection
	sure
	Name string `arg:"" help:"Name that the list shows."`
}

// Run forgets a key. It cannot be had back from the server.
func (c *identitiesDelete) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	if err := c.confirm(a, "the only key that this server has of "+c.Name); err != nil {
		return err
	}
	if _, err := client.Call[wire.NameResponse](ctx, cl, "DeleteSigningIdentity", wire.NameRequest{Name: c.Name}); err != nil {
		return err
	}
	return a.say("deleted " + c.Name + "\n")
}
