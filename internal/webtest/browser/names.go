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

// documentFaults returns what the names and roles do not say. Links within a text may be as small as it is.
const documentFaults = `(() => {
	const wrong = [], ids = [...document.querySelectorAll('[id]')].map(e => e.id)
	for (const id of ids) if (ids.indexOf(id) != ids.lastIndexOf(id)) wrong.push('two elements are called ' + id)
	if (!document.documentElement.lang) wrong.push('its language is not said')
	if (!document.title.trim()) wrong.push('it has no title')
	for (const e of document.querySelectorAll('button, input:not([type=hidden]), select, textarea, summary, a[href]')) {
		const r = e.getBoundingClientRect(), inText = getComputedStyle(e).display == 'inline'
		if (e.checkVisibility() && r.width > 1 && !inText && (r.width < 24 || r.height < 24)) wrong.push('too small to hit: ' + r.width + ' × ' + r.height + ' ' + e.outerHTML.slice(0, 100))
	}
	for (const t of document.querySelectorAll('th')) if (!t.scope) wrong.push('a header without scope: ' + t.outerHTML.slice(0, 100))
	return wrong
})()`
