package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loam-agents/loam/internal/buildinfo"
	"github.com/loam-agents/loam/internal/egress"
	"github.com/loam-agents/loam/internal/fault"
)

// link is an open connection to a server.
type link struct {
	session *sdk.ClientSession
	// gone is closed when the connection has ended, and end lets go of what it used.
	gone chan struct{}
	end  context.CancelFunc
}

// alive tells whether the connection can be used, as far as is known.
func (l *link) alive() bool {
	select {
	case <-l.gone:
		return false
	default:
		return true
	}
}

// close ends the connection and waits for what belongs to it.
func (l *link) close() {
	_ = l.session.Close() // The server may be gone; nobody is left to be told.
	l.end()
	<-l.gone
}

// dial opens a connection. changed is called, on a goroutine of the connection, when the server says that its tools changed.
func (m *Manager) dial(ctx context.Context, s *Server, changed func()) (*link, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "loam", Version: buildinfo.Version}, &sdk.ClientOptions{
		Capabilities:           &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed() },
	})
	transports, err := m.transports(ctx, s)
	if err != nil {
		return nil, err
	}
	var failed error
	for _, t := range transports {
		l, err := open(ctx, client, t)
		if err == nil {
			return l, nil
		}
		if failed = errors.Join(failed, err); ctx.Err() != nil || decided(err) {
			break
		}
	}
	return nil, failed
}

// open connects. The connection outlives ctx, which bounds the way there.
func open(ctx context.Context, client *sdk.Client, t sdk.Transport) (*link, error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	undo := context.AfterFunc(ctx, end)
	session, err := client.Connect(life, t, nil)
	if err != nil {
		end()
		return nil, errors.Join(ctx.Err(), err)
	}
	l := &link{session: session, gone: make(chan struct{}), end: end}
	go func() {
		_ = session.Wait() // Whatever ended it, the connection is gone.
		close(l.gone)
	}()
	if !undo() {
		l.close()
		return nil, ctx.Err()
	}
	return l, nil
}

// decided tells whether an error says that no other transport will do.
func decided(err error) bool {
	if errors.Is(err, errSignIn) {
		return true
	}
	f, ok := errors.AsType[*fault.Error](err)
	return ok && f.Code == fault.PermissionDenied
}

// transports are the ways to a server, in the order in which they are tried.
func (m *Manager) transports(ctx context.Context, s *Server) ([]sdk.Transport, error) {
	values, err := m.values(ctx, s)
	if err != nil {
		return nil, err
	}
	if len(s.Config.Command) > 0 {
		t, err := m.command(ctx, s, values)
		return []sdk.Transport{t}, err
	}
	client, err := m.client(ctx, s, values)
	if err != nil {
		return nil, err
	}
	streamable := &sdk.StreamableClientTransport{Endpoint: s.Config.URL, HTTPClient: client, MaxRetries: 2, MaxEventSize: MaxMessage}
	sse := &sdk.SSEClientTransport{Endpoint: s.Config.URL, HTTPClient: client, MaxEventSize: MaxMessage}
	switch s.Config.Transport {
	case TransportHTTP:
		return []sdk.Transport{streamable}, nil
	case TransportSSE:
		return []sdk.Transport{sse}, nil
	}
	return []sdk.Transport{streamable, sse}, nil
}

// values are the headers of a server, secret ones included.
func (m *Manager) values(ctx context.Context, s *Server) (map[string]string, error) {
	out := map[string]string{}
	for name, value := range s.Config.Headers {
		out[name] = value
	}
	for name, secret := range s.Config.SecretRefs {
		value, _, err := m.opts.Vault.Get(ctx, s.Account, secret)
		if fault.CodeOf(err) == fault.NotFound {
			return nil, fault.New(fault.PreconditionFailed, "The secret %q of the header %s does not exist", secret, name)
		}
		if err != nil {
			return nil, err
		}
		out[name] = strings.TrimSpace(string(value))
	}
	return out, nil
}

