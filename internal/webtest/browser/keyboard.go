package browser

import (
	"fmt"

	"github.com/chromedp/chromedp/kb"
)

// numberReachable numbers what must be reached by the keyboard, and returns how many there are.
const numberReachable = `(() => {
	const all = [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]')]
		.filter(e => !e.disabled && e.checkVisibility() && !e.closest('details:not([open]) > :not(summary)'))
	const radios = new Set()
	window.reachable = all.filter(e => e.type != 'radio' || !radios.has(e.name) && radios.add(e.name)) // arrows reach the others
	document.activeElement?.blur()
	scrollTo(0, 0)
	return window.reachable.length
})()`

// stop is where the keyboard is.
type stop struct {
	Number int    // -1: at something else, or at nothing
	What   string // for a message
	Shows  bool   // something shows that it is here
	Seen   bool   // it is in sight, and nothing lies above it
}

const whereFocusIs = `(() => {
	const e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect()
	const x = Math.min(Math.max(r.x + r.width / 2, 0), innerWidth - 1), y = Math.min(Math.max(r.y + r.height / 2, 0), innerHeight - 1)
	const top = document.elementFromPoint(x, y)
	return {
		Number: window.reachable.indexOf(e), What: e.outerHTML.slice(0, 120),
		Shows: s.outlineStyle != 'none' && parseFloat(s.outlineWidth) >= 2 && s.outlineColor != 'rgba(0, 0, 0, 0)',
		Seen: r.width > 1 && r.bottom > 0 && r.top < innerHeight && r.right > 0 && r.left < innerWidth && !!top && (e.contains(top) || top.contains(e)),
	}
})()`

// Keyboard goes through the page by Tab, and returns what is not reached, and where its user does not see the focus.
func (p *Page) Keyboard() (wrong []string) {
	p.t.Helper()
	n := ask[int](p, numberReachable)
	reached := make([]bool, n)
	for range n + 1 {
		p.Press(kb.Tab)
		s := ask[stop](p, whereFocusIs)
		if s.Number < 0 {
			break // through: the next is the first again
		}
		reached[s.Number] = true
		if !s.Shows {
			wrong = append(wrong, "the focus does not show at "+s.What)
		}
		if !s.Seen {
			wrong = append(wrong, "the focus is out of sight at "+s.What)
		}
	}
	for i, is := range reached {
		if !is {
			wrong = append(wrong, "Tab does not reach "+ask[string](p, fmt.Sprintf("window.reachable[%d].outerHTML.slice(0, 120)", i)))
		}
	}
	return wrong
}
