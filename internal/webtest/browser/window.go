package browser

import (
	"fmt"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
)

// Hide takes the page out of sight, as when its user looks at something else, and returns when it knows.
func (p *Page) Hide() {
	p.t.Helper()
	p.window("minimized", "hidden")
}

// Show takes the page back into sight.
func (p *Page) Show() {
	p.t.Helper()
	p.window("normal", "visible")
}

// window changes the state of the window of the tab. To bring another tab to the front would not hide it: without a
// screen each tab has a window of its own.
func (p *Page) window(state browser.WindowState, seen string) {
	p.t.Helper()
	of := browser.GetWindowForTargetParams{TargetID: chromedp.FromContext(p.ctx).Target.TargetID}
	w, err := chromedp.CallBrowser(p.ctx, browser.GetWindowForTarget, of)
	p.must("find its window", err)
	to := browser.SetWindowBoundsParams{WindowID: w.WindowID, Bounds: &browser.Bounds{WindowState: state}}
	_, err = chromedp.CallBrowser(p.ctx, browser.SetWindowBounds, to)
	p.must(fmt.Sprintf("make its window %s", state), err)
	p.wait("be "+seen, fmt.Sprintf("document.visibilityState == %s", quote(seen)))
}
