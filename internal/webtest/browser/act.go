package browser

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Click clicks on the middle of the first element that shows.
func (p *Page) Click(selector string) {
	p.t.Helper()
	x, y := p.place(selector)
	p.must("click "+selector, p.do(chromedp.MouseClickXY(x, y)))
}

// place scrolls an element into view and is its middle, once its page is complete: without its style it lies elsewhere.
// Something else that lies there is an error: a user would click on that.
func (p *Page) place(selector string) (x, y float64) {
	p.t.Helper()
	p.WaitFor(selector, "")
	p.wait("wait for the whole page", "document.readyState === 'complete'")
	at := ask[struct {
		X, Y  float64
		Under string
	}](p, fmt.Sprintf(`(e => {
		e.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'})
		const r = e.getClientRects()[0], at = {X: r.x + r.width / 2, Y: r.y + r.height / 2, Under: ''}
		const top = document.elementFromPoint(at.X, at.Y)
		if (!top || !e.contains(top) && !top.contains(e)) at.Under = top ? top.outerHTML.slice(0, 200) : 'nothing: it is outside'
		return at
	})(%s)`, visible(selector, "")))
	if at.Under != "" {
		p.must("click "+selector, fmt.Errorf("above it lies %s", at.Under))
	}
	return at.X, at.Y
}

// Fill types a text into a field in place of what is there.
func (p *Page) Fill(selector, text string) {
	p.t.Helper()
	p.WaitFor(selector, "")
	ask[bool](p, fmt.Sprintf(`(e => { e.focus(); e.select(); return true })(%s)`, visible(selector, "")))
	p.Press(text)
}

// Choose chooses an option of a list.
func (p *Page) Choose(selector, value string) {
	p.t.Helper()
	p.WaitFor(selector, "")
	chosen := ask[string](p, fmt.Sprintf(`(e => {
		e.value = %s
		e.dispatchEvent(new Event('input', {bubbles: true}))
		e.dispatchEvent(new Event('change', {bubbles: true}))
		return e.value
	})(%s)`, quote(value), visible(selector, "")))
	if chosen != value {
		p.must(fmt.Sprintf("choose %q in %s", value, selector), fmt.Errorf("there is no such option"))
	}
}

// Press presses keys, like kb.Tab.
func (p *Page) Press(keys string) {
	p.t.Helper()
	p.must(fmt.Sprintf("press %q", keys), p.do(chromedp.KeyEvent(keys)))
}

// DoubleClick clicks twice, as users do who do not know that once is enough, and returns when a page is there that
// this has led to.
func (p *Page) DoubleClick(selector string) {
	p.t.Helper()
	x, y := p.place(selector)
	const clicks = 2
	twice := func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		for n := range int64(clicks) {
			for _, typ := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased} {
				event := input.DispatchMouseEventParams{Type: typ, X: x, Y: y, Button: input.MouseButtonLeft, ClickCount: n + 1}
				if _, err := cdp.Call(ctx, t, input.DispatchMouseEvent, event); err != nil {
					return chromedp.Void{}, err
				}
			}
		}
		return chromedp.Void{}, nil
	}
	_, err := run(p, chromedp.WaitEvent(page.LoadEventFired, nil, twice))
	p.must("double-click "+selector, err)
}
