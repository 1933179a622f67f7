package browser

import (
	"fmt"
	"slices"
)

// operable are the roles of what a user operates.
var operable = []string{"button", "link", "textbox", "searchbox", "checkbox", "radio", "combobox", "listbox", "spinbutton", "slider", "switch", "DisclosureTriangle"}

// Unreadable returns what a person would miss who does not see the page, or cannot aim well.
func (p *Page) Unreadable() []string {
	p.t.Helper()
	return append(unreadable(p.Tree()), ask[[]string](p, documentFaults)...)
}

func unreadable(tree *Node) (wrong []string) {
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	level, ones := 0, 0
	for _, h := range tree.All("heading") {
		if h.Level == 1 {
			ones++
		}
		if h.Level > level+1 {
			add("heading %q of level %d follows one of level %d", h.Name, h.Level, level)
		}
		if h.Name == "" {
			add("a heading is empty")
		}
		level = h.Level
	}
	if ones != 1 {
		add("%d headings of level 1", ones)
	}
	for _, n := range tree.All(operable...) {
		if n.Name == "" {
			add("a %s has no name", n.Role)
		}
	}
	for _, n := range tree.All("img", "image", "SvgRoot", "graphics-document", "region", "dialog") {
		if n.Name == "" {
			add("a %s has no name", n.Role)
		}
	}
	for _, table := range tree.All("table", "grid") {
		if len(table.All("columnheader"))+len(table.All("rowheader")) == 0 {
			add("a table has no headers: %v", table)
		}
	}
	for _, landmark := range []string{"main", "banner", "contentinfo"} {
		if n := len(tree.All(landmark)); n != 1 {
			add("%d landmarks %s", n, landmark)
		}
	}
	var navigations []string
	for _, n := range tree.All("navigation") {
		navigations = append(navigations, n.Name)
	}
	slices.Sort(navigations)
	if len(navigations) == 0 || slices.Contains(navigations, "") || len(slices.Compact(slices.Clone(navigations))) < len(navigations) {
		add("navigations are called %q", navigations)
	}
	return wrong
}

// documentFaults returns what the names and roles do not say. What is operated is 24 px wide and high, or a circle of that
// size around it is free of the others. Links within a text may be as small as it is.
const documentFaults = `(() => {
	const wrong = [], ids = [...document.querySelectorAll('[id]')].map(e => e.id)
	for (const id of ids) if (ids.indexOf(id) != ids.lastIndexOf(id)) wrong.push('two elements are called ' + id)
	if (!document.documentElement.lang) wrong.push('its language is not said')
	if (!document.title.trim()) wrong.push('it has no title')
	for (const t of document.querySelectorAll('th')) if (!t.scope) wrong.push('a header without scope: ' + t.outerHTML.slice(0, 100))
	const all = [...document.querySelectorAll('button, input:not([type=hidden]), select, textarea, summary, a[href]')]
		.map(e => ({e, r: e.getBoundingClientRect()})).filter(({e, r}) => e.checkVisibility() && r.width > 1 && getComputedStyle(e).display != 'inline')
	const small = ({r}) => r.width < 24 || r.height < 24
	const apart = (a, b) => { // the circle of a, and b or its circle
		const x = a.r.x + a.r.width / 2, y = a.r.y + a.r.height / 2
		if (small(b)) return Math.hypot(x - b.r.x - b.r.width / 2, y - b.r.y - b.r.height / 2) >= 24
		return Math.hypot(x - Math.min(Math.max(x, b.r.left), b.r.right), y - Math.min(Math.max(y, b.r.top), b.r.bottom)) >= 12
	}
	for (const a of all) if (small(a) && !all.every(b => a == b || apart(a, b))) {
		wrong.push('too small to hit: ' + a.r.width + ' × ' + a.r.height + ' ' + a.e.outerHTML.slice(0, 100))
	}
	return wrong
})()`
