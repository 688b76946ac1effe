package operation

import (
	"context"
	"net/http"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/account/token"
	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

func accessOperations() []Operation {
	return []Operation{
		{Name: "GetCaller", Response: "GetCallerResponse", Access: Self, Effect: Query, Since: "0.2", handle: getCaller,
			Route: &Route{Method: "GET", Path: "/me", Summary: "Who am I", Reply: wire.CallerInfo{}}},
		{Name: "CreateToken", Response: "CreateTokenResponse", Access: Self, Effect: Mutation, Since: "0.2", Scope: account.Admin, handle: createToken,
			Route: &Route{Method: "POST", Path: "/tokens", Summary: "Make a token", Status: http.StatusCreated,
				Note:    "The token is shown this once. No record keeps it, so a repetition with the same Idempotency-Key is a conflict.",
				Request: wire.CreateTokenRequest{}, Reply: wire.CreateTokenResponse{}}},
		{Name: "ListTokens", Response: "ListTokensResponse", Access: Self, Effect: Query, Since: "0.2", Scope: account.Admin, handle: listTokens,
			Route: &Route{Method: "GET", Path: "/tokens", Summary: "List tokens", Request: wire.PageRequest{}, Reply: wire.ListTokensResponse{}}},
		{Name: "DeleteToken", Response: "DeleteTokenResponse", Access: Self, Effect: Mutation, Since: "0.2", Scope: account.Admin, handle: deleteToken,
			Route: &Route{Method: "DELETE", Path: "/tokens/{tokenId}", Summary: "Revoke a token", Note: "It stops to work at once, and its streams end.",
				Request: wire.TokenRequest{}, Reply: wire.TokenRequest{}}},
	}
}

func getCaller(ctx context.Context, c *Call) (Result, error) {
	out := wire.CallerInfo{Account: c.Caller.Account, Scopes: []string{}, Via: c.Caller.Via, Server: c.opts.About}
	if c.Caller.Signer != c.Caller.Account {
		out.Signer = c.Caller.Signer
	}
	scopes := c.Caller.Scopes
	if scopes == nil {
		scopes = account.Scopes()
	}
	for _, s := range scopes {
		out.Scopes = append(out.Scopes, string(s))
	}
	err := c.opts.Store.Read(ctx, func(tx store.Tx) error {
		owner, _, err := account.Owner(tx)
		out.Owner = owner == c.Caller.Account
		return err
	})
	return Result{Value: out}, err
}

// createdToken is the answer that holds a token's text.
type createdToken wire.CreateTokenResponse

func (createdToken) shownOnce() {}

func createToken(ctx context.Context, c *Call) (Result, error) {
	var req wire.CreateTokenRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	name, err := bounded.Name(req.Name, "Name")
	if err != nil {
		return Result{}, err
	}
	scopes, err := account.ParseScopes(req.Scopes)
	if err != nil {
		return Result{}, err
	}
	p := token.CreateParams{ID: c.opts.IDs(), Account: c.Caller.Account, Name: name, Scopes: scopes}
	if req.ExpiresAt != nil {
		p.ExpiresAt = *req.ExpiresAt
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		p.Now = clock.Millis(c.opts.Clock)
		t, text, err := token.Create(tx, p)
		return createdToken{Token: text, Info: t.Info()}, err
	})
}

func listTokens(ctx context.Context, c *Call) (Result, error) {
	page, err := c.page()
	if err != nil {
		return Result{}, err
	}
	var out wire.ListTokensResponse
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		list, more, err := token.List(tx, c.Caller.Account, page)
		if err != nil {
			return err
		}
		out.Tokens = make([]wire.TokenInfo, len(list))
		for i, e := range list {
			out.Tokens[i] = e.Info()
		}
		out.NextCursor, err = next(list, more, func(e *token.Token) store.Place { return store.Place{At: e.CreatedAt, ID: e.ID} })
		return err
	})
	return Result{Value: out}, err
}

func deleteToken(ctx context.Context, c *Call) (Result, error) {
	var req wire.TokenRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	id, err := bounded.Name(req.TokenID, "Token ID")
	if err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		if err := token.Delete(tx, c.Caller.Account, id); err != nil {
			return nil, err
		}
		c.opts.Notify.CredentialRevoked(tx, id)
		return wire.TokenRequest{TokenID: id}, nil
	})
}
