package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/wire"
)

type secretsCommand struct {
	List   secretsList   `cmd:"" default:"withargs" help:"List the names of secrets; no command shows their values."`
	Set    secretsSet    `cmd:"" help:"Store a secret, read from standard input; a terminal does not show it."`
	Delete secretsDelete `cmd:"" help:"Delete a secret."`
}

type secretsList struct {
	connection
	JSON bool `help:"Print JSON."`
}

// Run lists the names of secrets.
func (c *secretsList) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	reply, err := client.Call[wire.SecretsResponse](ctx, cl, "ListSecrets", nil)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(append([]wire.SecretInfo{}, reply.Secrets...))
	}
	var rows [][]string
	for _, s := range reply.Secrets {
		rows = append(rows, []string{s.Name, when(s.CreatedAt), when(s.UpdatedAt)})
	}
	return a.table("There are no secrets.", []string{"NAME", "CREATED", "UPDATED"}, rows)
}

type secretsSet struct {
	connection
	Name    string `arg:"" help:"Name of the secret."`
	FromEnv string `help:"Take the value from this environment variable instead of standard input." placeholder:"VARIABLE"`
}

// Run stores a secret. Its value is never an argument, which other users of the machine could read.
func (c *secretsSet) Run(ctx context.Context, a *app) error {
	value, err := c.value(a)
	if err != nil {
		return exitcode.With(exitcode.Usage, err)
	}
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	reply, err := client.Call[wire.SecretResponse](ctx, cl, "SetSecret", wire.SetSecretRequest{Name: c.Name, Value: []byte(value)})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.out, "saved "+printable(reply.Secret.Name))
	return err
}

func (c *secretsSet) value(a *app) (string, error) {
	if c.FromEnv == "" {
		return readSecret(a)
	}
	value, _ := a.lookup(c.FromEnv)
	if value = strings.TrimSpace(value); value == "" {
		return "", errors.New("the environment variable " + c.FromEnv + " is empty")
	}
	return value, nil
}

type secretsDelete struct {
	connection
	sure
	Name string `arg:"" help:"Name of the secret."`
}

// Run deletes a secret.
func (c *secretsDelete) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	if err := c.confirm(a, "the secret "+c.Name); err != nil {
		return err
	}
	if _, err := cl.Do(ctx, map[string]any{"_": "DeleteSecret", "name": c.Name}); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.out, "deleted "+printable(c.Name))
	return err
}
