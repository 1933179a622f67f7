package webhook

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"
)

// notPublic are the addresses that are not public, and what people call them. The special-purpose
// registries of IANA have them all.
var notPublic = []struct {
	netip.Prefix
	name string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "an address of no host"},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private address"},
	{netip.MustParsePrefix("100.64.0.0/10"), "an address of a provider's network"},
	{netip.MustParsePrefix("127.0.0.0/8"), "an address of this machine"},
	{netip.MustParsePrefix("169.254.0.0/16"), "an address of the local link"},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private address"},
	{netip.MustParsePrefix("192.0.0.0/24"), "a reserved address"},
	{netip.MustParsePrefix("192.0.2.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private address"},
	{netip.MustParsePrefix("198.18.0.0/15"), "an address for benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "an address of many hosts"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"},
	{netip.MustParsePrefix("::/128"), "an address of no host"},
	{netip.MustParsePrefix("::1/128"), "an address of this machine"},
	{netip.MustParsePrefix("::/96"), "a reserved address"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "a private address"},
	{netip.MustParsePrefix("100::/64"), "a reserved address"},
	{netip.MustParsePrefix("2001::/23"), "a reserved address"},
	{netip.MustParsePrefix("2001:db8::/32"), "an address for documentation"},
	{netip.MustParsePrefix("3fff::/20"), "an address for documentation"},
	{netip.MustParsePrefix("5f00::/16"), "a reserved address"},
	{netip.MustParsePrefix("fc00::/7"), "a private address"},
	{netip.MustParsePrefix("fe80::/10"), "an address of the local link"},
	{netip.MustParsePrefix("fec0::/10"), "a private address"},
	{netip.MustParsePrefix("ff00::/8"), "an address of many hosts"},
}

// Addresses of version 6 that stand for one of version 4, and where it is in them.
var embedding = []struct {
	netip.Prefix
	at int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, // NAT64
	{netip.MustParsePrefix("2002::/16"), 2},     // 6to4
}

// endOf is the address at which a connection to one ends.
func endOf(a netip.Addr) netip.Addr {
	a = a.WithZone("").Unmap()
	for _, e := range embedding {
		if e.Contains(a) {
			bytes := a.As16()
			return netip.AddrFrom4([4]byte(bytes[e.at : e.at+4]))
		}
	}
	return a
}

// mayConnect says why the target must not be at an address.
func (t Target) mayConnect(to netip.Addr) error {
	a := endOf(to)
	if t.AllowPrivate || slices.ContainsFunc(t.Allow, func(p netip.Prefix) bool { return p.Contains(a) || p.Contains(to) }) {
		return nil
	}
	for _, c := range notPublic {
		if c.Contains(a) {
			return &addressError{to, c.name}
		}
	}
	return nil
}

// addressError is an address that the target does not allow.
type addressError struct {
	addr netip.Addr
	name string
}

func (e *addressError) Error() string {
	return fmt.Sprintf("%s is %s: allow private addresses for this target, if that is meant", e.addr, e.name)
}

// control is called for each address of a name, before a connection is made to it. So it does not
// matter which addresses the name had before.
func (t Target) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%q is no address: %w", address, err)
	}
	return t.mayConnect(to.Addr())
}

// loopback reports whether a host of a URL is this machine itself.
func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && a.Unmap().IsLoopback()
}
