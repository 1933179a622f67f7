package webtest

import (
	"slices"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/webtest/browser"
)

// operable is what a page has to be operated. Times go on.
const operable = "[...document.querySelectorAll('main button, main input, main select, main textarea, main a')].filter(e => e.checkVisibility()).map(e => e.outerHTML.replace(/(\\d+[hms]+)+|\\d+/g, '#'))"

// Without JavaScript every page is there with all that it says, and nothing is shown that would need it.
func TestPagesWithoutScript(t *testing.T) {
	t.Parallel()
	s := newScene(t, servertest.Redis(t).Client(t))
	s.rest() // so that a page says the same twice
	at := s.console()
	var links [2][]string
	var has [2]map[string][]string // by the address of the page
	for i, v := range []browser.View{{}, {NoScript: true}} {
		p := browser.Open(t, v)
		has[i] = map[string][]string{}
		links[i] = walk(t, p, at, few, func(address string) {
			p.Fine()
			has[i][address] = browser.Value[[]string](p, operable)
			if !v.NoScript {
				return
			}
			for _, button := range p.Texts("button[type=button]") { // which no form sends
				if browser.Value[bool](p, "[...document.querySelectorAll('button[type=button]')].some(e => e.checkVisibility())") {
					t.Errorf("%s shows the button %q, which does nothing without JavaScript", address, button)
				}
			}
		})
	}
	if !slices.Equal(links[0], links[1]) {
		t.Errorf("with JavaScript the links lead to\n%q, without to\n%q", links[0], links[1])
	}
	for address, with := range has[0] {
		if without := has[1][address]; !slices.Equal(with, without) {
			t.Errorf("%s has with JavaScript\n%q\nand without\n%q", address, with, without)
		}
	}
}
