package operation

import (
	"context"
	"net/http"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/account/signin"
	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

func signInOperations() []Operation {
	return []Operation{
		{Name: "CreateSignInLink", Response: "CreateSignInLinkResponse", Access: Self, Effect: Mutation, Since: "0.2", Scope: account.Admin, handle: createSignInLink,
			Route: &Route{Method: "POST", Path: "/sign-ins", Summary: "Make a link that signs a browser in, once", Status: http.StatusCreated,
				Note:  "The link works for 15 minutes. It is shown this once.",
				Reply: wire.CreateSignInLinkResponse{}}},
		{Name: "ListSignIns", Response: "ListSignInsResponse", Access: Self, Effect: Query, Since: "0.2", Scope: account.Admin, handle: listSignIns,
			Route: &Route{Method: "GET", Path: "/sign-ins", Summary: "List the browsers that are signed in", Request: wire.PageRequest{}, Reply: wire.ListSignInsResponse{}}},
		{Name: "DeleteSignIn", Response: "DeleteSignInResponse", Access: Self, Effect: Mutation, Since: "0.2", Scope: account.Admin, handle: deleteSignIn,
			Route: &Route{Method: "DELETE", Path: "/sign-ins/{signInId}", Summary: "Sign a browser out",
				Note:    "It stops to work at once, and its streams end.",
				Request: wire.SignInRequest{}, Reply: wire.SignInRequest{}}},
	}
}

// createdLink is the answer that holds a sign-in code.
type createdLink wire.CreateSignInLinkResponse

func (createdLink) shownOnce() {}

func createSignInLink(ctx context.Context, c *Call) (Result, error) {
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		code, expiresAt, err := signin.Issue(tx, c.Caller.Account, clock.Millis(c.opts.Clock))
		return createdLink{Code: code, URL: c.opts.SignInURL(code), ExpiresAt: expiresAt}, err
	})
}

func listSignIns(ctx context.Context, c *Call) (Result, error) {
	page, err := c.page()
	if err != nil {
		return Result{}, err
	}
	var out wire.ListSignInsResponse
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		list, more, err := signin.List(tx, c.Caller.Account, clock.Millis(c.opts.Clock), page)
		if err != nil {
			return err
		}
		out.SignIns = make([]wire.SignInInfo, len(list))
		for i, e := range list {
			out.SignIns[i] = e.Info(c.Caller.Credential)
		}
		out.NextCursor, err = next(list, more, func(e *signin.SignIn) store.Place { return store.Place{At: e.CreatedAt, ID: e.ID} })
		return err
	})
	return Result{Value: out}, err
}

func deleteSignIn(ctx context.Context, c *Call) (Result, error) {
	var req wire.SignInRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	id, err := bounded.Name(req.SignInID, "Sign-in ID")
	if err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		return wire.SignInRequest{SignInID: id}, c.signOut(tx, c.Caller.Account, id)
	})
}

// signOut ends a sign-in and the streams of its browser.
func (s *Service) signOut(tx store.Tx, accountID, id string) error {
	if err := signin.Delete(tx, accountID, id); err != nil {
		return err
	}
	s.opts.Notify.CredentialRevoked(tx, id)
	return nil
}
