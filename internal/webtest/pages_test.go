package webtest

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/webtest/browser"
)

// views are all ways to look at a page that are promised.
var views = []browser.View{{}, {Dark: true}, {Width: 390}, {Width: 390, Dark: true}}

// kindOf is which page an address is of, without what it is about.
func kindOf(address string) string {
	u, _ := url.Parse(address) // it comes from the browser
	return path.Base("/" + u.Path)
}

// many addresses of each page are enough to see whatever it shows. By day most tests look at few of them.
const many = 4

var few = night.Times(2, many)

// walk follows all links from an address and returns where they lead to: of each page so many addresses at most, and half
// of them of those that one page leads to, as the pages of many messages are alike. A link away from the console ends the
// test.
func walk(t *testing.T, p *browser.Page, from string, ofEach int, look func(address string)) []string {
	t.Helper()
	seen, kinds := map[string]bool{}, map[string]int{}
	for open := []string{from}; len(open) > 0; {
		address := open[0]
		open = open[1:]
		p.Open(address)
		look(address)
		here := map[string]int{}
		for _, to := range browser.Value[[]string](p, "[...document.links].filter(a => !a.hasAttribute('download')).map(a => a.href)") {
			to, _, _ = strings.Cut(to, "#")
			if !strings.HasPrefix(to, from) {
				t.Fatalf("a link of %s leads away: %s", address, to)
			}
			kind := kindOf(to)
			if u, _ := url.Parse(to); strings.Contains(u.RawQuery, "slot=") { // one of many, all alike
				kind += " of a slot"
			}
			if !seen[to] && kinds[kind] < ofEach && here[kind] < ofEach/2 {
				seen[to] = true
				kinds[kind]++
				here[kind]++
				open = append(open, to)
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// Every page can be looked at in every way, with workers at work, on Redis and on Redis Cluster, where
// it has other numbers and looks the same: by day in one way. By day, too, one address of each page is enough for
// the other ways.
func TestPages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		at, views := newScene(t, rdb).console(), views
		if _, many := rdb.(*redis.ClusterClient); many {
			views = views[:night.Times(1, len(views))]
		}
		l := &looks{titles: map[string]string{}, walked: map[string]bool{}}
		var all []string
		for i, v := range views {
			p := browser.Open(t, v)
			look := func(address string) { l.at(t, p, address) }
			if i > 0 {
				looked := map[string]int{} // at a page
				for _, address := range all {
					if page := kindOf(address); looked[page] < night.Times(1, many) {
						looked[page]++
						p.Open(address)
						look(address)
					}
				}
				continue
			}
			all = walk(t, p, at, many, look)
			for _, text := range []string{"order", "in none of them"} { // what a form leads to
				all = append(all, at+"find?content="+url.QueryEscape(text))
			}
			all = append(all, at+"stopplan?topic=reports&plan=nightly") // not each page of plans is walked to
			kinds := map[string]bool{}
			for _, address := range all {
				kinds[kindOf(address)] = true
			}
			if got := fmt.Sprint(slices.Sorted(maps.Keys(kinds))); got != fmt.Sprint(pages) {
				t.Errorf("the links lead to the pages %s,\nwant %v", got, pages)
			}
		}
		t.Log(len(all), "addresses")
	})
}

// inline is what the content security policy forbids, and so would not work.
const inline = `[...document.querySelectorAll('[style], style, script:not([src])')].map(e => 'style or script within the page: ' + e.outerHTML.slice(0, 100))`

// looks are those at all pages.
type looks struct {
	titles map[string]string // which page has it
	walked map[string]bool   // by the keyboard: one page of a kind, on a screen and on a phone
}

// at looks at the page that is open: nothing is wrong with it, it fits, its texts can be read as the
// browser colours them, and who does not see it or cannot use a mouse has all of it. No other page has
// its title.
func (l *looks) at(t *testing.T, p *browser.Page, address string) {
	t.Helper()
	p.Fine()
	if p.ScrollsSideways() {
		t.Errorf("(%v) %s is too wide: %q", p.View, address, p.TooWide())
	}
	wrong := slices.Concat(p.Pale(), p.Unreadable(), browser.Value[[]string](p, inline))
	page, title := kindOf(address), browser.Value[string](p, "document.title")
	if was, known := l.titles[title]; known && was != page {
		wrong = append(wrong, was+" has its title: "+title)
	}
	l.titles[title] = page
	if sized := fmt.Sprint(page, p.Width); !l.walked[sized] {
		l.walked[sized] = true
		wrong = append(wrong, p.Keyboard()...)
	}
	for _, w := range wrong {
		t.Errorf("(%v) %s: %s", p.View, address, w)
	}
	keep(t, p, address)
}

// pages are all that links lead to.
var pages = []string{"/", "dead", "delete", "doctor", "find", "message", "messages", "recurring", "requeue", "stopplan", "topic", "workers"}

// keep keeps a picture of the page that is open in the folder RMQ_SCREENSHOTS, if that is set.
func keep(t *testing.T, p *browser.Page, address string) {
	t.Helper()
	dir := os.Getenv("RMQ_SCREENSHOTS")
	if dir == "" || strings.Contains(t.Name(), "Cluster") {
		return
	}
	u, err := url.Parse(address)
	must.Do(t, err)
	name := strings.Trim(path.Base("/"+u.Path)+"-"+url.QueryEscape(u.RawQuery), "/-")
	must.Do(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%.80s-%d-%s.png", name, p.Width, p.Theme())), p.Screenshot(), 0o644))
}

// Between a phone and a large screen pages fit, too, with no word broken in two; of a worker one sees more than its name.
func TestPagesFit(t *testing.T) {
	t.Parallel()
	s := newScene(t, servertest.Redis(t).Client(t))
	at := s.console()
	for _, width := range []int64{390, 720, 768, 1440} {
		p := browser.Open(t, browser.View{Width: width})
		for _, page := range []string{"", "topic?topic=orders", "workers", "dead?topic=orders", "recurring?topic=reports", "doctor"} {
			p.Open(at + page)
			if p.ScrollsSideways() {
				t.Errorf("(%v) %q is too wide: %q", p.View, page, p.TooWide())
			}
			if words := p.BrokenWords(); len(words) > 0 {
				t.Errorf("(%v) %q breaks the words %q", p.View, page, words)
			}
			keep(t, p, at+page)
		}
		p.Open(at + "workers")
		const column = "(document.querySelector('main table tbody tr').cells[%d].getBoundingClientRect())"
		name := browser.Value[float64](p, fmt.Sprintf(column+".width", 0))
		state := browser.Value[float64](p, fmt.Sprintf(column+".left", 4))
		if name > 0.45*float64(width) || state > float64(width)-40 {
			t.Errorf("(%v) the name of a worker takes %v px, and its state begins at %v", p.View, name, state)
		}
	}
}
