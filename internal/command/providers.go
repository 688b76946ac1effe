package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/wire"
)

type providersCommand struct {
	List   providersList   `cmd:"" default:"withargs" help:"List connected providers."`
	Set    providersSet    `cmd:"" help:"Connect a provider, or replace its address or key."`
	Models providersModels `cmd:"" help:"Ask a provider for its models."`
	Test   providersTest   `cmd:"" help:"Find out whether a provider answers."`
	Delete providersDelete `cmd:"" help:"Forget a provider and its key."`
}

type providersList struct {
	connection
	JSON bool `help:"Print JSON."`
}

// Run lists providers.
func (c *providersList) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	reply, err := client.Call[wire.ListModelProvidersResponse](ctx, cl, "ListModelProviders", nil)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(reply.Providers)
	}
	var rows [][]string
	for _, p := range reply.Providers {
		key := "none"
		if p.HasSecrets {
			key = "stored"
		}
		rows = append(rows, []string{p.Name, p.Type, key, when(p.UpdatedAt)})
	}
	return a.table("No provider is connected. `loam providers set --help` shows how.", []string{"NAME", "TYPE", "KEY", "UPDATED"}, rows)
}

type providersSet struct {
	connection
	Name     string `arg:"" help:"Name to give it, such as openai."`
	Type     string `help:"Type: openai, anthropic, google, openrouter, deepseek, groq, xai, ollama, custom or tutor; the name when not set." placeholder:"TYPE"`
	KeyEnv   string `help:"Take the provider's key from this environment variable." placeholder:"VARIABLE" xor:"key"`
	KeyStdin bool   `help:"Read the provider's key from standard input; a terminal does not show it." xor:"key"`
	BaseURL  string `help:"Address of a custom or ollama provider." placeholder:"URL"`
	UseFor   string `help:"Switch this agent (name or id) to the provider." placeholder:"AGENT"`
	Model    string `help:"The model for --use-for; the first one that the provider lists when not set." placeholder:"MODEL"`
}

// Run stores the key, then the provider that refers to it, and switches an agent when asked to.
func (c *providersSet) Run(ctx context.Context, a *app) error {
	if c.Model != "" && c.UseFor == "" {
		return exitcode.With(exitcode.Usage, errors.New("--model says what --use-for AGENT shall use"))
	}
	secret, err := c.secret(a)
	if err != nil {
		return exitcode.With(exitcode.Usage, err)
	}
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	if err := c.store(ctx, cl, secret); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(a.out, "connected "+printable(c.Name)); err != nil {
		return err
	}
	return c.use(ctx, a, cl)
}

// secret is the provider's key, empty when none was offered. It is never an argument, which other users could read.
func (c *providersSet) secret(a *app) (string, error) {
	switch {
	case c.KeyEnv != "":
		value, _ := a.lookup(c.KeyEnv)
		if value = strings.TrimSpace(value); value == "" {
			return "", fmt.Errorf("the environment variable %s is empty", c.KeyEnv)
		}
		return value, nil
	case c.KeyStdin:
		return readSecret(a)
	}
	return "", nil
}

// maxSecret bounds a key, in bytes, as the server does.
const maxSecret = 64 << 10

func readSecret(a *app) (string, error) {
	var text []byte
	var err error
	if isTerminal(a.in) {
		fmt.Fprint(a.err, "Key (not shown): ")
		text, err = term.ReadPassword(int(a.in.Fd()))
		fmt.Fprintln(a.err)
	} else {
		text, err = io.ReadAll(io.LimitReader(a.in, maxSecret+1))
	}
	if err != nil {
		return "", fmt.Errorf("read the key: %w", err)
	}
	secret := strings.TrimSpace(string(text))
	if secret == "" {
		return "", errors.New("standard input held no key")
	}
	return secret, nil
}

func (c *providersSet) store(ctx context.Context, cl *client.Client, secret string) error {
	kind := c.Type
	if kind == "" {
		kind = c.Name
	}
	provider := map[string]any{"type": kind}
	if c.BaseURL != "" {
		provider["baseUrl"] = c.BaseURL
	}
	if secret != "" {
		name := c.Name + "-api-key"
		_, err := client.Call[wire.SecretResponse](ctx, cl, "SetSecret", wire.SetSecretRequest{
			Name: name, Value: []byte(secret), Metadata: map[string]any{"kind": "api-key"},
		})
		if err != nil {
			return fmt.Errorf("store the key: %w", err)
		}
		provider["secretRefs"] = map[string]any{"apiKey": name}
	}
	_, err := client.Call[wire.ProviderResponse](ctx, cl, "SetModelProvider", wire.SetModelProviderRequest{Name: c.Name, Provider: provider})
	return err
}

// use switches the agent that --use-for names, or tells how.
func (c *providersSet) use(ctx context.Context, a *app, cl *client.Client) error {
	if c.UseFor == "" {
		_, err := fmt.Fprintf(a.out, "To use it:  loam agents set AGENT --provider %s --model MODEL   (`loam providers models %s` lists models)\n",
			quoted(c.Name), quoted(c.Name))
		return err
	}
	agent, err := findAgent(ctx, cl, c.UseFor)
	if err != nil {
		return err
	}
	chosen := c.Model
	if chosen == "" {
		models, err := listModels(ctx, cl, c.Name)
		if err != nil {
			return err
		}
		if len(models) == 0 {
			return fmt.Errorf("%s lists no models; choose one with --model", c.Name)
		}
		chosen = models[0].ID
	}
	err = changeAgent(ctx, cl, agent, func(fields map[string]any) {
		fields["modelProvider"], fields["model"] = c.Name, chosen
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s now uses %s of %s\n", printable(agent.Definition.Name), printable(chosen), printable(c.Name))
	return err
}

// quoted makes a name fit for a shell to copy.
func quoted(name string) string {
	if strings.ContainsAny(name, " \t'\"$`\\") {
		return strconv.Quote(name)
	}
	return printable(name)
}

func listModels(ctx context.Context, cl *client.Client, provider string) ([]wire.ModelRef, error) {
	reply, err := client.Call[wire.ListProviderModelsResponse](ctx, cl, "ListProviderModels", wire.ListProviderModelsRequest{Provider: provider})
	return reply.Models, err
}

type providersModels struct {
	connection
	Name string `arg:"" help:"Name of the provider."`
	JSON bool   `help:"Print JSON."`
}

// Run lists the models of a provider.
func (c *providersModels) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	models, err := listModels(ctx, cl, c.Name)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(models)
	}
	var rows [][]string
	for _, m := range models {
		rows = append(rows, []string{m.ID, m.Name})
	}
	return a.table("The provider lists no models.", []string{"MODEL", "NAME"}, rows)
}

type providersTest struct {
	connection
	Name string `arg:"" help:"Name of the provider."`
}

// Run asks for the models, the cheapest question that needs address and key to be right.
func (c *providersTest) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	models, err := listModels(ctx, cl, c.Name)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s answers and offers %d models\n", printable(c.Name), len(models))
	return err
}

type providersDelete struct {
	connection
	Name string `arg:"" help:"Name of the provider."`
}

// Run forgets a provider.
func (c *providersDelete) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	if _, err := client.Call[wire.NameResponse](ctx, cl, "DeleteModelProvider", wire.NameRequest{Name: c.Name}); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.out, "deleted "+printable(c.Name))
	return err
}
