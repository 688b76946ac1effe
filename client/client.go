package client

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

// DefaultMaxResponse is the largest answer or frame that a Client reads unless WithMaxResponse says otherwise, in bytes.
const DefaultMaxResponse = 64 << 20

// Client calls one server as one key, or with one token. Make it with New or NewWithToken.
type Client struct {
	base string
	// token and routes are set in a client that shows a token; key is nil there.
	token        string
	routes       map[string]route
	key          *principal.Key
	account      principal.ID
	capability   string
	proof        []byte
	http         *http.Client
	clock        Clock
	jitter       func() float64
	keepAlive    time.Duration
	maxResponse  int64
	plainHTTP    bool
	onDisconnect func(key string, err error, retryIn time.Duration)
	// signed is the timestamp of the last action.
	signed atomic.Int64
}

// Clock is where a Client takes time from.
type Clock interface {
	// Now is the time that actions are signed with.
	Now() time.Time
	// After returns a channel that receives once, d from now. Subscriptions wait on it before they reconnect.
	After(d time.Duration) <-chan time.Time
}

type systemClock struct{}

func (systemClock) Now() time.Time                         { return time.Now() }
func (systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Option changes what New makes.
type Option func(*Client)

// WithHTTPClient sends requests and opens sockets with h. Its redirect policy, timeouts and proxy are the caller's.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithAccount acts for an account that is not the key's own principal. The server must know the key as a signer of the
// account.
func WithAccount(account principal.ID) Option { return func(c *Client) { c.account = account } }

// WithCapability acts for the account that issued the capability, and sends the blob with each action as the proof.
func WithCapability(issuer principal.ID, blob []byte) Option {
	return func(c *Client) {
		c.account, c.capability, c.proof = issuer, dagcbor.Sum(blob).String(), blob
	}
}

// WithPlainHTTP permits a base URL with http that does not lead to this machine.
func WithPlainHTTP() Option { return func(c *Client) { c.plainHTTP = true } }

// WithClock replaces the system's clock.
func WithClock(clock Clock) Option { return func(c *Client) { c.clock = clock } }

// WithJitter replaces the source of randomness that spreads reconnections. It returns numbers in [0, 1).
func WithJitter(random func() float64) Option { return func(c *Client) { c.jitter = random } }

// WithKeepAlive sets how often a quiet socket is pinged, to find out that it is dead. The default is 30 seconds; zero
// or less never pings.
func WithKeepAlive(interval time.Duration) Option { return func(c *Client) { c.keepAlive = interval } }

// WithMaxResponse sets the largest answer or frame that is read, in bytes.
func WithMaxResponse(n int64) Option { return func(c *Client) { c.maxResponse = n } }

// WithOnDisconnect calls f whenever a subscription has lost, or did not get, its connection and will try again after
// retryIn. The call happens on the subscriber's goroutine.
func WithOnDisconnect(f func(key string, err error, retryIn time.Duration)) Option {
	return func(c *Client) { c.onDisconnect = f }
}

// New makes a client of the server at baseURL, such as https://agents.example.org; a trailing "/agents" is dropped. It
// connects to nothing yet.
func New(baseURL string, key *principal.Key, options ...Option) (*Client, error) {
	if key == nil {
		return nil, errors.New("client: a key is needed to sign actions")
	}
	return newClient(baseURL, &Client{key: key, account: key.ID()}, options)
}

// newClient gives a client that knows who it is the rest.
func newClient(baseURL string, c *Client, options []Option) (*Client, error) {
	c.clock, c.jitter, c.keepAlive, c.maxResponse = systemClock{}, rand.Float64, 30*time.Second, DefaultMaxResponse
	c.onDisconnect = func(string, error, time.Duration) {}
	for _, o := range options {
		o(c)
	}
	if c.http == nil {
		c.http = defaultHTTP()
	}
	base, err := checkURL(baseURL, c.plainHTTP)
	if err != nil {
		return nil, err
	}
	c.base = base
	return c, nil
}

// Account is the principal that the client acts for; the zero ID in a client with a token.
func (c *Client) Account() principal.ID { return c.account }

// defaultHTTP bounds every phase except the answer's body, whose length is bounded instead. An action may hold its answer
// back for a whole turn of an agent, so the wait for the header is long; callers shorten it with their context.
func defaultHTTP() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
			TLSHandshakeTimeout:   10 * time.Second,
			ResponseHeaderTimeout: 15 * time.Minute,
			IdleConnTimeout:       90 * time.Second,
			MaxIdleConnsPerHost:   8,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// checkURL returns the base to which paths are appended.
func checkURL(raw string, plainHTTP bool) (string, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil {
		return "", fmt.Errorf("client: server URL: %w", err)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return "", fmt.Errorf("client: server URL %q must begin with https:// or http://", raw)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("client: a server URL has no user, query or fragment")
	case u.Scheme == "http" && !plainHTTP && !loopback(u.Hostname()):
		return "", fmt.Errorf("client: %s is plain http outside this machine; use https", u.Host)
	}
	path := strings.TrimRight(u.Path, "/")
	path = strings.TrimRight(strings.TrimSuffix(path, wire.PathPrefix), "/")
	return u.Scheme + "://" + u.Host + path, nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
