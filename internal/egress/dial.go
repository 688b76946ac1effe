package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
)

func (e *Egress) dialAgent(ctx context.Context, network, address string) (net.Conn, error) {
	return e.dial(ctx, network, address, Public)
}

func (e *Egress) dialOperator(ctx context.Context, network, address string) (net.Conn, error) {
	return e.dial(ctx, network, address, operable)
}

// dial resolves once, checks every answer, and connects to the answers themselves: no second lookup can change them.
func (e *Egress) dial(ctx context.Context, network, address string, permitted func(netip.Addr) bool) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, DialTimeout)
	defer cancel()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("split the address: %w", err)
	}
	if e.allowed(host, port) {
		permitted = netip.Addr.IsValid
	}
	addrs, err := e.resolve(ctx, canonicalHost(host))
	if err != nil {
		return nil, err
	}
	where := net.JoinHostPort(canonicalHost(host), port)
	for _, a := range addrs {
		if !permitted(a) {
			return nil, refuseAddress(where)
		}
	}
	return e.connect(ctx, network, port, addrs, func(actual string) error {
		ap, err := netip.ParseAddrPort(actual)
		if err != nil || !permitted(ap.Addr()) {
			return refuseAddress(where)
		}
		return nil
	})
}

// refuseAddress does not say which address it was: a refusal must not map an internal network for whoever asks.
func refuseAddress(where string) error {
	return refuse(RuleAddress, where, "%s is not on the public internet, or not only%s", where, exception(where))
}

func (e *Egress) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	addrs, err := e.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", host, err)
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("look up %s: no address", host)
	}
	// IPv4 first: where IPv6 has no route its attempt fails at once and costs nothing, but where it is silently dropped the
	// whole dial timeout would go into it.
	slices.SortStableFunc(addrs, func(a, b netip.Addr) int { return a.Unmap().BitLen() - b.Unmap().BitLen() })
	return addrs, nil
}

// connect tries the addresses in order. verify sees the address of each socket right before it connects.
func (e *Egress) connect(ctx context.Context, network, port string, addrs []netip.Addr, verify func(string) error) (net.Conn, error) {
	dial := e.dialer
	if dial == nil {
		d := net.Dialer{ControlContext: func(_ context.Context, _, actual string, _ syscall.RawConn) error { return verify(actual) }}
		dial = d.DialContext
	}
	var failed error
	for _, a := range addrs {
		conn, err := dial(ctx, network, net.JoinHostPort(a.Unmap().String(), port))
		if err == nil {
			return conn, nil
		}
		failed = err
	}
	return nil, failed
}
