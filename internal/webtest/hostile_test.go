package webtest

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/webtest/browser"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/server/console"
)

// hostile are contents that would harm a page that does not escape them, and a part of what must be shown of each.
var hostile = []struct{ name, content, shows string }{
	{"script", `<script>alert("harm")</script>`, `<script>alert("harm")</script>`},
	{"image", `"><img src=x onerror=alert(1)>`, `<img src=x onerror=alert(1)>`},
	{"event", `' autofocus onfocus='alert(1)`, `onfocus='alert(1)`},
	{"link", `javascript:alert(1)`, `javascript:alert(1)`},
	{"template", "{{.Topic}} ${alert(1)} `x`", "{{.Topic}} ${alert(1)}"},
	{"right to left", "pay \u202e001\u202c \u05e9\u05dc\u05d5\u05dd 7", `\u202e001`},
	{"invalid UTF-8", "\xff\xfe order \x00\x1b[31m", `\xff\xfe order \x00\x1b[31m`},
	{"a long word", strings.Repeat("x", 256<<10), "xxxxxxxxxx"},
	{"an end of a page", "</main></body></html><!-- ", "</main></body></html><!--"},
	{"lines", "one\ntwo\r\n\tthree", "one"},
}

// hostileScene has them in each state, with errors that repeat them.
func hostileScene(t *testing.T) *scene {
	t.Helper()
	rdb := servertest.Redis(t).Client(t)
	topics := map[string]rmq.Topic{}
	client, err := rmq.New(rmq.Config{Redis: rdb, Backoff: rmq.Schedule(time.Hour), Concurrency: 4, MaxContent: 1 << 20})
	must.Do(t, err)
	for _, name := range []string{"waiting", "retry", "dead"} {
		topics[name] = rmq.Topic{Name: name, Kind: rmq.KindFixedTime, Slots: 1}
		must.Do(t, client.Listen(topics[name], rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
			err := errors.New("this failed: " + d.Content)
			if name == "dead" {
				err = rmq.Dead(err)
			}
			return err
		}), rmq.ListenOptions{NoBreaker: true}))
	}
	for _, h := range hostile {
		for name, topic := range topics {
			at := time.Now()
			if name == "waiting" {
				at = at.Add(time.Hour)
			}
			must.Do(t, second(client.Send(ctx, topic, rmq.FixedTime{Content: h.content, At: at})))
		}
	}
	must.Do(t, client.Every(ctx, topics["waiting"], rmq.Recurring{Name: `<img src=x onerror=alert(2)>`, Content: hostile[0].content, Cron: "@daily"}))
	must.Do(t, client.Start(ctx))
	s := &scene{t: t, rdb: rdb}
	i := inspectorOf(t, rdb)
	await.True(t, "all have failed", func() bool {
		retrying, err := i.Stats(ctx, "retry")
		must.Do(t, err)
		dead, err := i.Stats(ctx, "dead")
		must.Do(t, err)
		return retrying.Retrying == len(hostile) && dead.Dead == len(hostile)
	})
	must.Do(t, client.Close(ctx))
	return s
}

// harm tells what a content has done to the page that is open.
const harm = `(() => {
	const wrong = []
	for (const e of document.querySelectorAll('script')) if (!e.src.endsWith('/console.js')) wrong.push('a script: ' + e.outerHTML.slice(0, 100))
	for (const e of document.querySelectorAll('img, iframe, object, embed, base, meta[http-equiv]')) wrong.push('an element: ' + e.outerHTML.slice(0, 100))
	for (const e of document.querySelectorAll('a')) if (!/^https?:$/.test(e.protocol)) wrong.push('a link: ' + e.href.slice(0, 100))
	for (const e of document.querySelectorAll('*')) for (const a of e.attributes) if (a.name.startsWith('on')) wrong.push('a handler: ' + e.outerHTML.slice(0, 100))
	if (document.querySelectorAll('main').length != 1 || !document.querySelector('body > footer')) wrong.push('the page is broken')
	const unseen = document.body.innerText.match(/.{0,20}[\u0000\u001b\u202a-\u202e\u2066-\u2069\ufffd]/)
	if (unseen) wrong.push('it shows characters that cannot be seen: ' + JSON.stringify(unseen[0]))
	return wrong
})()`

// Whatever messages, errors and names contain is shown as it is, and does nothing.
func TestHostileContents(t *testing.T) {
	t.Parallel()
	s := hostileScene(t)
	at := s.console()
	check := func(p *browser.Page, address string) {
		t.Helper()
		for _, wrong := range browser.Value[[]string](p, harm) {
			t.Errorf("(%v) %.200s: %s", p.View, address, wrong)
		}
		if p.ScrollsSideways() {
			t.Errorf("(%v) %.200s is too wide: %q", p.View, address, p.TooWide())
		}
		p.Fine()
	}
	for _, v := range []browser.View{{Width: 390}, {}}[:night.Times(1, 2)] { // what is long must fit a phone
		p := browser.Open(t, v)
		walk(t, p, at, few, func(address string) { check(p, address) })
		for _, topic := range []string{"waiting", "retry", "dead"} {
			for _, h := range hostile {
				if len(h.content) > 10_000 {
					continue // too long for an address: reached by its link only
				}
				p.Open(at + "message?topic=" + topic + "&content=" + url.QueryEscape(h.content))
				p.WaitFor("main", h.shows)
				check(p, topic+" "+h.name)
			}
		}
	}
}

// Where contents are hidden no page shows any, nor has it in an address or a field.
func TestHiddenContents(t *testing.T) {
	t.Parallel()
	s := newScene(t, servertest.Redis(t).Client(t))
	s.put(orders, rmq.FixedTime{Content: "who waits behind it?", At: time.Now(), SlotBasis: stuck})
	s.awaitRun()
	at := s.console(func(cfg *console.Config) { cfg.HideContents = true })
	p := browser.Open(t, browser.View{})
	contents := []string{stuck, flaky, "who hears me?", "price of item", "mail 1", "tax 1", "address 1", "order 1-"}
	looked := 0
	walk(t, p, at, few, func(address string) {
		looked++
		page := browser.Value[string](p, "document.documentElement.outerHTML + [...document.querySelectorAll('input')].map(e => e.value)")
		for _, content := range contents {
			for _, form := range []string{content, url.QueryEscape(content), url.PathEscape(content)} {
				if strings.Contains(page, form) {
					t.Errorf("%s has %q", address, form)
				}
			}
		}
	})
	p.Open(at + "message?topic=orders&content=who+waits+behind+it?")
	p.WaitFor("main", "its handler has run a message for")
	if looked < 10 {
		t.Fatalf("only %d pages were looked at", looked) // a check of nothing finds nothing
	}
	p.Fine()
}
