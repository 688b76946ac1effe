package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/wire"
)

type tokensCommand struct {
	List   tokensList   `cmd:"" default:"withargs" help:"List tokens, the newest first."`
	Create tokensCreate `cmd:"" help:"Make a token and print it, this once."`
	Delete tokensDelete `cmd:"" help:"Revoke a token; it stops to work at once."`
}

type tokensList struct {
	connection
	JSON bool `help:"Print JSON."`
}

// Run lists tokens.
func (c *tokensList) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	tokens, err := everyPage(ctx, cl, "ListTokens", func(r wire.ListTokensResponse) ([]wire.TokenInfo, string) { return r.Tokens, r.NextCursor })
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(tokens)
	}
	var rows [][]string
	for _, t := range tokens {
		rows = append(rows, []string{t.ID, t.Name, strings.Join(t.Scopes, ","), when(t.CreatedAt), orNever(t.ExpiresAt), orNever(t.LastUsedAt)})
	}
	return a.table("There are no tokens yet. `loam tokens create NAME` makes one.", []string{"TOKEN", "NAME", "SCOPES", "CREATED", "EXPIRES", "USED"}, rows)
}

// orNever is when, with a word for no time.
func orNever(millis int64) string {
	if millis == 0 {
		return "never"
	}
	return when(millis)
}

type tokensCreate struct {
	connection
	Name    string        `arg:"" help:"What the token is for."`
	Scopes  []string      `help:"What it may do: read, write, admin." placeholder:"SCOPE" default:"read,write"`
	Expires time.Duration `help:"How long it works, such as 720h; for ever when not set." placeholder:"DURATION"`
	JSON    bool          `help:"Print JSON."`
}

// Run makes a token. Only the token itself goes to the output, so that a script can keep it.
func (c *tokensCreate) Run(ctx context.Context, a *app) error {
	if c.Expires < 0 {
		return exitcode.With(exitcode.Usage, fmt.Errorf("--expires must be positive, such as 720h"))
	}
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	request := wire.CreateTokenRequest{Name: c.Name, Scopes: c.Scopes}
	if c.Expires > 0 {
		at := clock.System{}.Now().Add(c.Expires).UnixMilli()
		request.ExpiresAt = &at
	}
	reply, err := client.Call[wire.CreateTokenResponse](ctx, cl, "CreateToken", request)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(reply)
	}
	_, err = fmt.Fprintln(a.out, reply.Token)
	return err
}

type tokensDelete struct {
	connection
	sure
	Token string `arg:"" help:"Id of the token."`
}

// Run revokes a token.
func (c *tokensDelete) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	if err := c.confirm(a, "the token "+c.Token); err != nil {
		return err
	}
	if _, err := client.Call[wire.TokenRequest](ctx, cl, "DeleteToken", wire.TokenRequest{TokenID: c.Token}); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.out, "deleted "+c.Token)
	return err
}
