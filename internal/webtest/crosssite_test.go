package webtest

import (
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/webtest/browser"
	"github.com/slotmq/go-rmq/server/console"
	"github.com/slotmq/go-rmq/server/tokens"
)

// form is one that changes something.
type form struct {
	Action string
	Fields map[string]string
}

// formsOf are all forms of all pages that change something, each once, however often it is there.
func formsOf(t *testing.T, p *browser.Page, at string) (all []form) {
	t.Helper()
	known := map[string]bool{}
	walk(t, p, at, few, func(string) {
		for _, f := range browser.Value[[]form](p, `[...document.querySelectorAll('form[method=post] button')].map(b => ({
			Action: b.hasAttribute('formaction') ? b.formAction : b.form.action,
			Fields: Object.fromEntries([...b.form.elements].filter(e => e.name && (e.localName != 'button' || e == b)).map(e => [e.name, e.value || '1'])),
		}))`) {
			if kind := fmt.Sprint(f.Action, slices.Sorted(maps.Keys(f.Fields))); !known[kind] {
				known[kind] = true
				all = append(all, f)
			}
		}
	})
	if len(all) == 0 {
		t.Fatal("no page has a form that changes something") // a check of nothing finds nothing
	}
	return all
}

var trap = template.Must(template.New("").Parse(`<!doctype html><title>win a prize</title>
{{range $n, $f := .}}<form method=post action="{{$f.Action}}" id="f{{$n}}">{{range $name, $value := $f.Fields}}<input type=hidden name="{{$name}}" value="{{$value}}">{{end}}<button>Prize {{$n}}</button></form>{{end}}`))

// A page of another site has the browser of someone who is signed in and may act send the console's forms: each is
// refused, and the user stays signed in.
func TestAnotherSiteChangesNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t, servertest.Redis(t).Client(t))
	s.rest()
	file, token := tokenOf(t, tokens.Holder{Name: "bob", Rights: []tokens.Right{tokens.Look, tokens.Act}, Topics: []string{"*"}})
	at := s.console(func(cfg *console.Config) { cfg.Tokens = file })
	p := browser.Open(t, browser.View{})
	p.Open(at)
	p.Fill("#token", token)
	p.Follow("main button")
	forms := formsOf(t, p, at)
	p.Fine()
	before := everything(t, s.rdb)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_ = trap.Execute(w, forms) // the browser has gone
	}))
	t.Cleanup(site.Close)
	elsewhere := strings.Replace(site.URL, "127.0.0.1", "localhost", 1) // another site, not only another port of this one
	for _, from := range []string{site.URL, elsewhere} {
		for n, f := range forms {
			p.Open(from)
			p.Follow(fmt.Sprintf("#f%d button", n))
			p.WaitFor("main", "another site")
			if !refused(p.Requests()) {
				t.Errorf("%s from %s: %+v", f.Action, from, p.Requests())
			}
		}
	}
	for _, change := range changes(before, everything(t, s.rdb)) {
		t.Error(change)
	}
	p.Open(at)
	p.WaitFor("header", "bob")
}

// refused reports whether the last form that was sent was refused.
func refused(all []browser.Request) bool {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Method == http.MethodPost {
			return all[i].Status == http.StatusForbidden
		}
	}
	return false
}

// A console that only looks has no forms that change something, and refuses them if they are sent all the same.
func TestAConsoleThatOnlyLooks(t *testing.T) {
	t.Parallel()
	s := newScene(t, servertest.Redis(t).Client(t))
	s.rest()
	acts, looks := s.console(), s.console(func(cfg *console.Config) { cfg.Act = false })
	p := browser.Open(t, browser.View{})
	walk(t, p, looks, few, func(address string) {
		if n := browser.Value[int](p, "[...document.forms].filter(f => f.method == 'post').length"); n > 0 {
			t.Errorf("%s has %d forms that change something", address, n)
		}
	})
	before := everything(t, s.rdb)
	for _, f := range formsOf(t, browser.Open(t, browser.View{}), acts) {
		action := strings.Replace(f.Action, acts, looks, 1)
		fields := url.Values{}
		for name, value := range f.Fields {
			fields.Set(name, value)
		}
		answer, err := http.PostForm(action, fields)
		must.Do(t, err)
		answer.Body.Close()
		if answer.StatusCode != http.StatusForbidden && answer.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: %d", action, answer.StatusCode)
		}
	}
	for _, change := range changes(before, everything(t, s.rdb)) {
		t.Error(change)
	}
}
