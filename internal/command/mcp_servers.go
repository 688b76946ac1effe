package command

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/wire"
)

type mcpServersCommand struct {
	List    mcpServersList    `cmd:"" default:"withargs" help:"List MCP servers."`
	Show    mcpServersShow    `cmd:"" help:"Show an MCP server and its tools."`
	Set     mcpServersSet     `cmd:"" help:"Connect an MCP server, or replace how it is reached."`
	Refresh mcpServersRefresh `cmd:"" help:"Ask an MCP server for its tools again."`
	Login   mcpServersLogin   `cmd:"" help:"Print the address where you sign in to an MCP server."`
	Delete  mcpServersDelete  `cmd:"" help:"Forget an MCP server, its tools and its secrets."`
}

func listMcpServers(ctx context.Context, cl *client.Client) ([]wire.McpServer, error) {
	reply, err := client.Call[wire.ListMcpServersResponse](ctx, cl, "ListMcpServers", nil)
	return reply.Servers, err
}

// namedMcpServer adds to an error which server was probably meant, when there is none of the name.
func namedMcpServer(ctx context.Context, cl *client.Client, name string, err error) error {
	if refused, ok := errors.AsType[*client.Error](err); !ok || refused.Status != http.StatusNotFound {
		return err
	}
	list, listErr := listMcpServers(ctx, cl)
	if listErr != nil {
		return err
	}
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	return fmt.Errorf("there is no MCP server %q%s; `loam mcp-servers` lists them", name, didYouMean(name, names))
}

// place is where a server is.
func place(s *wire.McpServer) string {
	if len(s.Command) > 0 {
		return s.Command[0] + " …"
	}
	return s.URL
}

// state is how a server fared last.
func state(s *wire.McpServer) string {
	switch s.Status.State {
	case "ok":
		return "ok, " + count(len(s.Tools), "tool")
	case "error":
		return "failed: " + s.Status.Error
	}
	return s.Status.State
}

type mcpServersList struct {
	connection
	JSON bool `help:"Print JSON."`
}

// Run lists servers.
func (c *mcpServersList) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	list, err := listMcpServers(ctx, cl)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(list)
	}
	var rows [][]string
	for i := range list {
		rows = append(rows, []string{list[i].Name, list[i].Transport, place(&list[i]), when(list[i].Status.CheckedAt), state(&list[i])})
	}
	return a.table("No MCP server is connected. `loam mcp-servers set --help` shows how.", []string{"NAME", "TRANSPORT", "WHERE", "CHECKED", "STATE"}, rows)
}

type mcpServersShow struct {
	connection
	Name string `arg:"" help:"Name of the server."`
	JSON bool   `help:"Print JSON."`
}

// Run shows a server.
func (c *mcpServersShow) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	list, err := listMcpServers(ctx, cl)
	if err != nil {
		return err
	}
	for i := range list {
		if list[i].Name == c.Name {
			return c.print(a, &list[i])
		}
	}
	return namedMcpServer(ctx, cl, c.Name, &client.Error{Status: http.StatusNotFound})
}

func (c *mcpServersShow) print(a *app, s *wire.McpServer) error {
	if c.JSON {
		return a.printJSON(s)
	}
	if _, err := fmt.Fprintf(a.out, "%s at %s: %s\n", printable(s.Name), printable(place(s)), printable(state(s))); err != nil {
		return err
	}
	if s.Auth != "" && !s.SignedIn {
		if _, err := fmt.Fprintf(a.out, "It wants you to sign in:  loam mcp-servers login %s\n", printable(s.Name)); err != nil {
			return err
		}
	}
	var rows [][]string
	for _, t := range s.Tools {
		line, _, _ := strings.Cut(t.Description, "\n")
		rows = append(rows, []string{t.ToolName, line})
	}
	return a.table("It offers no tools.", []string{"TOOL", "DESCRIPTION"}, rows)
}

type mcpServersSet struct {
	connection
	Name      string            `arg:"" help:"Name to give it; its tools are called NAME__tool."`
	Endpoint  string            `help:"Where it is." placeholder:"URL" xor:"where"`
	Command   []string          `help:"A program that the operator allows instead of an endpoint; repeated for each argument." placeholder:"WORD" xor:"where" sep:"none"`
	Transport string            `help:"http or sse; one is tried after the other when not set." placeholder:"http|sse"`
	Header    map[string]string `help:"A header that is no secret." placeholder:"NAME=VALUE" mapsep:"none"`
	SecretEnv map[string]string `help:"A header whose value is in a variable of your environment; it is stored as a secret." placeholder:"NAME=VARIABLE"`
	OAuth     bool              `name:"oauth" help:"The server wants you to sign in; see login."`
}