// client makes the HTTP client for one server.
func (m *Manager) client(ctx context.Context, s *Server, headers map[string]string) (*http.Client, error) {
	base := m.opts.Egress.Agent()
	trusted, err := m.trusts(ctx, s.Account)
	if err != nil {
		return nil, err
	}
	if trusted {
		if base, err = m.opts.Egress.Operator(s.Config.URL); err != nil {
			return nil, err
		}
	}
	u, err := url.Parse(s.Config.URL)
	if err != nil {
		return nil, fmt.Errorf("read the address of an MCP server: %w", err)
	}
	d := &door{base: base.Transport, origin: origin(u), headers: headers}
	if s.Config.Auth == AuthOAuth {
		d.bearer = func(ctx context.Context) (string, error) { return m.token(ctx, s) }
	}
	client := *base
	client.Transport = d
	return &client, nil
}

// door sends requests to the configured origin alone, with the server's headers, and bounds what comes back.
type door struct {
	base    http.RoundTripper
	origin  string
	headers map[string]string
	// bearer is the token of a server that wants a sign-in, nil for others.
	bearer func(ctx context.Context) (string, error)
}

func origin(u *url.URL) string { return strings.ToLower(u.Scheme + "://" + u.Host) }

// errSignIn says that a person has to sign in before the server answers.
var errSignIn = fault.New(fault.PreconditionFailed, "The server wants a person to sign in: start a sign-in for it")

// RoundTrip implements http.RoundTripper.
func (d *door) RoundTrip(req *http.Request) (*http.Response, error) {
	if origin(req.URL) != d.origin {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, fault.New(fault.PermissionDenied, "The MCP server led to another address, %s, which is not allowed", req.URL.Host)
	}
	req = req.Clone(req.Context())
	for name, value := range d.headers {
		req.Header.Set(name, value)
	}
	if d.bearer != nil {
		token, err := d.bearer(req.Context())
		if err != nil {
			if req.Body != nil {
				_ = req.Body.Close()
			}
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := d.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusUnauthorized {
		_ = res.Body.Close()
		if d.bearer != nil {
			return nil, errSignIn
		}
		return nil, fault.New(fault.PermissionDenied, "The server refused with HTTP 401: its key is missing or wrong, or it wants a sign-in (auth: oauth)")
	}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		res.Body = &boundedBody{ReadCloser: res.Body, left: MaxMessage}
	}
	return res, nil
}

// boundedBody fails when more comes than a message may have.
type boundedBody struct {
	io.ReadCloser
	left int64
}

var errTooLarge = fault.New(fault.TooLarge, "The server answered with more than %d MiB", MaxMessage>>20)

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// command starts a program that the operator allowed, for the owner of the server alone. Its environment is what the configuration says,
// and where programs are.
func (m *Manager) command(ctx context.Context, s *Server, values map[string]string) (sdk.Transport, error) {
	if err := m.MayRun(ctx, s.Account, s.Config.Command[0]); err != nil {
		return nil, err
	}
	cmd := exec.Command(s.Config.Command[0], s.Config.Command[1:]...)
	cmd.Env = []string{"PATH=" + m.opts.Path}
	for name, value := range values {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	slices.Sort(cmd.Env)
	return &sdk.CommandTransport{Command: cmd}, nil
}

// MayRun refuses a program that the operator did not allow, and everybody but the server's owner: a program runs with the rights of the
// server.
func (m *Manager) MayRun(ctx context.Context, account, program string) error {
	if len(m.opts.Commands) == 0 {
		return fault.New(fault.PermissionDenied, "This server runs no MCP commands; its operator can allow a program with --mcp-command")
	}
	if !slices.Contains(m.opts.Commands, program) {
		return fault.New(fault.PermissionDenied, "%.200q is not among the programs that the operator allows as MCP commands", program)
	}
	owned, err := m.owns(ctx, account)
	if err == nil && !owned {
		err = fault.New(fault.PermissionDenied, "Only the owner of this server may run MCP commands")
	}
	return err
}

// explain makes an error of the SDK one that the account may read.
func explain(err error, name string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.ProviderError, "The MCP server %s did not answer in time", name)
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		if f, ok := errors.AsType[*fault.Error](egress.Clean(urlErr)); ok {
			return f
		}
	}
	return fault.Wrap(err, fault.ProviderError, "The MCP server %s failed: %s", name, text(err.Error(), 300))
}
