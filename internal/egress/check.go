package egress

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/loam-agents/loam/internal/fault"
)

// The rules that a refusal names in Details["rule"].
const (
	// RuleScheme: only http and https.
	RuleScheme = "scheme"
	// RuleUserinfo: no user name or password inside a URL.
	RuleUserinfo = "userinfo"
	// RuleHost: no host, or an address in a spelling that programs read differently.
	RuleHost = "host"
	// RulePort: a port that agents may not use.
	RulePort = "port"
	// RuleAddress: an address that is not public (or, for an operator's address, link-local or multicast).
	RuleAddress = "address"
	// RuleRedirects: too many redirects.
	RuleRedirects = "redirects"
	// RuleOrigin: an operator's address led to another origin.
	RuleOrigin = "origin"
	// RuleAgentsOff: the operator switched network access of agents off.
	RuleAgentsOff = "agents_off"
)

const minHighPort = 1024

// refuse makes the error of a rule. host is HOST:PORT, without path and query.
func refuse(rule, host, format string, args ...any) *fault.Error {
	return fault.New(fault.PermissionDenied, format, args...).With("rule", rule).With("host", host)
}

// exception is the sentence that says what an operator can do.
func exception(host string) string { return "; an operator can allow it with --egress-allow " + host }

// checkShape holds for both classes: what a URL may look like at all.
func checkShape(u *url.URL) error {
	host := canonicalHost(u.Hostname())
	switch s := strings.ToLower(u.Scheme); {
	case s != "http" && s != "https":
		return fault.Invalid("Only http and https addresses can be fetched").With("rule", RuleScheme)
	case u.User != nil:
		return fault.Invalid("A user name or password inside an address is not allowed").With("rule", RuleUserinfo)
	case host == "" || strings.ContainsAny(host, "%/\\ \t\r\n"):
		return fault.Invalid("The address has no usable host").With("rule", RuleHost)
	}
	if _, err := netip.ParseAddr(host); err != nil && endsInNumber(host) {
		return fault.Invalid("The host %s is an unusual spelling of an IP address; write it as four decimal numbers", host).With("rule", RuleHost)
	}
	return nil
}

// checkAgent is what can be said of an agent's URL before its name is resolved.
func (e *Egress) checkAgent(u *url.URL) error {
	if err := checkShape(u); err != nil {
		return err
	}
	where := hostPort(u)
	if e.allowed(u.Hostname(), portOf(u)) {
		return nil
	}
	if e.agentsOff {
		return refuse(RuleAgentsOff, where, "Agents have no network access on this server%s", exception(where))
	}
	port, err := strconv.ParseUint(portOf(u), 10, 16)
	if err != nil || (port < minHighPort && port != 80 && port != 443) {
		return refuse(RulePort, where, "Port %s is not allowed: agents may use 80, 443 and 1024 and above%s", portOf(u), exception(where))
	}
	return nil
}
