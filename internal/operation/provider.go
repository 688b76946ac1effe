package operation

import (
	"context"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/provider"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

func providerOperations() []Operation {
	return []Operation{
		{Name: "SetModelProvider", Response: "SetModelProviderResponse", Access: Self, Effect: Mutation, Since: "0.1", Scope: account.Admin, delegable: true, handle: setProvider,
			Route: &Route{Method: "PUT", Path: "/providers/{name}", Summary: "Connect a model provider",
				Request: ProviderFields{}, Reply: wire.ProviderResponse{}}},
		{Name: "ListModelProviders", Response: "ListModelProvidersResponse", Access: Self, Effect: Query, Since: "0.1", handle: listProviders,
			Route: &Route{Method: "GET", Path: "/providers", Summary: "List model providers",
				Request: wire.ListModelProvidersRequest{}, Reply: wire.ListModelProvidersResponse{}}},
		{Name: "ListProviderTypes", Response: "ListProviderTypesResponse", Access: Self, Effect: Query, Since: "0.2", handle: listProviderTypes,
			Route: &Route{Method: "GET", Path: "/provider-types", Summary: "List what a provider can be", Reply: wire.ListProviderTypesResponse{}}},
		{Name: "ListProviderModels", Response: "ListProviderModelsResponse", Access: Self, Effect: Query, Since: "0.1", handle: listProviderModels,
			Route: &Route{Method: "GET", Path: "/providers/{provider}/models", Summary: "Ask a provider for its models",
				Note:    "An answer proves that the provider can be reached with its key; its error is told as provider_error.",
				Request: wire.ListProviderModelsRequest{}, Reply: ModelsShown{}, present: presentModels}},
		{Name: "DeleteModelProvider", Response: "DeleteModelProviderResponse", Access: Self, Effect: Mutation, Since: "0.1", Scope: account.Admin, delegable: true, handle: deleteProvider,
			Route: &Route{Method: "DELETE", Path: "/providers/{name}", Summary: "Forget a model provider",
				Request: wire.NameRequest{}, Reply: wire.NameResponse{}}},
	}
}

func setProvider(ctx context.Context, c *Call) (Result, error) {
	var req wire.SetModelProviderRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	name, err := provider.ParseName(req.Name)
	if err != nil {
		return Result{}, err
	}
	cfg, err := provider.ParseConfig(req.Provider, c.opts.Subscription != nil)
	if err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		p, err := provider.Set(tx, provider.SetParams{
			ID: c.opts.IDs(), Account: c.Caller.Account, Name: name, Config: cfg, Now: clock.Millis(c.opts.Clock),
		})
		if err != nil {
			return nil, err
		}
		info := p.Info()
		err = c.signedIn(tx, &p, &info)
		return wire.ProviderResponse{Provider: info}, err
	})
}

// ownerOf is the account whose providers a request means: the caller's, or that of the agent it names.
func (c *Call) ownerOf(tx store.Tx, agentID *string) (string, error) {
	if agentID == nil {
		return c.Caller.Account, nil
	}
	id, err := bounded.Name(*agentID, "Agent ID")
	if err != nil {
		return "", err
	}
	found, err := c.onAgent(tx, id, wire.MsgAgentNotFound)
	return found.agent.Account, err
}

func listProviders(ctx context.Context, c *Call) (Result, error) {
	var req wire.ListModelProvidersRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	out := wire.ListModelProvidersResponse{Providers: []wire.ProviderInfo{}}
	err := c.opts.Store.Read(ctx, func(tx store.Tx) error {
		out.Providers = out.Providers[:0]
		owner, err := c.ownerOf(tx, req.AgentID)
		if err != nil {
			return err
		}
		list, err := provider.List(tx, owner)
		for _, p := range list {
			info := p.Info()
			if owner == c.Caller.Account {
				info = p.OwnerInfo()
			}
			if err := c.signedIn(tx, &p, &info); err != nil {
				return err
			}
			out.Providers = append(out.Providers, info)
		}
		return err
	})
	return Result{Value: out}, err
}

func listProviderModels(ctx context.Context, c *Call) (Result, error) {
	var req wire.ListProviderModelsRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	name, err := bounded.Name(req.Provider, "Provider")
	if err != nil {
		return Result{}, err
	}
	var owner string
	err = c.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
		owner, err = c.ownerOf(tx, req.AgentID)
		return err
	})
	if err != nil {
		return Result{}, err
	}
	models, err := c.opts.Models.List(ctx, owner, name)
	if err != nil {
		return Result{}, err
	}
	out := wire.ListProviderModelsResponse{Models: make([]wire.ModelRef, len(models))}
	for i, m := range models {
		out.Models[i] = wire.ModelRef(m)
	}
	return Result{Value: out}, nil
}

func listProviderTypes(context.Context, *Call) (Result, error) {
	types := provider.Types()
	out := wire.ListProviderTypesResponse{Types: make([]wire.ProviderTypeInfo, len(types))}
	for i, t := range types {
		out.Types[i] = wire.ProviderTypeInfo{Name: t.Name, Label: t.Label, NeedsKey: t.NeedsKey, TakesKey: t.Name != provider.Tutor, CustomURL: t.CustomURL}
		if t.CustomURL {
			out.Types[i].BaseURL = t.BaseURL
		}
	}
	return Result{Value: out}, nil
}

func deleteProvider(ctx context.Context, c *Call) (Result, error) {
	var req wire.NameRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	name, err := provider.ParseName(req.Name)
	if err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		orphans, err := provider.Delete(tx, c.Caller.Account, name)
		if err != nil {
			return nil, err
		}
		for _, secret := range orphans {
			if err := c.opts.Vault.Delete(tx, c.Caller.Account, secret); err != nil && fault.CodeOf(err) != fault.NotFound {
				return nil, err
			}
		}
		return wire.NameResponse{Name: name}, nil
	})
}