// Run stores the secrets and then the server that refers to them.
func (c *mcpServersSet) Run(ctx context.Context, a *app) error {
	secrets := map[string]string{}
	for header, variable := range c.SecretEnv {
		value, _ := a.lookup(variable)
		if value = strings.TrimSpace(value); value == "" {
			return exitcode.With(exitcode.Usage, fmt.Errorf("the environment variable %s is empty", variable))
		}
		secrets[header] = value
	}
	if c.Endpoint == "" && len(c.Command) == 0 {
		return exitcode.With(exitcode.Usage, errors.New("say where the server is: --endpoint https://host/mcp"))
	}
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	refs := map[string]any{}
	for header, value := range secrets {
		name := "mcp-" + c.Name + "-" + strings.ToLower(header)
		_, err := client.Call[wire.SecretResponse](ctx, cl, "SetSecret", wire.SetSecretRequest{Name: name, Value: []byte(value), Metadata: map[string]any{"kind": "mcp-header"}})
		if err != nil {
			return fmt.Errorf("store the value of %s: %w", header, err)
		}
		refs[header] = name
	}
	reply, err := client.Call[wire.McpServerResponse](ctx, cl, "SetMcpServer", wire.SetMcpServerRequest{Name: c.Name, Config: c.config(refs)})
	if err != nil {
		return err
	}
	return a.saved(&reply.Server)
}

func (c *mcpServersSet) config(refs map[string]any) map[string]any {
	cfg := map[string]any{}
	for key, value := range map[string]string{"url": c.Endpoint, "transport": c.Transport} {
		if value != "" {
			cfg[key] = value
		}
	}
	if len(c.Command) > 0 {
		cfg["command"] = c.Command
	}
	if len(c.Header) > 0 {
		cfg["headers"] = c.Header
	}
	if len(refs) > 0 {
		cfg["secretRefs"] = refs
	}
	if c.OAuth {
		cfg["auth"] = "oauth"
	}
	return cfg
}

// saved says what became of a server. One that does not answer may be right all the same.
func (a *app) saved(s *wire.McpServer) error {
	out := a.out
	if s.Status.State != "ok" {
		out = a.err
	}
	if _, err := fmt.Fprintf(out, "%s: %s\n", printable(s.Name), printable(state(s))); err != nil {
		return err
	}
	if s.Auth != "" && !s.SignedIn {
		_, err := fmt.Fprintf(a.out, "Sign in:  loam mcp-servers login %s\n", printable(s.Name))
		return err
	}
	return nil
}

type mcpServersRefresh struct {
	connection
	Name string `arg:"" help:"Name of the server."`
}

// Run asks a server for its tools.
func (c *mcpServersRefresh) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	reply, err := client.Call[wire.McpServerResponse](ctx, cl, "RefreshMcpServer", wire.NameRequest{Name: c.Name})
	if err != nil {
		return namedMcpServer(ctx, cl, c.Name, err)
	}
	return a.saved(&reply.Server)
}

type mcpServersLogin struct {
	connection
	Name string `arg:"" help:"Name of the server."`
}

// Run prints where to sign in.
func (c *mcpServersLogin) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	reply, err := client.Call[wire.McpLoginResponse](ctx, cl, "StartMcpLogin", wire.NameRequest{Name: c.Name})
	if err != nil {
		return namedMcpServer(ctx, cl, c.Name, err)
	}
	_, err = fmt.Fprintf(a.out, "Open this address within 15 minutes and sign in:\n%s\n", printable(reply.AuthURL))
	return err
}

type mcpServersDelete struct {
	connection
	sure
	Name string `arg:"" help:"Name of the server."`
}

// Run forgets a server.
func (c *mcpServersDelete) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	if err := c.confirm(a, "the MCP server "+c.Name+", its tools and its secrets"); err != nil {
		return err
	}
	if _, err := client.Call[wire.NameResponse](ctx, cl, "DeleteMcpServer", wire.NameRequest{Name: c.Name}); err != nil {
		return namedMcpServer(ctx, cl, c.Name, err)
	}
	_, err = fmt.Fprintln(a.out, "deleted "+printable(c.Name))
	return err
}
