package operation

import (
	"context"
	"errors"
	"net/http"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/account/delegation"
	"github.com/loam-agents/loam/internal/account/linked"
	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

func keyOperations() []Operation {
	return []Operation{
		{Name: "LinkKey", Response: "LinkKeyResponse", Access: Self, Effect: Mutation, Since: "0.2", Scope: account.Admin, handle: linkKey,
			Route: &Route{Method: "POST", Path: "/keys", Summary: "Let a key act as the account", Status: http.StatusCreated,
				Note:    "Everything that the key signs from then on is done as this account. Only the server owner may do it.",
				Request: wire.LinkKeyRequest{}, Reply: wire.KeyResponse{}}},
		{Name: "ListKeys", Response: "ListKeysResponse", Access: Self, Effect: Query, Since: "0.2", Scope: account.Admin, handle: listKeys,
			Route: &Route{Method: "GET", Path: "/keys", Summary: "List the keys that act as the account", Request: wire.PageRequest{}, Reply: wire.ListKeysResponse{}}},
		{Name: "UnlinkKey", Response: "UnlinkKeyResponse", Access: Self, Effect: Mutation, Since: "0.2", Scope: account.Admin, handle: unlinkKey,
			Route: &Route{Method: "DELETE", Path: "/keys/{keyId}", Summary: "Take a key out of the account",
				Note:    "What it signs is done as its own account again, and its sockets end.",
				Request: wire.KeyRequest{}, Reply: wire.KeyRequest{}}},
	}
}

func linkKey(ctx context.Context, c *Call) (Result, error) {
	var req wire.LinkKeyRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	name, err := bounded.Name(req.Name, "Name")
	if err != nil {
		return Result{}, err
	}
	id, err := principal.ParseID(req.Key)
	if err != nil {
		return Result{}, fault.Invalid("key must be a public key, z6Mk…").With("field", "key")
	}
	if id.String() == c.Caller.Account {
		return Result{}, fault.Invalid("This key is the account itself").With("field", "key")
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		owner, _, err := account.Owner(tx)
		if err != nil {
			return nil, err
		}
		// Whoever could link the keys of others would be given what they write.
		if owner != c.Caller.Account {
			return nil, fault.New(fault.PermissionDenied, "Only the server owner may let keys act as their account")
		}
		k := linked.Key{Key: id.String(), Account: c.Caller.Account, Name: name, CreatedAt: clock.Millis(c.opts.Clock)}
		return wire.KeyResponse{Key: k.Info()}, linked.Link(tx, k)
	})
}

func listKeys(ctx context.Context, c *Call) (Result, error) {
	page, err := c.page()
	if err != nil {
		return Result{}, err
	}
	var out wire.ListKeysResponse
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		list, more, err := linked.List(tx, c.Caller.Account, page)
		if err != nil {
			return err
		}
		out.Keys = make([]wire.KeyInfo, len(list))
		for i, e := range list {
			out.Keys[i] = e.Info()
		}
		out.NextCursor, err = next(list, more, func(e *linked.Key) store.Place { return store.Place{At: e.CreatedAt, ID: e.Key} })
		return err
	})
	return Result{Value: out}, err
}

func unlinkKey(ctx context.Context, c *Call) (Result, error) {
	var req wire.KeyRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	id, err := bounded.Name(req.KeyID, "Key ID")
	if err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		if err := linked.Delete(tx, c.Caller.Account, id); err != nil {
			return nil, err
		}
		c.opts.Notify.CredentialRevoked(tx, id)
		return wire.KeyRequest{KeyID: id}, nil
	})
}

// Via of callers.
const (
	ViaSignature = "signature"
	ViaToken     = "token"
	ViaCookie    = "cookie"
)

// resolve finds the account that a signature acts for. A key that is linked acts as the account it is linked to, whether it says
// so or names itself; one that an account let act for it acts as that account, when the envelope names it. A key acts as itself
// otherwise.
func (c *Call) resolve(tx store.Tx) error {
	if c.Caller.Via != ViaSignature {
		return nil
	}
	account, linkedKey, err := linked.AccountOf(tx, c.Caller.Signer)
	switch {
	case err != nil:
		return err
	case linkedKey && (c.Caller.Account == c.Caller.Signer || c.Caller.Account == account):
		c.Caller.Account, c.Caller.Credential = account, c.Caller.Signer
		return nil
	case c.Caller.Account == c.Caller.Signer:
		return nil
	}
	may, err := delegation.May(tx, c.Caller.Account, c.Caller.Signer)
	switch {
	case err != nil:
		return err
	case may:
		c.delegated()
		return nil
	case c.Caller.Capability == "":
		return fault.New(fault.Unauthenticated, wire.MsgNotAuthorized)
	}
	return errUnproven
}

// errUnproven says that the capability of the envelope has to be verified, which no transaction waits for.
var errUnproven = errors.New("the capability is not verified yet")
