package webhook

import (
	"crypto/x509"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
)

// Target is where the messages of a topic go.
type Target struct {
	// Topic whose messages are sent on. Required.
	Topic rmq.Topic

	// URL of the POST requests. Required.
	URL string

	// Secrets that sign each request, all of them: "whsec_" and 24 to 64 random bytes in base64. To
	// change one, have the new beside the old until the receiver knows it. At least one.
	Secrets []string

	// Timeout of a request, with its answer. Up to an hour. Defaults to 30 s.
	Timeout time.Duration

	// Concurrency is how many requests are under way at once, to 10000. Defaults to 20.
	Concurrency int

	// ContentType of the bodies. Defaults to application/octet-stream.
	ContentType string

	// Headers of each request beside those of this package, such as Authorization. Defaults to none.
	Headers map[string]string

	// AllowHTTP allows a URL without TLS: everyone on the way can read the messages. Defaults to false.
	AllowHTTP bool

	// AllowPrivate allows connections to addresses that are not public, and http to this machine itself.
	// Defaults to false.
	AllowPrivate bool

	// Allow are such addresses that connections are allowed to. Defaults to none.
	Allow []netip.Prefix

	// Roots are the certificates that the target's is checked against. Defaults to those of the system.
	Roots *x509.CertPool

	// Proxy is the URL of a proxy for the requests. Then it is the proxy that resolves names and makes
	// connections, so the addresses of targets are its affair. Defaults to none, whatever the environment says.
	Proxy string

	// Backoff between the deliveries of a message that fails. Defaults to Exponential(5s, 4h): about 22
	// hours over the 16 retries.
	Backoff consumer.Backoff
}

const (
	defaultTimeout     = 30 * time.Second
	longestTimeout     = time.Hour
	defaultConcurrency = 20
	mostConcurrency    = 10_000
	defaultContentType = "application/octet-stream"
	firstRetry         = 5 * time.Second
	lastRetry          = 4 * time.Hour
)

func (t Target) withDefaults() Target {
	if t.Timeout == 0 {
		t.Timeout = defaultTimeout
	}
	if t.Concurrency == 0 {
		t.Concurrency = defaultConcurrency
	}
	if t.ContentType == "" {
		t.ContentType = defaultContentType
	}
	if t.Backoff == nil {
		t.Backoff = rmq.Exponential(firstRetry, lastRetry)
	}
	t.Headers, t.Allow = maps.Clone(t.Headers), slices.Clone(t.Allow)
	return t
}

// Check reports the first field that cannot be accepted, as an rmq.InvalidError. Of the Topic it looks at
// the Name only. It shows no secrets.
func (t Target) Check() error {
	name := rmq.Topic{Name: t.Topic.Name, Kind: rmq.KindPriority} // of any kind
	if err := name.Validate(); err != nil {
		return err
	}
	if err := t.checkURL(); err != nil {
		return err
	}
	if _, err := keysOf(t.Secrets); err != nil {
		return err
	}
	switch {
	case t.Timeout < 0 || t.Timeout > longestTimeout || t.Timeout > 0 && t.Timeout < time.Millisecond:
		return refuse("Timeout", t.Timeout, "1ms to 1h, or 0 for 30s")
	case t.Concurrency < 0 || t.Concurrency > mostConcurrency:
		return refuse("Concurrency", t.Concurrency, "1 to 10000, or 0 for 20")
	case !fieldValue(t.ContentType):
		return refuse("ContentType", fmt.Sprintf("%.60q", t.ContentType), "one line of printable ASCII")
	}
	for _, name := range slices.Sorted(maps.Keys(t.Headers)) {
		if err := checkHeader(name, t.Headers[name]); err != nil {
			return err
		}
	}
	return t.checkProxy()
}

func (t Target) checkProxy() error {
	u, err := url.Parse(t.Proxy)
	if t.Proxy == "" || err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" {
		return nil
	}
	return refuse("Proxy", "not shown, since it may hold a password", "a URL such as http://proxy.example:3128")
}

// checkURL does not show what is behind the host: that may be as good as a password.
func (t Target) checkURL() error {
	if t.URL == "" {
		return refuse("URL", "empty", "where the messages go, such as https://shop.example/hooks")
	}
	u, err := url.Parse(t.URL)
	switch {
	case err != nil:
		return refuse("URL", "no URL", "such as https://shop.example/hooks")
	case u.Scheme == "":
		return refuse("URL", "without https://", "such as https://shop.example/hooks")
	case u.Scheme != "https" && u.Scheme != "http":
		return refuse("URL", fmt.Sprintf("of the scheme %.20q", u.Scheme), "https, such as https://shop.example/hooks")
	case u.Hostname() == "":
		return refuse("URL", "without a host", "such as https://shop.example/hooks")
	case u.User != nil:
		return refuse("URL", "one with a user", "without: set the header Authorization instead")
	case u.Fragment != "":
		return refuse("URL", "one with a #fragment", "without: it is not sent")
	case u.Scheme == "http" && !t.mayBePlain(u.Hostname()):
		return refuse("URL", display(u), "https; or allow http for this target: then all on the way can read the messages")
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil && t.Proxy == "" {
		if err := t.mayConnect(addr); err != nil {
			return refuse("URL", display(u), "at a public address: "+err.Error())
		}
	}
	return nil
}

// mayBePlain reports whether http, which all on the way can read, is allowed to a host.
func (t Target) mayBePlain(host string) bool {
	return t.AllowHTTP || t.AllowPrivate && loopback(host)
}

// Shown is what people may see of the URL: scheme and host.
func (t Target) Shown() string {
	u, err := url.Parse(t.URL)
	if err != nil {
		return "no URL"
	}
	return display(u)
}

// display is what people may see of a URL: its path may be as good as a password.
func display(u *url.URL) string { return u.Scheme + "://" + strings.ToLower(u.Host) }

func refuse(field string, value any, limit string) error {
	return &message.InvalidError{Field: field, Value: fmt.Sprint(value), Limit: limit}
}

// ours are the headers that a target may not set.
var ours = []string{
	"Connection", "Content-Length", "Content-Type", "Expect", "Host", "Idempotency-Key", "Keep-Alive", "Proxy-Connection",
	"Te", "Traceparent", "Tracestate", "Trailer", "Transfer-Encoding", "Upgrade",
}

// checkHeader checks a header that people have set. Its value may be a password.
func checkHeader(name, value string) error {
	key := http.CanonicalHeaderKey(name)
	switch {
	case !token(name):
		return refuse("Headers", fmt.Sprintf("a header %.60q", name), "named by letters, digits and -")
	case key == "Content-Type":
		return refuse("Headers."+name, "set", "left out: the content type has a field of its own")
	case slices.Contains(ours, key), strings.HasPrefix(key, "Webhook-"), strings.HasPrefix(key, "Rmq-"):
		return refuse("Headers."+name, "set", "left out: each request has its own")
	case !fieldValue(value):
		return refuse("Headers."+name, "not shown", "one line of printable ASCII")
	}
	return nil
}
