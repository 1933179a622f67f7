package webtest

import (
	"slices"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/webtest/browser"
)

// Without JavaScript every page is there with all that it says, and nothing is shown that would need it.
func TestPagesWithoutScript(t *testing.T) {
	t.Parallel()
	s := newScene(t, servertest.Redis(t).Client(t))
	s.rest() // so that a page says the same twice
	at := s.console()
	with, without := browser.Open(t, browser.View{}), browser.Open(t, browser.View{NoScript: true})
	all := walk(t, with, at, func(string) {})
	if links := walk(t, without, at, func(string) { without.Fine() }); !slices.Equal(links, all) {
		t.Errorf("with JavaScript the links lead to\n%q, without to\n%q", all, links)
	}
	for _, address := range all {
		with.Open(address)
		without.Open(address)
		const operable = "[...document.querySelectorAll('main button, main input, main select, main textarea, main a')].filter(e => e.checkVisibility()).map(e => e.outerHTML.replace(/(\\d+[hms]+)+|\\d+/g, '#'))" // times go on
		if a, b := browser.Value[[]string](with, operable), browser.Value[[]string](without, operable); !slices.Equal(a, b) {
			t.Errorf("%s has with JavaScript\n%q\nand without\n%q", address, a, b)
		}
		for _, button := range without.Texts("button[type=button]") { // which no form sends
			if browser.Value[bool](without, "[...document.querySelectorAll('button[type=button]')].some(e => e.checkVisibility())") {
				t.Errorf("%s shows the button %q, which does nothing without JavaScript", address, button)
			}
		}
	}
}
