package operation

import (
	"context"
	"net/http"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/account/passkey"
	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

func passkeyOperations() []Operation {
	return []Operation{
		{Name: "BeginPasskey", Response: "BeginPasskeyResponse", Access: Self, Effect: Mutation, Since: "0.2", Scope: account.Admin, harmless: true, handle: beginPasskey,
			Route: &Route{Method: "POST", Path: "/passkeys/begin", Summary: "Ask for a new passkey",
				Note:  "Answer with /passkeys/finish within five minutes.",
				Reply: wire.PasskeyChallenge{}}},
		{Name: "FinishPasskey", Response: "FinishPasskeyResponse", Access: Self, Effect: Mutation, Since: "0.2", Scope: account.Admin, handle: finishPasskey,
			Route: &Route{Method: "POST", Path: "/passkeys/finish", Summary: "Keep the passkey that a browser has made", Status: http.StatusCreated,
				Request: wire.FinishPasskeyRequest{}, Reply: wire.PasskeyResponse{}}},
		{Name: "ListPasskeys", Response: "ListPasskeysResponse", Access: Self, Effect: Query, Since: "0.2", Scope: account.Admin, handle: listPasskeys,
			Route: &Route{Method: "GET", Path: "/passkeys", Summary: "List passkeys", Request: wire.PageRequest{}, Reply: wire.ListPasskeysResponse{}}},
		{Name: "DeletePasskey", Response: "DeletePasskeyResponse", Access: Self, Effect: Mutation, Since: "0.2", Scope: account.Admin, handle: deletePasskey,
			Route: &Route{Method: "DELETE", Path: "/passkeys/{passkeyId}", Summary: "Delete a passkey",
				Note:    "Browsers that signed in with it stay signed in.",
				Request: wire.PasskeyRequest{}, Reply: wire.PasskeyRequest{}}},
	}
}

func beginPasskey(ctx context.Context, c *Call) (Result, error) {
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		return c.opts.Passkeys.BeginRegistration(tx, c.Caller.Account, clock.Millis(c.opts.Clock))
	})
}

func finishPasskey(ctx context.Context, c *Call) (Result, error) {
	var req wire.FinishPasskeyRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	name, err := bounded.Name(req.Name, "Name")
	if err != nil {
		return Result{}, err
	}
	challenge, err := bounded.Name(req.ChallengeID, "Challenge ID")
	if err != nil {
		return Result{}, err
	}
	p := passkey.RegisterParams{
		ID: c.opts.IDs(), Account: c.Caller.Account, Name: name, ChallengeID: challenge, Credential: req.Credential,
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		p.Now = clock.Millis(c.opts.Clock)
		made, err := c.opts.Passkeys.FinishRegistration(tx, p)
		return wire.PasskeyResponse{Passkey: made.Info()}, err
	})
}

func listPasskeys(ctx context.Context, c *Call) (Result, error) {
	page, err := c.page()
	if err != nil {
		return Result{}, err
	}
	var out wire.ListPasskeysResponse
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		list, more, err := passkey.List(tx, c.Caller.Account, page)
		if err != nil {
			return err
		}
		out.Passkeys = make([]wire.PasskeyInfo, len(list))
		for i, e := range list {
			out.Passkeys[i] = e.Info()
		}
		out.NextCursor, err = next(list, more, func(e *passkey.Passkey) store.Place { return store.Place{At: e.CreatedAt, ID: e.ID} })
		return err
	})
	return Result{Value: out}, err
}

func deletePasskey(ctx context.Context, c *Call) (Result, error) {
	var req wire.PasskeyRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	id, err := bounded.Name(req.PasskeyID, "Passkey ID")
	if err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		return wire.PasskeyRequest{PasskeyID: id}, passkey.Delete(tx, c.Caller.Account, id)
	})
}
