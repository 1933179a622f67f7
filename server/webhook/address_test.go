package webhook

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"127.0.0.1", "127.8.8.8", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "0.1.2.3",
		"224.0.0.1", "239.1.1.1", "255.255.255.255", "240.0.0.1", "192.0.0.8", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
		"::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12:3456::1", "fec0::1", "ff02::1", "100::1", "2001:db8::1", "2001::1",
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1",
		"2002:7f00:1::1", "2002:0a00:1::",
	} {
		if err := (Target{}).mayConnect(netip.MustParseAddr(bad)); err == nil {
			t.Errorf("%s is allowed", bad)
		} else if err := (Target{AllowPrivate: true}).mayConnect(netip.MustParseAddr(bad)); err != nil {
			t.Errorf("%s where all are allowed: %v", bad, err)
		}
	}
	for _, good := range []string{
		"8.8.8.8", "1.1.1.1", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "192.0.1.1", "223.255.255.255", "128.0.0.1",
		"2606:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:0808:0808::1",
	} {
		if err := (Target{}).mayConnect(netip.MustParseAddr(good)); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	some := Target{Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/8")}}
	for addr, want := range map[string]bool{"10.1.2.3": true, "::ffff:10.1.2.3": true, "64:ff9b::10.1.2.3": true, "fd00::7": true, "10.2.0.1": false, "127.0.0.1": false, "fc00::1": false} {
		if err := some.mayConnect(netip.MustParseAddr(addr)); (err == nil) != want {
			t.Errorf("%s, where some are allowed: %v", addr, err)
		}
	}
}

// A name that means an address which is not allowed is found out when the connection is made: not even that is made.
func TestNamesOfPrivateAddresses(t *testing.T) {
	t.Parallel()
	r := receive(t, nil)
	_, port, err := net.SplitHostPort(r.Listener.Addr().String())
	must.Do(t, err)
	notAllowed := func(t *Target) { t.AllowPrivate, t.AllowHTTP = false, true }
	l, _ := listenerTo(t, "http://localhost:"+port, notAllowed)
	became(t, l, message.HandedBack, "no connection", "of this machine", "allow private addresses")
	if n := r.accepted.Load(); n > 0 {
		t.Fatalf("%d connections were made", n)
	}
	l, _ = listenerTo(t, "http://localhost:"+port, notAllowed, func(t *Target) { t.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	became(t, l, message.Done)
}

// One that the URL itself has is refused at once, however it is written.
func TestPrivateAddressesInURLs(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.1", "10.0.0.1:8443", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:a00:1]:8443", "[64:ff9b::a00:1]", "169.254.169.254"} {
		err := Target{Topic: good().Topic, URL: "https://" + host + "/hush", Secrets: []string{secret}}.Check()
		if err == nil {
			t.Errorf("%s is allowed", host)
			continue
		}
		has(t, err.Error(), "URL", strings.ToLower(host), "allow private addresses")
		if strings.Contains(err.Error(), "hush") {
			t.Errorf("%q shows the path", err)
		}
	}
	// These are no addresses to a parser, but to some resolvers: then the check of the connection counts.
	for _, host := range []string{"2130706433", "0x7f.1", "127.1", "017700000001"} {
		l, _ := listenerTo(t, "http://"+host+":1", func(t *Target) { t.AllowPrivate, t.AllowHTTP = false, true })
		became(t, l, message.HandedBack, "no connection")
	}
}
