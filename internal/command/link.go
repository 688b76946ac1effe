package command

import (
	"context"
	"fmt"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/wire"
)

type linkCommand struct {
	New    linkNew    `cmd:"" default:"withargs" help:"Print a link that signs a browser in, once, within 15 minutes; or let a key in."`
	List   linkList   `cmd:"" help:"List the keys that act as the account."`
	Remove linkRemove `cmd:"" help:"Take a key out of the account; what it signs is done as its own account again."`
}

type linkNew struct {
	connection
	Account string `help:"Let this key act as the owner's account instead: a desktop application shows its own, z6Mk…." placeholder:"KEY"`
	Name    string `help:"What the key is called in lists." placeholder:"NAME" default:"linked key"`
	JSON    bool   `help:"Print JSON."`
}

// Run makes a sign-in link or links a key.
func (c *linkNew) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	if c.Account != "" {
		return c.linkKey(ctx, a, cl)
	}
	reply, err := client.Call[wire.CreateSignInLinkResponse](ctx, cl, "CreateSignInLink", nil)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(reply)
	}
	_, err = fmt.Fprintln(a.out, reply.URL)
	return err
}

func (c *linkNew) linkKey(ctx context.Context, a *app, cl *client.Client) error {
	reply, err := client.Call[wire.KeyResponse](ctx, cl, "LinkKey", wire.LinkKeyRequest{Key: c.Account, Name: c.Name})
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(reply)
	}
	_, err = fmt.Fprintf(a.out, "%s acts as your account now; `loam link remove` ends it\n", reply.Key.Key)
	return err
}

type linkList struct {
	connection
	JSON bool `help:"Print JSON."`
}

// Run lists linked keys.
func (c *linkList) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	keys, err := everyPage(ctx, cl, "ListKeys", func(r wire.ListKeysResponse) ([]wire.KeyInfo, string) { return r.Keys, r.NextCursor })
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(keys)
	}
	var rows [][]string
	for _, k := range keys {
		rows = append(rows, []string{k.Key, k.Name, when(k.CreatedAt)})
	}
	return a.table("No other key acts as this account. `loam link --account KEY` lets one in.", []string{"KEY", "NAME", "LINKED"}, rows)
}

type linkRemove struct {
	connection
	Key string `arg:"" help:"The key."`
}

// Run ends a link.
func (c *linkRemove) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	if _, err := client.Call[wire.KeyRequest](ctx, cl, "UnlinkKey", wire.KeyRequest{KeyID: c.Key}); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.out, "removed "+c.Key)
	return err
}
