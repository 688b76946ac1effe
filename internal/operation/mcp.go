package operation

import (
	"context"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/mcp"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

func mcpOperations() []Operation {
	return []Operation{
		{Name: "ListMcpServers", Response: "ListMcpServersResponse", Access: Self, Effect: Query, Since: "0.2", handle: listMcpServers,
			Route: &Route{Method: "GET", Path: "/mcp-servers", Summary: "List MCP servers", Reply: wire.ListMcpServersResponse{}}},
		{Name: "SetMcpServer", Response: "SetMcpServerResponse", Access: Self, Effect: Mutation, Since: "0.2", Scope: account.Admin, delegable: true, prepares: true, handle: setMcpServer,
			Route: &Route{Method: "PUT", Path: "/mcp-servers/{name}", Summary: "Connect an MCP server, and ask it for its tools",
				Note:    "A server that does not answer is saved all the same; its status says why. Values of headers are never shown again.",
				Request: McpServerFields{}, Reply: wire.McpServerResponse{}}},
		{Name: "RefreshMcpServer", Response: "SetMcpServerResponse", Access: Self, Effect: Mutation, Since: "0.2", prepares: true, handle: refreshMcpServer,
			Route: &Route{Method: "POST", Path: "/mcp-servers/{name}/refresh", Summary: "Ask an MCP server for its tools again",
				Request: wire.NameRequest{}, Reply: wire.McpServerResponse{}}},
		{Name: "StartMcpLogin", Response: "StartMcpLoginResponse", Access: Self, Effect: Mutation, Since: "0.2", Scope: account.Admin, delegable: true, harmless: true, prepares: true, handle: startMcpLogin,
			Route: &Route{Method: "POST", Path: "/mcp-servers/{name}/login", Summary: "Begin a sign-in to an MCP server",
				Note:    "A person opens `authUrl` in a browser; the server is asked for its tools when they come back.",
				Request: wire.NameRequest{}, Reply: wire.McpLoginResponse{}}},
		{Name: "DeleteMcpServer", Response: "DeleteMcpServerResponse", Access: Self, Effect: Mutation, Since: "0.2", Scope: account.Admin, delegable: true, handle: deleteMcpServer,
			Route: &Route{Method: "DELETE", Path: "/mcp-servers/{name}", Summary: "Forget an MCP server, its tools and its secrets",
				Request: wire.NameRequest{}, Reply: wire.NameResponse{}}},
	}
}

func listMcpServers(ctx context.Context, c *Call) (Result, error) {
	out := wire.ListMcpServersResponse{}
	err := c.opts.Store.Read(ctx, func(tx store.Tx) error {
		out.Servers = []wire.McpServer{}
		list, err := mcp.List(tx, c.Caller.Account)
		if err != nil {
			return err
		}
		for i := range list {
			info, err := c.mcpServer(tx, &list[i])
			if err != nil {
				return err
			}
			out.Servers = append(out.Servers, info)
		}
		return nil
	})
	return Result{Value: out}, err
}

func (c *Call) mcpServer(tx store.Tx, s *mcp.Server) (wire.McpServer, error) {
	signedIn, err := c.opts.Mcp.SignedIn(tx, s)
	return s.Info(signedIn), err
}

func setMcpServer(ctx context.Context, c *Call) (Result, error) {
	var req wire.SetMcpServerRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	name, err := mcp.ParseName(req.Name)
	if err != nil {
		return Result{}, err
	}
	cfg, err := mcp.ParseConfig(req.Config)
	if err != nil {
		return Result{}, err
	}
	if len(cfg.Command) > 0 {
		if err := c.opts.Mcp.MayRun(ctx, c.Caller.Account, cfg.Command[0]); err != nil {
			return Result{}, err
		}
	}
	id, now := c.opts.IDs(), clock.Millis(c.opts.Clock)
	c.opts.Mcp.Forget(c.Caller.Account, name)
	found := c.opts.Mcp.Probe(ctx, &mcp.Server{ID: id, Account: c.Caller.Account, Name: name, Config: cfg, UpdatedAt: now})
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		s, err := mcp.Set(tx, id, c.Caller.Account, name, cfg, now)
		if err != nil {
			return nil, err
		}
		if err := c.opts.Mcp.Save(tx, &s, found); err != nil {
			return nil, err
		}
		info, err := c.mcpServer(tx, &s)
		return wire.McpServerResponse{Server: info}, err
	})
}

// mcpName reads the request of an operation on a server, which exists.
func (c *Call) mcpName(ctx context.Context) (s mcp.Server, err error) {
	var req wire.NameRequest
	if err := c.bind(&req); err != nil {
		return s, err
	}
	name, err := mcp.ParseName(req.Name)
	if err != nil {
		return s, err
	}
	err = c.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
		s, err = mcp.Get(tx, c.Caller.Account, name)
		return err
	})
	return s, err
}

func refreshMcpServer(ctx context.Context, c *Call) (Result, error) {
	s, err := c.mcpName(ctx)
	if err != nil {
		return Result{}, err
	}
	found := c.opts.Mcp.Probe(ctx, &s)
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		now, err := mcp.Get(tx, c.Caller.Account, s.Name)
		if err != nil {
			return nil, err
		}
		if err := c.opts.Mcp.Save(tx, &now, found); err != nil {
			return nil, err
		}
		info, err := c.mcpServer(tx, &now)
		return wire.McpServerResponse{Server: info}, err
	})
}

func startMcpLogin(ctx context.Context, c *Call) (Result, error) {
	s, err := c.mcpName(ctx)
	if err != nil {
		return Result{}, err
	}
	login, err := c.opts.Mcp.StartLogin(ctx, c.Caller.Account, s.Name)
	if err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{}, func(store.Tx) (any, error) {
		return wire.McpLoginResponse{AuthURL: login.URL, ExpiresAt: login.ExpiresAt}, nil
	})
}

func deleteMcpServer(ctx context.Context, c *Call) (Result, error) {
	s, err := c.mcpName(ctx)
	if err != nil {
		return Result{}, err
	}
	out, err := c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		secrets, err := mcp.Delete(tx, c.Caller.Account, s.Name)
		if err != nil {
			return nil, err
		}
		for _, secret := range secrets {
			if err := c.opts.Vault.Delete(tx, c.Caller.Account, secret); err != nil && fault.CodeOf(err) != fault.NotFound {
				return nil, err
			}
		}
		return wire.NameResponse{Name: s.Name}, c.opts.Mcp.Gone(tx, &s)
	})
	c.opts.Mcp.Forget(c.Caller.Account, s.Name)
	return out, err
}
