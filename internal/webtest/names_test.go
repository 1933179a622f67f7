package webtest

import (
	"slices"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/webtest/browser"
)

// inline is what the content security policy forbids, and so would not work.
const inline = `[...document.querySelectorAll('[style], style, script:not([src])')].map(e => 'style or script within the page: ' + e.outerHTML.slice(0, 100))`

// Who does not see a page, or cannot use a mouse, has all of it.
func TestPagesForEveryone(t *testing.T) {
	t.Parallel()
	s := newScene(t, servertest.Redis(t).Client(t))
	at := s.console()
	p := browser.Open(t, browser.View{})
	titles := map[string]string{}
	var addresses []string
	for _, address := range walk(t, p, at, func(string) {}) {
		p.Open(address)
		for _, wrong := range append(p.Unreadable(), browser.Value[[]string](p, inline)...) {
			t.Errorf("%s: %s", address, wrong)
		}
		kind, title := kindOf(address), browser.Value[string](p, "document.title")
		if other := titles[title]; other != "" && other != kind {
			t.Errorf("%s and %s have the title %q", other, kind, title)
		}
		titles[title] = kind
		if !slices.ContainsFunc(addresses, func(a string) bool { return kindOf(a) == kind }) {
			addresses = append(addresses, address)
		}
	}
	for _, v := range []browser.View{{}, {Width: 390, Dark: true}} {
		p := browser.Open(t, v)
		for _, address := range addresses {
			p.Open(address)
			for _, wrong := range p.Keyboard() {
				t.Errorf("(%v) %s: %s", p.View, address, wrong)
			}
		}
	}
}
