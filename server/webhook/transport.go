package webhook

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Bounds of what a target can make this process hold, and wait for.
const (
	connectTimeout  = 10 * time.Second // and as long for the TLS handshake
	idleTimeout     = 30 * time.Second // of a connection that is kept for the next request
	longestHead     = 64 << 10         // of an answer
	longestBody     = 4 << 10          // that is read of one
	longestBodyLine = 200              // that people are shown
)

// newTransport makes the connections of a target. It is used as it is, by RoundTrip: an http.Client
// around it would follow redirects, and keep cookies.
func (t Target) newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: connectTimeout}
	x := &http.Transport{
		ForceAttemptHTTP2:      true,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: t.Roots},
		TLSHandshakeTimeout:    connectTimeout,
		MaxIdleConnsPerHost:    t.Concurrency,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: longestHead,
		DisableCompression:     true,
	}
	if t.Proxy == "" {
		dialer.ControlContext = t.control
	} else if u, err := url.Parse(t.Proxy); err == nil { // Check has parsed it
		x.Proxy = http.ProxyURL(u)
	}
	x.DialContext = dialer.DialContext
	return x
}
