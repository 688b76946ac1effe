package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/internal/provider"
	"github.com/loam-agents/loam/wire"
)

type providersCommand struct {
	List   providersList   `cmd:"" default:"withargs" help:"List connected providers."`
	Set    providersSet    `cmd:"" help:"Connect a provider, or replace its address or key."`
	Models providersModels `cmd:"" help:"Ask a provider for its models."`
	Test   providersTest   `cmd:"" help:"Find out whether a provider answers."`
	Delete providersDelete `cmd:"" help:"Forget a provider and its key."`
	SignIn providersSignIn `cmd:"" help:"Connect OpenAI by signing in with a subscription instead of a key."`
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
		rows = append(rows, []string{p.Name, p.Type, key, when(p.UpdatedAt), fared(&p)})
	}
	return a.table("No provider is connected. `loam providers set --help` shows how.", []string{"NAME", "TYPE", "KEY", "UPDATED", "LAST"}, rows)
}

// fared says what a provider did when it was asked last.
func fared(p *wire.ProviderInfo) string {
	switch {
	case p.LastErrorAt > p.LastSuccessAt:
		return "failed " + when(p.LastErrorAt) + ": " + p.LastError
	case p.LastSuccessAt > 0:
		return "answered " + when(p.LastSuccessAt)
	}
	return "not asked yet"
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

// Run stores the key, then the provider that refers to it, asks it for its models, and switches an agent when asked to.
// What is wrong with the flags, or the agent, is said before anything is saved.
func (c *providersSet) Run(ctx context.Context, a *app) error {
	secret, err := c.check(a)
	if err != nil {
		return exitcode.With(exitcode.Usage, err)
	}
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	var agent wire.AgentInfo
	if c.UseFor != "" {
		if agent, err = findAgent(ctx, cl, c.UseFor); err != nil {
			return err
		}
	}
	if err := c.store(ctx, cl, secret); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(a.out, "saved "+printable(c.Name)); err != nil {
		return err
	}
	models, err := c.try(ctx, a, cl)
	if err != nil {
		return err
	}
	return c.use(ctx, a, cl, agent, models)
}

// needsKey tells by type whether a provider is of no use without a key.
func needsKey() map[string]bool {
	out := map[string]bool{}
	for _, t := range provider.Types() {
		out[t.Name] = t.NeedsKey
	}
	return out
}

func (c *providersSet) kind() string {
	if c.Type != "" {
		return c.Type
	}
	return c.Name
}

// check finds what is wrong with the flags and returns the provider's key.
func (c *providersSet) check(a *app) (secret string, err error) {
	if c.Model != "" && c.UseFor == "" {
		return "", errors.New("--model says what --use-for AGENT shall use")
	}
	if c.Key != "" {
		// The value may be a provider's key, so it is not repeated.
		if _, err := os.Stat(c.Key); err != nil {
			return "", errors.New("--key (LOAM_KEY) names the file that signs this command, and there is no such file; the provider's key comes with --key-env VARIABLE or --key-stdin")
		}
	}
	types := needsKey()
	needs, known := types[c.kind()]
	if !known {
		return "", fmt.Errorf("there is no type of provider %q; give --type one of %s", c.kind(), strings.Join(slices.Sorted(maps.Keys(types)), ", "))
	}
	if c.kind() == provider.Custom && c.BaseURL == "" {
		return "", errors.New("a custom provider needs its address: --base-url https://host/v1")
	}
	if needs && c.KeyEnv == "" && !c.KeyStdin {
		return "", fmt.Errorf("%s needs a key: name the variable that holds it with --key-env VARIABLE, or give it to standard input with --key-stdin", c.kind())
	}
	return c.secret(a)
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
	provider := map[string]any{"type": c.kind()}
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

// tryTimeout bounds the first question to a provider.
const tryTimeout = 10 * time.Second

// try asks the provider for its models. When it does not answer, that is a warning: what was saved may be right all the same.
func (c *providersSet) try(ctx context.Context, a *app, cl *client.Client) ([]wire.ModelRef, error) {
	short, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	models, err := listModels(short, cl, c.Name)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		_, err = fmt.Fprintln(a.err, "loam: saved, but the provider did not answer: "+printable(cause(err)))
		return nil, err
	}
	_, err = fmt.Fprintln(a.out, "connected: "+count(len(models), "model"))
	return models, err
}

// use switches the agent that --use-for names, or tells how.
func (c *providersSet) use(ctx context.Context, a *app, cl *client.Client, agent wire.AgentInfo, models []wire.ModelRef) error {
	if c.UseFor == "" {
		_, err := fmt.Fprintf(a.out, "To use it:  loam agents set AGENT --provider %s --model MODEL   (`loam providers models %s` lists models)\n",
			quoted(c.Name), quoted(c.Name))
		return err
	}
	chosen := c.Model
	if chosen == "" {
		if len(models) == 0 {
			_, err := fmt.Fprintf(a.err, "loam: %s was not switched, since no model is known; choose one with --model\n", printable(agent.Definition.Name))
			return err
		}
		chosen = models[0].ID
	}
	_, err := changeAgent(ctx, cl, agent, func(fields map[string]any) {
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
	models, err := modelsOf(ctx, cl, c.Name)
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

// modelsOf is listModels of a provider whose name a person typed.
func modelsOf(ctx context.Context, cl *client.Client, name string) ([]wire.ModelRef, error) {
	models, err := listModels(ctx, cl, name)
	return models, namedProvider(ctx, cl, name, err)
}

// namedProvider adds to an error which provider was probably meant, when there is none of the name.
func namedProvider(ctx context.Context, cl *client.Client, name string, err error) error {
	if refused, ok := errors.AsType[*client.Error](err); !ok || refused.Status != http.StatusNotFound {
		return err
	}
	reply, listErr := client.Call[wire.ListModelProvidersResponse](ctx, cl, "ListModelProviders", nil)
	if listErr != nil {
		return err
	}
	var names []string
	for _, p := range reply.Providers {
		names = append(names, p.Name)
	}
	return fmt.Errorf("there is no provider %q%s; `loam providers` lists them", name, didYouMean(name, names))
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
	models, err := modelsOf(ctx, cl, c.Name)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s answers and offers %s\n", printable(c.Name), count(len(models), "model"))
	return err
}

type providersDelete struct {
	connection
	sure
	Name string `arg:"" help:"Name of the provider."`
}

// Run forgets a provider, after it has said which agents then have none.
func (c *providersDelete) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	agents, err := listAgents(ctx, cl)
	if err != nil {
		return err
	}
	var users []string
	for _, agent := range agents {
		if agent.Definition.ModelProvider == c.Name {
			users = append(users, agent.Definition.Name)
		}
	}
	what := "the provider " + c.Name + " and its key"
	if len(users) > 0 {
		what += ", which " + strings.Join(users, ", ") + " can no longer use then"
	}
	if err := c.confirm(a, what); err != nil {
		return err
	}
	if _, err := client.Call[wire.NameResponse](ctx, cl, "DeleteModelProvider", wire.NameRequest{Name: c.Name}); err != nil {
		return namedProvider(ctx, cl, c.Name, err)
	}
	text := "deleted " + c.Name
	if len(users) > 0 {
		text += "; without a provider now: " + strings.Join(users, ", ")
	}
	_, err = fmt.Fprintln(a.out, printable(text))
	return err
}
