package operation

import (
	"context"
	"errors"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/account/delegation"
	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

func signerOperations() []Operation {
	return []Operation{
		{Name: "RegisterSigner", Response: "RegisterSignerResponse", Access: Self, Effect: Mutation, Since: "0.2", handle: registerSigner, newcomer: true,
			Unrouted: "only the delegate's own signature proves that it is the delegate"},
		{Name: "ListSigners", Response: "ListSignersResponse", Access: Self, Effect: Query, Since: "0.2", Scope: account.Admin, handle: listSigners,
			Route: &Route{Method: "GET", Path: "/signers", Summary: "List the keys that act for the account by a capability", Request: wire.PageRequest{}, Reply: wire.ListSignersResponse{}}},
		{Name: "RevokeSigner", Response: "RevokeSignerResponse", Access: Self, Effect: Mutation, Since: "0.2", Scope: account.Admin, handle: revokeSigner,
			Route: &Route{Method: "DELETE", Path: "/signers/{signerId}", Summary: "Revoke a key that acts by a capability",
				Note:    "It stops at its next action and its sockets end. Only a capability that is issued later brings it back.",
				Request: wire.SignerRequest{}, Reply: wire.SignerRequest{}}},
	}
}

// registerSigner keeps the proof that the signer of the envelope, which acts for itself here, may act for who issued the capability.
func registerSigner(ctx context.Context, c *Call) (Result, error) {
	var req wire.RegisterSignerRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	signer, err := principal.ParseID(c.Caller.Signer)
	if err != nil || c.Caller.Via != ViaSignature {
		return Result{}, fault.Invalid("RegisterSigner has to be signed by the delegate")
	}
	capability, err := principal.ParseCapability(req.Capability)
	if err == nil {
		err = capability.Permits(signer)
	}
	if err != nil {
		return Result{}, capabilityFault(err, fault.ValidationFailed)
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		if err := c.delegate(tx, capability, req.Capability); err != nil {
			return nil, err
		}
		return wire.RegisterSignerResponse{AccountID: capability.Issuer.String(), SignerID: signer.String()}, nil
	})
}

// delegate records a capability that was verified, for an account that may act here.
func (c *Call) delegate(tx store.Tx, capability *principal.Capability, raw []byte) error {
	issuer, now := capability.Issuer.String(), clock.Millis(c.opts.Clock)
	if err := c.opts.Policy.MayAct(tx, issuer); err != nil {
		return err
	}
	if err := account.Ensure(tx, issuer, now); err != nil {
		return err
	}
	return delegation.Record(tx, delegation.Signer{
		Account: issuer, Key: capability.Delegate.String(), Label: capability.Label, Capability: raw,
		CapabilityID: capability.CID.String(), IssuedAt: capability.TS, CreatedAt: now,
	})
}

// prove verifies the capability of an envelope whose signer is not known to the account yet, and records it.
func (c *Call) prove(ctx context.Context) error {
	owner, err := principal.ParseID(c.Caller.Account)
	if err != nil {
		return fault.New(fault.Unauthenticated, wire.MsgNotAuthorized)
	}
	signer, err := principal.ParseID(c.Caller.Signer)
	if err != nil {
		return fault.New(fault.Unauthenticated, wire.MsgNotAuthorized)
	}
	raw := c.Caller.CapabilityBlob
	if raw == nil {
		if raw, err = c.fetchCapability(ctx); err != nil {
			return err
		}
	}
	capability, err := principal.VerifyDelegation(raw, c.Caller.Capability, owner, signer)
	if err != nil {
		return capabilityFault(err, fault.Unauthenticated)
	}
	err = c.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error { return c.delegate(tx, capability, raw) })
	if err == nil {
		c.delegated()
	}
	return err
}

// fetchCapability asks the network for a capability that only its CID names.
func (c *Call) fetchCapability(ctx context.Context) ([]byte, error) {
	if err := principal.CheckCapabilityCID(c.Caller.Capability); err != nil {
		return nil, capabilityFault(err, fault.Unauthenticated)
	}
	if c.opts.FetchCapability == nil {
		return nil, fault.New(fault.Unauthenticated, wire.MsgCapabilityUnavailable)
	}
	raw, err := c.opts.FetchCapability(ctx, c.Caller.Capability)
	switch {
	case errors.Is(err, ErrNoCapability):
		return nil, fault.New(fault.Unauthenticated, "%s", wire.MsgCapabilityMissing(c.Caller.Capability))
	case err != nil:
		return nil, fault.New(fault.Unauthenticated, "%s", wire.MsgCapabilityFetch(c.Caller.Capability, err.Error()))
	}
	return raw, nil
}

// ErrNoCapability is what Options.FetchCapability returns when the network does not have a capability.
var ErrNoCapability = errors.New("capability is not there")

func capabilityFault(err error, code fault.Code) error {
	if e, ok := errors.AsType[*principal.CapabilityError](err); ok {
		return fault.New(code, "%s", e.Error())
	}
	return err
}

// delegated marks the caller as a delegate. Its credential ends with its revocation.
func (c *Call) delegated() {
	c.Caller.Delegate, c.Caller.Credential = true, delegateCredential(c.Caller.Account, c.Caller.Signer)
}

func delegateCredential(account, signer string) string { return account + "/" + signer }

func listSigners(ctx context.Context, c *Call) (Result, error) {
	page, err := c.page()
	if err != nil {
		return Result{}, err
	}
	var out wire.ListSignersResponse
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		list, more, err := delegation.List(tx, c.Caller.Account, page)
		if err != nil {
			return err
		}
		out.Signers = make([]wire.SignerInfo, len(list))
		for i, e := range list {
			out.Signers[i] = e.Info()
		}
		out.NextCursor, err = next(list, more, func(e *delegation.Signer) store.Place { return store.Place{At: e.CreatedAt, ID: e.Key} })
		return err
	})
	return Result{Value: out}, err
}

func revokeSigner(ctx context.Context, c *Call) (Result, error) {
	var req wire.SignerRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	id, err := bounded.Name(req.SignerID, "Signer ID")
	if err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		if err := delegation.Revoke(tx, c.Caller.Account, id, clock.Millis(c.opts.Clock)); err != nil {
			return nil, err
		}
		c.opts.Notify.CredentialRevoked(tx, delegateCredential(c.Caller.Account, id))
		return wire.SignerRequest{SignerID: id}, nil
	})
}
