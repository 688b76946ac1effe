// Package origin decides which names a server answers to and which pages may make a browser act.
//
// A browser sends its cookie wherever a page makes it send requests, and a name that a stranger owns can be made to mean this
// machine (DNS rebinding). So what uses cookies answers under the server's own names alone, and takes changes from its own page
// alone (design §10.5).
//
// It is part of transport (tier 7) and imports fault. REST asks it, and the composition root for the page.
package origin

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/loam-agents/loam/internal/fault"
)

// Policy is what a server is called.
type Policy struct {
	hosts []string
	// base is where a person's browser reaches the server.
	base    *url.URL
	crossed *http.CrossOriginProtection
}

// New makes the policy of a server that listens on an address, HOST:PORT. publicURL is where other machines reach it, and may be
// empty. Both were checked before; what cannot be read as an address names nothing.
func New(publicURL, listen string) *Policy {
	p := &Policy{crossed: http.NewCrossOriginProtection()}
	host, port, _ := net.SplitHostPort(listen)
	if host != "" {
		p.hosts = append(p.hosts, strings.ToLower(host))
	}
	p.base = &url.URL{Scheme: "http", Host: net.JoinHostPort("localhost", port)}
	if u, err := url.Parse(publicURL); err == nil && u.Host != "" {
		p.base = &url.URL{Scheme: u.Scheme, Host: u.Host}
		p.hosts = append(p.hosts, strings.ToLower(u.Hostname()))
		// A proxy may hand on another Host than the browser's. The error is one of an origin that is none.
		_ = p.crossed.AddTrustedOrigin(p.Origin())
	}
	return p
}

// Origin is the origin of the page: the public URL's, or localhost's.
func (p *Policy) Origin() string { return p.base.String() }

// Host is the host of the page's origin, with its port if that is not the usual one.
func (p *Policy) Host() string { return p.base.Host }

// Name is the host name of the page, without a port.
func (p *Policy) Name() string { return p.base.Hostname() }

// Secure tells whether browsers reach the server through TLS.
func (p *Policy) Secure() bool { return p.base.Scheme == "https" }

// CheckHost refuses a request under a name that is neither the server's nor this machine's. Ports do not matter, since they may be
// forwarded.
func (p *Policy) CheckHost(r *http.Request) error {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "localhost" {
		return nil
	}
	for _, known := range p.hosts {
		if host == known {
			return nil
		}
	}
	if addr, err := netip.ParseAddr(host); err == nil && addr.Unmap().IsLoopback() {
		return nil
	}
	return &fault.Error{
		Code: fault.PermissionDenied, HTTPStatus: http.StatusMisdirectedRequest,
		Message: "This server does not answer under the name of this request: use " + p.Origin() + ", or set --public-url",
	}
}

// CheckSource refuses a change that a page of another origin made a browser ask for. Requests of programs, which say nothing of
// pages, pass.
func (p *Policy) CheckSource(r *http.Request) error {
	if err := p.crossed.Check(r); err != nil {
		return fault.Wrap(err, fault.PermissionDenied, "A page of another origin may not do this")
	}
	return nil
}
