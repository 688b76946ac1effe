package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/principal"
)

// tutorProvider is the type, and the first name, of the provider of the built-in model.
const tutorProvider = "tutor"

// helloTimeout bounds the question whether a server answers.
const helloTimeout = 5 * time.Second

// connection says which server a client command talks to, and as whom.
type connection struct {
	URL string `help:"Address of the server; the one that runs on the data folder when not set." placeholder:"URL" env:"LOAM_URL"`
	Key string `help:"File with the key to sign with; the owner's when not set." placeholder:"FILE" env:"LOAM_KEY"`
}

// address is where a server is expected.
func (c *connection) address(a *app) string {
	if c.URL != "" {
		return c.URL
	}
	if running, ok := addressFile(a.data).read(); ok {
		return running.URL
	}
	return "http://" + server.DefaultListen
}

// open returns a client of a server that answers.
func (c *connection) open(ctx context.Context, a *app, options ...client.Option) (*client.Client, error) {
	url := c.address(a)
	if err := reach(ctx, url); err != nil {
		return nil, err
	}
	key, err := c.signer(a)
	if err != nil {
		return nil, err
	}
	return client.New(url, key, options...)
}

// reach tells whether a server answers at url.
func reach(ctx context.Context, url string) error {
	// The question is not signed, but a client has a key.
	nobody, err := principal.Generate(nil)
	if err != nil {
		return err
	}
	c, err := client.New(url, nobody)
	if err != nil {
		return exitcode.With(exitcode.Usage, err)
	}
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	if _, err := c.Health(ctx); err != nil {
		return exitcode.With(exitcode.ServerUnreachable, fmt.Errorf(
			"no Loam server answers at %s (%s); start one with `loam serve`, or name it with --url", url, cause(err)))
	}
	return nil
}

// cause is the innermost reason of a failed connection, such as "connection refused".
func cause(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		var call *os.SyscallError
		if errors.As(op.Err, &call) {
			return call.Err.Error()
		}
		return op.Err.Error()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	return err.Error()
}

func (c *connection) signer(a *app) (*principal.Key, error) {
	if c.Key != "" {
		key, err := principal.LoadKey(c.Key)
		if err != nil {
			return nil, fmt.Errorf("read the key: %w", err)
		}
		return key, nil
	}
	key, err := server.OwnerKey(a.data)
	if errors.Is(err, os.ErrNotExist) {
		return nil, exitcode.With(exitcode.NotAuthorized, fmt.Errorf(
			"there is no owner's key in %s; name the server's data folder with --data, or a key file with --key", a.data))
	}
	return key, err
}
