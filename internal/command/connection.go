package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/principal"
)

// tutorProvider is the type, and the first name, of the provider of the built-in model.
const tutorProvider = "tutor"

// helloTimeout bounds the question whether a server answers.
const helloTimeout = 15 * time.Second

// connection says which server a client command talks to, and as whom.
type connection struct {
	URL string `help:"Address of the server; the one that runs on the data folder when not set." placeholder:"URL" env:"LOAM_URL"`
	Key string `help:"File with the key to sign with; the owner's when not set." placeholder:"FILE" env:"LOAM_KEY"`
}

// running is the address of the server that runs on the data folder and answers; ok is false when there is none.
func (a *app) running(ctx context.Context) (url string, ok bool) {
	known, ok := addressFile(a.data).read()
	return known.URL, ok && reach(ctx, known.URL) == nil
}

// server is the address of the server to talk to: the one that was named, else that of the data folder. The owner's key of a
// folder is never offered to another server that happens to listen where this one would.
func (c *connection) server(ctx context.Context, a *app) (string, error) {
	if c.URL != "" {
		return c.URL, reach(ctx, c.URL)
	}
	if url, ok := a.running(ctx); ok {
		return url, nil
	}
	return "", exitcode.With(exitcode.ServerUnreachable, errors.New(a.noServer(ctx)))
}

// noServer says that none runs on the data folder, and whether another Loam may have been meant.
func (a *app) noServer(ctx context.Context) string {
	text := "no server runs on " + a.data + "; start one with `loam serve" + a.dataFlag() + "`"
	listen := server.DefaultListen
	if serve, err := a.newServe(); err == nil {
		listen = serve.Listen
	}
	if other := localURL(listen); reach(ctx, other) == nil {
		text += "; another Loam answers on " + other + ": use --url to mean that one"
	}
	return text
}

// dataFlag is what to add to a command for the present data folder.
func (a *app) dataFlag() string {
	if a.data == server.DefaultDataDir {
		return ""
	}
	return " --data " + quoted(a.data)
}

// open returns a client of a server that answers.
func (c *connection) open(ctx context.Context, a *app, options ...client.Option) (*client.Client, error) {
	url, err := c.server(ctx, a)
	if err != nil {
		return nil, err
	}
	if token, _ := a.lookup(tokenVariable); token != "" && c.Key == "" {
		cl, err := client.NewWithToken(url, strings.TrimSpace(token), options...)
		return cl, exitcode.With(exitcode.Usage, err)
	}
	key, err := c.signer(a)
	if err != nil {
		return nil, err
	}
	return client.New(url, key, options...)
}

// tokenVariable holds a token to act with instead of a key. It is no flag: other users of a machine can read command lines.
const tokenVariable = "LOAM_TOKEN"

// reach tells whether a server answers at url.
func reach(ctx context.Context, url string) error {
	// The question is not signed, but a client has a key.
	nobody, err := principal.Generate(nil)
	if err != nil {
		return err
	}
	if url, err = checkServerURL(url); err != nil {
		return exitcode.With(exitcode.Usage, err)
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

// checkServerURL refuses an address without a scheme, the commonest slip, and says what to write instead.
func checkServerURL(address string) (string, error) {
	if strings.HasPrefix(address, "http://") || strings.HasPrefix(address, "https://") {
		return address, nil
	}
	if strings.Contains(address, "://") {
		return "", fmt.Errorf("the address of the server is %q: it must begin with http:// or https://", address)
	}
	return "", fmt.Errorf("the address of the server is %q: write http://%s", address, address)
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
