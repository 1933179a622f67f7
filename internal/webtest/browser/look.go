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

// BrokenWords are the short words of tables and buttons that do not stand in one line, though they are no content of a message.
func (p *Page) BrokenWords() []string {
	p.t.Helper()
	return ask[[]string](p, `(() => {
		const broken = [], range = document.createRange()
		for (const e of document.querySelectorAll('th, td, button, .tag')) {
			if (e.matches('.text') || !e.checkVisibility()) continue
			for (const n of [...e.childNodes, ...[...e.children].filter(c => !c.matches('.small')).flatMap(c => [...c.childNodes])].filter(n => n.nodeType == 3)) {
				for (const word of n.data.matchAll(/[\p{L}\d,.:]{2,16}(?![\p{L}\d])/gu)) {
					range.setStart(n, word.index); range.setEnd(n, word.index + word[0].length)
					const lines = new Set([...range.getClientRects()].filter(r => r.width > 0).map(r => Math.round(r.top)))
					if (lines.size > 1) broken.push(word[0])
				}
			}
		}
		return [...new Set(broken)]
	})()`)
}
