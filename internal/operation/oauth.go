package operation

import (
	"context"
	"net/http"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/model/subscription"
	"github.com/loam-agents/loam/internal/provider"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/vault"
	"github.com/loam-agents/loam/wire"
)

func oauthOperations() []Operation {
	return []Operation{
		{Name: "StartProviderOAuth", Response: "StartProviderOAuthResponse", Access: Self, Effect: Mutation, Since: "0.2", Scope: account.Admin,
			harmless: true, handle: startOAuth,
			Route: &Route{Method: "POST", Path: "/provider-sign-ins", Summary: "Begin to sign in with a subscription", Status: http.StatusCreated,
				Note:    "A new one ends the account's earlier one. It has to be finished within ten minutes.",
				Request: wire.StartProviderOAuthRequest{}, Reply: wire.StartProviderOAuthResponse{}}},
		{Name: "SubmitProviderOAuthCode", Response: "SubmitProviderOAuthCodeResponse", Access: Self, Effect: Mutation, Since: "0.2", Scope: account.Admin,
			harmless: true, handle: submitOAuth,
			Route: &Route{Method: "POST", Path: "/provider-sign-ins/{loginId}/code", Summary: "Finish a sign-in with its code",
				Note:    "The code alone, or the whole address that the service has redirected to.",
				Request: wire.SubmitProviderOAuthCodeRequest{}, Reply: wire.SubmitProviderOAuthCodeResponse{}}},
		{Name: "GetProviderOAuthStatus", Response: "ProviderOAuthStatusResponse", Access: Self, Effect: Query, Since: "0.2", Scope: account.Admin, handle: oauthStatus,
			Route: &Route{Method: "GET", Path: "/provider-sign-ins/{loginId}", Summary: "Ask how a sign-in stands",
				Request: wire.ProviderOAuthRequest{}, Reply: wire.ProviderOAuthStatusResponse{}}},
		{Name: "CancelProviderOAuth", Response: "CancelProviderOAuthResponse", Access: Self, Effect: Mutation, Since: "0.2", Scope: account.Admin, handle: cancelOAuth,
			Route: &Route{Method: "DELETE", Path: "/provider-sign-ins/{loginId}", Summary: "Give a sign-in up",
				Request: wire.ProviderOAuthRequest{}, Reply: wire.ProviderOAuthRequest{}}},
	}
}

func startOAuth(ctx context.Context, c *Call) (Result, error) {
	var req wire.StartProviderOAuthRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	kind, err := bounded.Name(req.ProviderType, "Provider type")
	switch {
	case err != nil:
		return Result{}, err
	case c.opts.Subscription == nil:
		return Result{}, fault.New(fault.PermissionDenied, provider.MsgNoSubscription)
	case kind != subscription.Type:
		return Result{}, fault.Invalid("Subscription sign-in is not supported for %s", kind).With("field", "providerType")
	}
	id := c.opts.IDs()
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		l, err := c.opts.Subscription.Start(tx, c.Caller.Account, id)
		return wire.StartProviderOAuthResponse{LoginID: l.ID, AuthURL: l.AuthURL, ExpiresAt: l.ExpiresAt}, err
	})
}

// loginID reads which sign-in is meant. Without subscriptions there is none.
func (c *Call) loginID() (string, error) {
	var req wire.ProviderOAuthRequest
	if err := c.bind(&req); err != nil {
		return "", err
	}
	id, err := bounded.Name(req.LoginID, "Login ID")
	if err == nil && c.opts.Subscription == nil {
		err = fault.Missing("Sign-in not found")
	}
	return id, err
}

func submitOAuth(ctx context.Context, c *Call) (Result, error) {
	id, err := c.loginID()
	if err != nil {
		return Result{}, err
	}
	code, err := bounded.Text(c.fields["code"], "Code", subscription.MaxCode)
	if err != nil {
		return Result{}, err
	}
	// A code counts once at its service, so that a repetition does no harm.
	err = c.opts.Subscription.Submit(ctx, c.Caller.Account, id, code)
	return Result{Value: wire.SubmitProviderOAuthCodeResponse{}}, err
}

func oauthStatus(ctx context.Context, c *Call) (Result, error) {
	id, err := c.loginID()
	if err != nil {
		return Result{}, err
	}
	out := wire.ProviderOAuthStatusResponse{LoginID: id}
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		l, err := c.opts.Subscription.Status(tx, c.Caller.Account, id)
		if out.Status, out.Error = l.Status, l.Error; l.Status == subscription.Completed {
			out.SecretName = subscription.SecretName
		}
		return err
	})
	return Result{Value: out}, err
}

func cancelOAuth(ctx context.Context, c *Call) (Result, error) {
	id, err := c.loginID()
	if err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		return wire.ProviderOAuthRequest{LoginID: id}, c.opts.Subscription.Cancel(tx, c.Caller.Account, id)
	})
}

// signedIn completes what is shown of a provider with a subscription: whether its sign-in is good.
func (c *Call) signedIn(tx store.Tx, p *provider.Provider, info *wire.ProviderInfo) error {
	if info.AuthMode == "" {
		return nil
	}
	info.AuthStatus = "needs-login"
	secrets, err := c.opts.Vault.List(tx, p.Account)
	for _, s := range secrets {
		if s.Name == p.Config.SecretRefs["oauth"] && !subscription.NeedsLogin(s.Metadata) {
			info.AuthStatus = "ok"
		}
	}
	return err
}

// isLogin tells whether a secret is a sign-in under way, which is nobody's to see or change.
func isLogin(i vault.Info) bool { return i.Metadata["kind"] == subscription.KindLogin }
