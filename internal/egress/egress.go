// Package egress is the one way out: every outgoing HTTP request of the server goes through a client of this package.
//
// There are two classes (design §10.2):
//
//   - Agent: an address that a model, a document or a web page may have chosen. Only public addresses, over http or https, on
//     the ports 80, 443 and 1024 and above. The name is resolved once for each connection, every answer is checked, the
//     connection is made to a checked address, and the address that the kernel is about to connect to is checked again, so a
//     name that changes its answer finds nothing to bite. At most five redirects, each checked like the first request; only
//     harmless headers follow one to another origin.
//   - Operator: an address that stands in the server's configuration or was set by its owner. Private addresses are fine,
//     link-local (cloud metadata) and multicast ones are not; the client reaches the configured origin alone, and a redirect
//     elsewhere is refused. Who may make an address operator class is the caller's decision, never a model's.
//
// Entries of Options.Allow (`--egress-allow HOST:PORT`) are exceptions from the address and port rules of both classes. They
// match the host as it is written in the URL, not what it resolves to.
//
// No proxy of the environment is used. Streams are bounded by an idle timeout, never by a total one; a total bound is the
// caller's context. Refusals are *fault.Error that name the rule in Details["rule"]; no error of Clean holds a URL's path or
// query, which may be secret.
//
// egress is tier 1 and calls only package fault. Whoever needs the network is handed an *http.Client by the composition root.
package egress

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/loam-agents/loam/internal/fault"
)

// Limits and timeouts of every client.
const (
	// MaxRedirects bounds the hops after the first request.
	MaxRedirects = 5
	// DialTimeout bounds resolving and connecting together, and TLSTimeout the handshake.
	DialTimeout = 10 * time.Second
	TLSTimeout  = 10 * time.Second
	// AgentHeaderTimeout and OperatorHeaderTimeout bound the wait for a response's header. A local model may have to be
	// loaded before it answers.
	AgentHeaderTimeout    = 60 * time.Second
	OperatorHeaderTimeout = 10 * time.Minute
	// AgentIdleTimeout and OperatorIdleTimeout bound the silence inside a response body.
	AgentIdleTimeout    = 60 * time.Second
	OperatorIdleTimeout = 5 * time.Minute
)

// Resolver looks names up; *net.Resolver is one.
type Resolver interface {
	// LookupNetIP returns the addresses of host; network is "ip".
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options configures New. The zero value is the default policy without exceptions.
type Options struct {
	// Allow lists exceptions as HOST:PORT, such as "127.0.0.1:8080" or "[::1]:9000".
	Allow []string
	// AgentsOff refuses everything of class Agent that is not in Allow (the operator switch `egress.agents: off`).
	AgentsOff bool
	// Resolver replaces the system's resolver.
	Resolver Resolver
	// Dial replaces the connection to a checked literal address, for tests that need a public one. Nil connects.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// IdleTimeout replaces the idle timeouts of both classes when it is not zero.
	IdleTimeout time.Duration
}

// Egress makes the clients. It is safe for concurrent use.
type Egress struct {
	allow     map[string]bool
	agentsOff bool
	resolver  Resolver
	dialer    func(ctx context.Context, network, address string) (net.Conn, error)
	idle      time.Duration

	agentTransport    *http.Transport
	operatorTransport *http.Transport
	agent             *http.Client
}

// New returns an Egress. It fails when an entry of Allow is not HOST:PORT.
func New(o Options) (*Egress, error) {
	e := &Egress{allow: map[string]bool{}, agentsOff: o.AgentsOff, resolver: o.Resolver, dialer: o.Dial, idle: o.IdleTimeout}
	for _, entry := range o.Allow {
		host, port, err := net.SplitHostPort(entry)
		if err != nil || host == "" || port == "" {
			return nil, fault.Invalid("--egress-allow %q is not HOST:PORT", entry)
		}
		e.allow[net.JoinHostPort(canonicalHost(host), port)] = true
	}
	if e.resolver == nil {
		e.resolver = net.DefaultResolver
	}
	e.agentTransport = e.transport(e.dialAgent, AgentHeaderTimeout)
	e.operatorTransport = e.transport(e.dialOperator, OperatorHeaderTimeout)
	e.agent = e.client(e.agentTransport, e.checkAgent, AgentIdleTimeout)
	return e, nil
}

// Agent is the client for addresses that the server's operator did not choose.
func (e *Egress) Agent() *http.Client { return e.agent }

// Operator is a client for the origin (scheme, host and port) of baseURL alone. The caller vouches that an operator chose the
// address. It fails with a validation error when baseURL is not an absolute http or https URL, or carries user information.
func (e *Egress) Operator(baseURL string) (*http.Client, error) {
	u, err := url.Parse(baseURL)
	if err != nil {
		return nil, fault.Invalid("The base URL is not a URL")
	}
	if err := checkShape(u); err != nil {
		return nil, err
	}
	granted := originOf(u)
	check := func(u *url.URL) error {
		if err := checkShape(u); err != nil {
			return err
		}
		if originOf(u) != granted {
			return refuse(RuleOrigin, hostPort(u), "The configured address %s led to another one, %s, which is not allowed", granted.address(), hostPort(u))
		}
		return nil
	}
	return e.client(e.operatorTransport, check, OperatorIdleTimeout), nil
}

// Close closes idle connections. Clients stay usable.
func (e *Egress) Close() {
	e.agentTransport.CloseIdleConnections()
	e.operatorTransport.CloseIdleConnections()
}

func (e *Egress) transport(dial func(context.Context, string, string) (net.Conn, error), header time.Duration) *http.Transport {
	return &http.Transport{
		Proxy:                 nil,
		DialContext:           dial,
		ForceAttemptHTTP2:     true,
		TLSHandshakeTimeout:   TLSTimeout,
		ResponseHeaderTimeout: header,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConns:          256,
		// Every worker may ask the same provider at once, and should find its connection again.
		MaxIdleConnsPerHost: 64,
		// A prompt goes out in few writes.
		WriteBufferSize:        64 << 10,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

func (e *Egress) client(t *http.Transport, check func(*url.URL) error, idle time.Duration) *http.Client {
	if e.idle > 0 {
		idle = e.idle
	}
	return &http.Client{Transport: &guard{base: t, check: check, idle: idle}, CheckRedirect: checkRedirect}
}

func (e *Egress) allowed(host, port string) bool {
	return e.allow[net.JoinHostPort(canonicalHost(host), port)]
}

// canonicalHost folds the spellings of one host: case, brackets, a trailing dot, and the forms of an IP address.
func canonicalHost(host string) string {
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().String()
	}
	return host
}

// origin is what an operator grants.
type origin struct{ scheme, host, port string }

func (o origin) address() string {
	return fmt.Sprintf("%s://%s", o.scheme, net.JoinHostPort(o.host, o.port))
}

func originOf(u *url.URL) origin {
	return origin{scheme: strings.ToLower(u.Scheme), host: canonicalHost(u.Hostname()), port: portOf(u)}
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if strings.EqualFold(u.Scheme, "https") {
		return "443"
	}
	return "80"
}

func hostPort(u *url.URL) string { return net.JoinHostPort(canonicalHost(u.Hostname()), portOf(u)) }
