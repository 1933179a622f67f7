package browser

import (
	"fmt"

	"github.com/chromedp/chromedp"
)

// Screenshot is the whole page as a PNG.
func (p *Page) Screenshot() []byte {
	p.t.Helper()
	const lossless = 100
	png, err := run(p, chromedp.FullScreenshot(lossless))
	p.must("screenshot", err)
	return png
}

// ScrollsSideways reports whether the page is wider than what it is looked at with.
func (p *Page) ScrollsSideways() bool {
	p.t.Helper()
	return ask[int64](p, "document.scrollingElement.scrollWidth") > p.Width
}

// TooWide are some of the elements that reach beyond the right edge, for a message.
func (p *Page) TooWide() []string {
	p.t.Helper()
	return ask[[]string](p, fmt.Sprintf(`[...document.body.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > %d)
		.slice(-5).map(e => e.outerHTML.slice(0, 120))`, p.Width))
}
