package egress

import (
	"net/netip"
	"strings"
)

// notPublic lists what the properties of package netip do not cover: shared address space, protocol assignments,
// documentation, benchmarking, deprecated relays and reserved ranges (the IANA special-purpose registries).
var notPublic = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
	"203.0.113.0/24", "240.0.0.0/4",
	// 2001::/23 holds Teredo, benchmarking and ORCHID; a Teredo address embeds two IPv4 addresses and nobody uses it.
	"2001::/23", "2001:db8::/32", "3fff::/20",
)

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	sixToFour     = netip.MustParsePrefix("2002::/16")
	nat64         = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, p := range list {
		out[i] = netip.MustParsePrefix(p)
	}
	return out
}

// Public tells whether a is an address of the public internet: not loopback, private, link-local, shared (100.64.0.0/10),
// multicast, unspecified, unique local, reserved or for documentation. IPv4 inside IPv6 (mapped, 6to4, NAT64) is judged by
// the inner address; Teredo and addresses with a zone are never public.
func Public(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	if inner, ok := embedded(a); ok {
		return Public(inner)
	}
	if a.IsUnspecified() || a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsMulticast() {
		return false
	}
	if a.Is6() && !globalUnicast.Contains(a) {
		return false
	}
	for _, p := range notPublic {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// operable tells whether an operator's address may be used without an exception. Link-local addresses are where clouds
// keep their metadata and nobody serves models there.
func operable(a netip.Addr) bool {
	if !a.IsValid() {
		return false
	}
	a = a.Unmap()
	if inner, ok := embedded(a); ok {
		return operable(inner)
	}
	return !a.IsLinkLocalUnicast() && !a.IsMulticast()
}

// embedded is the IPv4 address that a gateway would deliver to.
func embedded(a netip.Addr) (netip.Addr, bool) {
	b := a.As16()
	switch {
	case !a.Is6():
		return netip.Addr{}, false
	case sixToFour.Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	case nat64.Contains(a):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	}
	return netip.Addr{}, false
}

// endsInNumber tells whether some program would read host as an IPv4 address (the last label is a number), though it is
// not one in the only spelling accepted here: four decimal numbers.
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}
