package browser

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/slotmq/go-rmq/internal/testing/await"
)

const (
	// Patience is how long a page may take for what it is asked: that of all tests, unless the View says otherwise.
	Patience = await.Patience

	pollInterval = 20 * time.Millisecond
	phone        = 600 // what is narrower is shown as on a phone: a page that does not say that it fits is shown small
)

// View is how a page is looked at.
type View struct {
	Width, Height int64 // in CSS pixels; default 1280 × 800
	Dark          bool  // the user prefers dark pages; default light
	NoScript      bool  // without JavaScript

	Patience time.Duration // default Patience
}

// Theme is light or dark.
func (v View) Theme() string {
	if v.Dark {
		return "dark"
	}
	return "light"
}

func (v View) String() string {
	text := fmt.Sprintf("%d px, %s", v.Width, v.Theme())
	if v.NoScript {
		text += ", without JavaScript"
	}
	return text
}

// Page is a tab. Its methods end the test when they cannot do what they say.
type Page struct {
	View

	t   testing.TB
	ctx context.Context

	mu       sync.Mutex
	origin   string // scheme and host of the first page
	requests []Request
	faults   []string
}

// Open opens an empty tab for this test.
func Open(t testing.TB, v View) *Page {
	t.Helper()
	if v.Width == 0 {
		v.Width = 1280
	}
	if v.Height == 0 {
		v.Height = 800
	}
	if v.Patience == 0 {
		v.Patience = Patience
	}
	ctx, cancel := chromedp.NewContext(tabs(t), chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	p := &Page{View: v, t: t, ctx: ctx}
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: v.Theme()}, {Name: "prefers-reduced-motion", Value: "reduce"}}
	// Without a limit of time: the tab lives as long as the context that opened it.
	p.must("open a tab", errors.Join(
		chromedp.Listen(ctx, p.hear),
		second(chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})),
		second(chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: v.NoScript})),
		second(chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: v.Width, Height: v.Height, DeviceScaleFactor: 1, Mobile: v.Width < phone,
		})),
	))
	return p
}

func second[T any](_ T, err error) error { return err }

// Open goes to an address, and returns when it and all that it needs is there.
func (p *Page) Open(url string) {
	p.t.Helper()
	p.mu.Lock()
	if p.origin == "" {
		p.origin = originOf(url)
	}
	p.mu.Unlock()
	p.must("open "+url, p.do(chromedp.Navigate(url)))
}

// Address is where the page is now.
func (p *Page) Address() string {
	p.t.Helper()
	return ask[string](p, "location.href")
}

// Follow clicks and returns when the page that this leads to is there.
func (p *Page) Follow(selector string) {
	p.t.Helper()
	x, y := p.place(selector)
	_, err := run(p, chromedp.WaitEvent(page.LoadEventFired, nil, chromedp.MouseClickXY(x, y)))
	p.must("follow "+selector, err)
}

// do runs steps, bounded in time.
func (p *Page) do(steps ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(p.ctx, p.Patience)
	defer cancel()
	return chromedp.Do(ctx, steps...)
}

func run[T any](p *Page, a chromedp.Action[T]) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, p.Patience)
	defer cancel()
	return chromedp.Run(ctx, a)
}

// must ends the test with what the page shows.
func (p *Page) must(what string, err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", what, err, p.shown())
	}
}

// shown is what a person would see, and what went wrong so far.
func (p *Page) shown() string {
	ctx, cancel := context.WithTimeout(p.ctx, Patience/10)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.href + '\\n' + document.documentElement.innerText"))
	if err != nil {
		text = "a page that does not answer: " + err.Error()
	}
	const enough = 4000
	text = text[:min(len(text), enough)]
	return fmt.Sprintf("(%v) the page shows:\n%s\nand heard was:\n%s", p.View, text, strings.Join(p.heard(), "\n"))
}
