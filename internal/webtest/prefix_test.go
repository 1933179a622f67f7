package webtest

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/webtest/browser"
	"github.com/slotmq/go-rmq/server/console"
)

// proxied puts a proxy in front of a console. It serves it below /tools/rmq/, and takes that away if it strips.
func proxied(t *testing.T, behind string, strips bool) string {
	t.Helper()
	to, err := url.Parse(behind)
	must.Do(t, err)
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: to.Scheme, Host: to.Host}) }}
	var h http.Handler = proxy
	if strips {
		h = http.StripPrefix("/tools/rmq", h)
	}
	mux := http.NewServeMux()
	mux.Handle("/tools/rmq/", h)
	srv := httptest.NewServer(mux) // whatever is not below the prefix is not found
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv.URL + "/tools/rmq/"
}

// Below a path all links, forms, streams and files are found, whether the proxy takes the path away or not.
func TestBehindAPrefix(t *testing.T) {
	t.Parallel()
	s := newScene(t, servertest.Redis(t).Client(t))
	for name, strips := range map[string]bool{"a proxy that strips it": true, "a proxy that does not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := proxied(t, s.console(), strips)
			p := browser.Open(t, browser.View{})
			for _, address := range walk(t, p, at, few, func(string) { p.Fine() }) {
				if !strings.HasPrefix(address, at) {
					t.Errorf("a link leads to %s", address)
				}
			}
			p.Open(at)
			await.True(t, "the numbers are live", func() bool { return streams(p) > 0 })
			p.Open(at + "topic?topic=lonely")
			p.Fill("input[name=content]", "who hears me?")
			p.Follow(".ask button")
			p.WaitFor("main", "who hears me?")
			p.Open(at + "topic?topic=lonely")
			postsAreFound(t, p, at)
			p.Fine()
		})
	}
}

// streams are the streams of the page that have been answered.
func streams(p *browser.Page) (n int) {
	for _, r := range p.Requests() {
		if strings.Contains(r.URL, "/live?") && r.Status == http.StatusOK {
			n++
		}
	}
	return n
}

// postsAreFound tells where the forms of the page that is open lead to.
func postsAreFound(t *testing.T, p *browser.Page, at string) {
	t.Helper()
	for _, action := range browser.Value[[]string](p, "[...document.forms].map(f => f.action)") {
		if !strings.HasPrefix(action, at) {
			t.Errorf("a form leads to %s", action)
		}
	}
}

// In the user's own program it is mounted below a path, without anything in between.
func TestMountedByTheUser(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	sender(t, rdb)(3)
	c, err := console.New(console.Config{Redis: rdb})
	must.Do(t, err)
	mux := http.NewServeMux()
	mux.Handle("/rmq/", c)
	srv := httptest.NewServer(mux)
	t.Cleanup(func() { c.Close(); srv.Close() })
	p := browser.Open(t, browser.View{})
	p.Open(srv.URL + "/rmq/")
	p.Follow("th a")
	p.WaitFor("h1", "orders")
	p.Follow("nav a")
	p.WaitFor("td, th", "orders")
	p.Open(srv.URL + "/rmq") // the mux adds the /
	p.WaitFor("td, th", "orders")
	p.Fine()
}
