package operation

import (
	"context"
	"slices"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/vault"
	"github.com/loam-agents/loam/wire"
)

func secretOperations() []Operation {
	return []Operation{
		{Name: "SetSecret", Response: "SetSecretResponse", Access: Self, Effect: Mutation, Since: "0.1", Scope: account.Admin, harmless: true, handle: setSecret,
			Route: &Route{Method: "PUT", Path: "/secrets/{name}", Summary: "Store a secret",
				Note:    "No interface reads it back. Nothing of the request is recorded for an Idempotency-Key: a repetition stores the secret again.",
				Request: SecretFields{}, Reply: wire.SecretResponse{}, shape: shapeSecret}},
		{Name: "ListSecrets", Response: "ListSecretsResponse", Access: Self, Effect: Query, Since: "0.2", Scope: account.Admin, handle: listSecrets,
			Route: &Route{Method: "GET", Path: "/secrets", Summary: "List the names of secrets", Reply: wire.SecretsResponse{}}},
		{Name: "DeleteSecret", Response: "DeleteSecretResponse", Access: Self, Effect: Mutation, Since: "0.2", Scope: account.Admin, handle: deleteSecret,
			Route: &Route{Method: "DELETE", Path: "/secrets/{name}", Summary: "Delete a secret",
				Request: wire.NameRequest{}, Reply: wire.NameResponse{}}},
	}
}

func setSecret(ctx context.Context, c *Call) (Result, error) {
	var req wire.SetSecretRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		info, err := c.opts.Vault.Set(tx, c.Caller.Account, req.Name, req.Value, req.Metadata)
		return wire.SecretResponse{Secret: secretInfo(info)}, err
	})
}

func listSecrets(ctx context.Context, c *Call) (Result, error) {
	out := wire.SecretsResponse{}
	err := c.opts.Store.Read(ctx, func(tx store.Tx) error {
		list, err := c.opts.Vault.List(tx, c.Caller.Account)
		list = slices.DeleteFunc(list, isLogin)
		out.Secrets = make([]wire.SecretInfo, len(list))
		for i := range list {
			out.Secrets[i] = secretInfo(list[i])
		}
		return err
	})
	return Result{Value: out}, err
}

func deleteSecret(ctx context.Context, c *Call) (Result, error) {
	var req wire.NameRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		return wire.NameResponse(req), c.opts.Vault.Delete(tx, c.Caller.Account, req.Name)
	})
}

func secretInfo(i vault.Info) wire.SecretInfo {
	return wire.SecretInfo{
		ID: i.ID, Name: i.Name, Metadata: i.Metadata, HasValue: true, CreatedAt: i.CreatedAt, UpdatedAt: i.UpdatedAt,
	}
}
