package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/chromedp/chromedp"
)

// ask evaluates an expression in the page. Between two pages nothing can be asked: then it asks again.
func ask[T any](p *Page, expression string) T {
	p.t.Helper()
	var value T
	p.until("evaluate "+expression, func() (err error) {
		value, err = run(p, chromedp.Evaluate[T](expression))
		return err
	})
	return value
}

// until tries until it works. An exception is an answer.
func (p *Page) until(what string, try func() error) {
	p.t.Helper()
	deadline := time.NewTimer(p.Patience)
	defer deadline.Stop()
	again := time.NewTicker(pollInterval)
	defer again.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		var thrown *chromedp.ExceptionError
		if errors.As(err, &thrown) {
			p.must(what, err)
		}
		select {
		case <-deadline.C:
			p.must(what, fmt.Errorf("not within %v: %w", p.Patience, err))
		case <-p.ctx.Done():
			p.must(what, fmt.Errorf("the browser has ended: %w", err))
		case <-again.C:
		}
	}
}

func quote(s string) string {
	b, _ := json.Marshal(s) // a string can always be written
	return string(b)
}

// visible is an expression for the first element of a selector that shows and contains a text.
func visible(selector, text string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(%s)].find(e => e.checkVisibility() && e.innerText.includes(%s))`, quote(selector), quote(text))
}

// WaitFor waits for an element that shows, and for a text in it.
func (p *Page) WaitFor(selector, text string) {
	p.t.Helper()
	p.wait(fmt.Sprintf("wait for %q in %s", text, selector), "!!"+visible(selector, text))
}

// WaitGone waits until no element with this text shows.
func (p *Page) WaitGone(selector, text string) {
	p.t.Helper()
	p.wait(fmt.Sprintf("wait for the end of %q in %s", text, selector), "!"+visible(selector, text))
}

func (p *Page) wait(what, condition string) {
	p.t.Helper()
	p.until(what, func() error {
		good, err := run(p, chromedp.Evaluate[bool](condition))
		if err == nil && !good {
			err = errors.New("it is not so")
		}
		return err
	})
}

// Text is what the first element shows, which it waits for.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	p.WaitFor(selector, "")
	return ask[string](p, fmt.Sprintf(`document.querySelector(%s)?.innerText ?? ""`, quote(selector)))
}

// Texts are what all elements show.
func (p *Page) Texts(selector string) []string {
	p.t.Helper()
	return ask[[]string](p, fmt.Sprintf(`[...document.querySelectorAll(%s)].map(e => e.innerText)`, quote(selector)))
}

// Value evaluates an expression.
func Value[T any](p *Page, expression string) T {
	p.t.Helper()
	return ask[T](p, expression)
}
