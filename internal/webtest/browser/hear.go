package browser

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Request is one that the page made, answered or not.
type Request struct {
	Method, URL string
	Status      int64 // 0 until it is answered

	id network.RequestID
}

// hear remembers what matters of what the browser reports. It is called for one event after the other.
func (p *Page) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			p.fault("console %s: %s", e.Type, words(e.Args))
		}
	case *log.EventEntryAdded: // what the browser itself says, as about its content security policy
		if l := e.Entry.Level; l == "error" || l == "warning" {
			p.fault("console %s: %s %s", l, e.Entry.Text, e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		p.fault("exception: %s %s", e.ExceptionDetails.Text, words([]*runtime.RemoteObject{e.ExceptionDetails.Exception}))
	case *page.EventJavascriptDialogOpening:
		p.answer(e)
	case *network.EventRequestWillBeSent:
		p.sends(e.Request.Method, e.Request.URL, e.RequestID)
	case *network.EventWebSocketCreated:
		p.sends("GET", e.URL, e.RequestID)
	case *network.EventResponseReceived:
		for i := range p.requests {
			if p.requests[i].id == e.RequestID {
				p.requests[i].Status = e.Response.Status
			}
		}
		if e.Response.Status >= 400 {
			p.fault("answer %d from %s", e.Response.Status, e.Response.URL)
		}
	case *network.EventLoadingFailed:
		if !e.Canceled { // as a stream is when its page is left
			p.fault("no answer: %s (%s%s)", e.ErrorText, e.Type, p.urlOf(e.RequestID))
		}
	}
}

func (p *Page) fault(format string, args ...any) {
	p.faults = append(p.faults, fmt.Sprintf(format, args...))
}

func (p *Page) sends(method, to string, id network.RequestID) {
	p.requests = append(p.requests, Request{Method: method, URL: to, id: id})
	if o := originOf(to); o != p.origin {
		p.fault("a request to another server: %s %s", method, to)
	}
}

func (p *Page) urlOf(id network.RequestID) string {
	for _, r := range slices.Backward(p.requests) {
		if r.id == id {
			return " " + r.URL
		}
	}
	return ""
}

// answer answers no to a question that stops the page. Each is a fault.
func (p *Page) answer(e *page.EventJavascriptDialogOpening) {
	p.fault("a dialog: %s: %s", e.Type, e.Message)
	go func() { // the answer is heard by who reports this
		ctx, cancel := context.WithTimeout(p.ctx, Patience)
		defer cancel()
		_, _ = chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{}) // fails if the page was left
	}()
}

// Requests are all requests so far.
func (p *Page) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// heard are the faults so far.
func (p *Page) heard() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.faults)
}

// Faults are what went wrong since it was asked last.
func (p *Page) Faults() []string {
	p.settle()
	p.mu.Lock()
	defer p.mu.Unlock()
	faults := p.faults
	p.faults = nil
	return faults
}

// Fine fails the test for each fault.
func (p *Page) Fine() {
	p.t.Helper()
	for _, f := range p.Faults() {
		p.t.Errorf("(%v) %s", p.View, f)
	}
}

// settle returns when the browser has reported all that happened before: reports come in order with answers.
func (p *Page) settle() {
	p.t.Helper()
	ask[int](p, "1")
}

func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return strings.Replace(u.Scheme, "ws", "http", 1) + "://" + u.Host
}

func words(objects []*runtime.RemoteObject) string {
	var all []string
	for _, o := range objects {
		switch {
		case o == nil:
		case o.Description != "":
			all = append(all, o.Description)
		default:
			all = append(all, string(o.Value))
		}
	}
	return strings.Join(all, " ")
}
