package egress

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"
)

// guard checks the URL of every hop, as the client sends each one through its transport, and watches over the body.
type guard struct {
	base  http.RoundTripper
	check func(*url.URL) error
	idle  time.Duration
}

// errIdle ends a request whose body went silent.
var errIdle = errors.New("egress: the response went silent")

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := g.check(req.URL); err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	res, err := g.base.RoundTrip(req.WithContext(ctx))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	body := &idleBody{ReadCloser: res.Body, cancel: cancel, idle: g.idle, cause: func() error { return context.Cause(ctx) }}
	if w, ok := res.Body.(io.Writer); ok && res.StatusCode == http.StatusSwitchingProtocols {
		// An upgraded connection is silent when nobody speaks; its user keeps it alive with its own means.
		body.idle = 0
		res.Body = struct {
			io.Writer
			*idleBody
		}{w, body}
		return res, nil
	}
	res.Body = body
	return res, nil
}

// idleBody ends the request when a read waits too long.
type idleBody struct {
	io.ReadCloser
	cause  func() error
	cancel context.CancelCauseFunc
	idle   time.Duration
}

// Read implements io.Reader.
func (b *idleBody) Read(p []byte) (int, error) {
	if b.idle > 0 {
		timer := time.AfterFunc(b.idle, func() { b.cancel(errIdle) })
		defer timer.Stop()
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && errors.Is(b.cause(), errIdle) {
		return n, errIdle
	}
	return n, err
}

// Close implements io.Closer.
func (b *idleBody) Close() error {
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}

// harmless headers may follow a redirect to another origin; whatever else was set may be a credential of the first one.
var harmless = map[string]bool{
	"Accept": true, "Accept-Language": true, "Accept-Encoding": true, "User-Agent": true, "Content-Type": true, "Range": true,
}

func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > MaxRedirects {
		return refuse(RuleRedirects, hostPort(req.URL), "The address redirects more than %d times", MaxRedirects)
	}
	if originOf(req.URL) == originOf(via[0].URL) {
		return nil
	}
	for name := range req.Header {
		if !harmless[name] {
			req.Header.Del(name)
		}
	}
	return nil
}
