package egress_test

import (
	"net/netip"
	"testing"

	"github.com/loam-agents/loam/internal/egress"
)

func TestPublic(t *testing.T) {
	t.Parallel()
	for _, a := range []string{
		"1.1.1.1", "93.184.216.34", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.0.1.1", "198.20.0.1", "223.255.255.255",
		"2606:4700:4700::1111", "2a00:1450::1", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2002:0101:0101::1", "2001:200::1",
	} {
		if !egress.Public(netip.MustParseAddr(a)) {
			t.Errorf("%s should be public", a)
		}
	}
	for _, a := range []string{
		"0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
		"169.254.169.254", "100.64.0.1", "100.127.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.19.255.255",
		"198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
		"::", "::1", "fe80::1", "fe80::1%eth0", "2606:4700::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "100::1", "2001:db8::1", "3fff::1",
		"2001::1", "2001:2::1", "2001:20::1", "4000::1",
		"::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::1",
		"2002:7f00:0001::1", "2002:a9fe:a9fe::1",
	} {
		if egress.Public(netip.MustParseAddr(a)) {
			t.Errorf("%s should not be public", a)
		}
	}
	if egress.Public(netip.Addr{}) {
		t.Error("no address should not be public")
	}
}

func FuzzPublic(f *testing.F) {
	f.Add([]byte{127, 0, 0, 1})
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1})
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, ok := netip.AddrFromSlice(raw)
		if !ok || !egress.Public(a) {
			return
		}
		u := a.Unmap()
		if u.IsPrivate() || u.IsLoopback() || u.IsLinkLocalUnicast() || u.IsMulticast() || u.IsUnspecified() {
			t.Fatalf("%s is public", a)
		}
		if u.Is4() && !egress.Public(netip.AddrFrom16(u.As16())) {
			t.Fatalf("%s and its mapped form differ", a)
		}
	})
}
