package webtest

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/webtest/browser"
	"github.com/slotmq/go-rmq/server/console"
	"github.com/slotmq/go-rmq/server/tokens"
)

// tokenOf makes a token, in a file of its own.
func tokenOf(t *testing.T, h tokens.Holder) (file *tokens.File, token string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens.json")
	token, err := tokens.Add(path, h)
	must.Do(t, err)
	file, err = tokens.Open(path)
	must.Do(t, err)
	return file, token
}

// People sign in by a form, with and without JavaScript, also below a path, and get to the page they wanted. What they
// may not do has no buttons.
func TestSignIn(t *testing.T) {
	t.Parallel()
	s := newScene(t, servertest.Redis(t).Client(t))
	path := filepath.Join(t.TempDir(), "tokens.json")
	looks, err := tokens.Add(path, tokens.Holder{Name: "ann", Rights: []tokens.Right{tokens.Look}, Topics: []string{"orders"}})
	must.Do(t, err)
	acts, err := tokens.Add(path, tokens.Holder{Name: "bob", Rights: []tokens.Right{tokens.Look, tokens.Act}, Topics: []string{"*"}})
	must.Do(t, err)
	file, err := tokens.Open(path)
	must.Do(t, err)
	at := proxied(t, s.console(func(cfg *console.Config) { cfg.Tokens = file }), true)
	const actions = "[...document.forms].filter(f => f.method == 'post' && !f.action.includes('sign')).length"
	for _, v := range []browser.View{{}, {NoScript: true, Width: 390}} {
		p := browser.Open(t, v)
		p.Open(at + "topic?topic=orders&slot=7")
		p.WaitFor("h1", "Sign in")
		p.Fill("#token", "wrong")
		p.Follow("main button")
		p.WaitFor("[role=alert]", "not known")
		p.Fill("#token", looks)
		p.Follow("main button")
		p.WaitFor("h1", "orders")
		if got := p.Address(); got != at+"topic?slot=7&topic=orders" {
			t.Errorf("(%v) signed in at %s", p.View, got)
		}
		p.WaitFor("header", "ann")
		if n := browser.Value[int](p, actions); n > 0 {
			t.Errorf("(%v) ann, who only looks, has %d forms that change something", p.View, n)
		}
		if cookie := browser.Value[string](p, "document.cookie"); cookie != "" {
			t.Errorf("(%v) a script can read the token: %s", p.View, cookie)
		}
		p.Fine()
		p.Open(at)
		p.WaitGone("main", "prices") // of other topics
		p.WaitFor("main", "orders")
		p.Fine()
		p.Open(at + "topic?topic=prices")
		p.WaitFor("main", "lacks the right")
		if faults := p.Faults(); len(faults) == 0 || !forbidden(p, at+"topic?topic=prices") {
			t.Errorf("(%v) another topic: %q", p.View, faults)
		}
		p.Open(at)
		p.Follow("header form button") // sign out
		p.Open(at)
		p.WaitFor("h1", "Sign in")
		for _, x := range p.Faults() { // a page that is being left may ask for its news once more, and is nobody's then
			if !strings.Contains(x, "live?page=") || !strings.Contains(x, "401") {
				t.Errorf("(%v) signed out: %s", p.View, x)
			}
		}
		p.Fill("#token", acts)
		p.Follow("main button")
		p.WaitFor("main", "prices")
		p.WaitFor("header", "bob")
		p.Open(at + "topic?topic=orders")
		if n := browser.Value[int](p, actions); n == 0 {
			t.Errorf("(%v) bob, who may act, has no forms to", p.View)
		}
		p.Fine()
	}
}

// forbidden reports whether a page was refused.
func forbidden(p *browser.Page, address string) bool {
	for _, r := range p.Requests() {
		if r.URL == address {
			return r.Status == http.StatusForbidden
		}
	}
	return false
}

// Forms are taken also where the console has a name and no TLS, as within a network of one's own.
func TestSignInWithoutTLS(t *testing.T) {
	t.Parallel()
	file, token := tokenOf(t, tokens.Holder{Name: "bob", Rights: []tokens.Right{tokens.Look, tokens.Act}, Topics: []string{"*"}})
	s := newScene(t, servertest.Redis(t).Client(t))
	at := strings.Replace(s.console(func(cfg *console.Config) { cfg.Tokens = file }), "127.0.0.1", browser.Elsewhere, 1)
	for _, v := range []browser.View{{}, {NoScript: true, Width: 390}} {
		p := browser.Open(t, v)
		p.Open(at + "topic?topic=mail")
		p.Fill("#token", token)
		p.Follow("main button")
		p.WaitFor("h1", "mail")
		p.Fill("form[action=pause] input[name=slots]", "0")
		p.Follow("form[action=pause] button:not([formaction])")
		p.WaitFor("main [role=status]", "paused")
		p.Fine()
	}
}
