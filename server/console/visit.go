package console

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/server/console/internal/pages"
	"github.com/slotmq/go-rmq/server/console/internal/problem"
)

// mostForm is how long a form may be that a browser sends.
const mostForm = 1 << 20

// visit is one request.
type visit struct {
	*Console
	asker
	ctx      context.Context
	w        http.ResponseWriter
	r        *http.Request
	name     string // of what is asked for: what follows the last / of the path
	page     *page
	answered bool

	subjects map[string]bool        // that the page shows, for its stream
	fresh    bool                   // read, whatever is known
	problem  string                 // what could not be read
	still    bool                   // the page has no stream
	searched func() (string, error) // the message that a hash names; nil: it was not looked for
}

// page is a page.
type page struct {
	title string
	load  func(*visit) (any, error) // what it shows
	live  bool                      // it changes while it is open
	asks  bool                      // opening it reads one thing, whatever that costs; only a few people may at a time
	post  func(*visit) error        // changes something; nil: there is nothing to change
	acts  bool                      // post needs the right to act
	text  *template.Template
}

// sheet is what a template is given.
type sheet struct {
	Title     string
	Page      string
	Topic     string // whose page it is; empty: of none
	Name      string // of the console, such as production
	Namespace string
	Who       string // empty: no sign-in is needed
	SignedIn  bool   // by a token
	Act       bool   // buttons are shown
	Doctor    bool   // may be asked
	Hides     bool   // contents
	Stream    string // its address; empty: nothing changes while it is open
	Done      string // what the last form has done
	Gone      bool   // it has taken the message away
	Problem   string
	Body      any
}

// param is a parameter of the address or, behind a POST, of the form.
func (v *visit) param(name string) string {
	return v.values().Get(name)
}

// field is such a parameter without what surrounds it.
func (v *visit) field(name string) string { return strings.TrimSpace(v.param(name)) }

// values are all parameters.
func (v *visit) values() url.Values {
	if v.r.Method == http.MethodPost {
		_ = v.r.ParseForm() // readable has seen whether it can be read
		return v.r.PostForm
	}
	return v.r.URL.Query()
}

// show answers with a page.
func (v *visit) show(p *page) error {
	v.fresh = p.asks || v.param("done") != ""
	body, err := p.load(v)
	if err != nil || v.answered {
		return err
	}
	return v.showBody(p, body)
}

// enter takes one of some places, as soon as there is one.
func (v *visit) enter(places chan struct{}) error {
	select {
	case places <- struct{}{}:
		return nil
	case <-v.ctx.Done():
		return errBusy
	}
}

// readable is an error if the request is not one of this console, or its address or form cannot be read: a field that is left
// out would mean more messages.
func (v *visit) readable() error {
	if v.r.Method == http.MethodPost {
		if browsers.Check(v.r) != nil {
			return problem.Forbidden("This form was sent by a page of another site. Open the console itself, and try again.")
		}
		v.r.Body = http.MaxBytesReader(v.w, v.r.Body, mostForm)
	} else if v.r.Method != http.MethodGet && v.r.Method != http.MethodHead {
		v.w.Header().Set("Allow", "GET, HEAD, POST")
		return problem.New(http.StatusMethodNotAllowed, "Only GET, HEAD and POST are allowed here.")
	}
	if _, err := url.ParseQuery(v.r.URL.RawQuery); err != nil {
		return problem.New(http.StatusBadRequest, "The address cannot be read: "+err.Error()+".")
	}
	var long *http.MaxBytesError
	switch err := v.r.ParseForm(); {
	case errors.As(err, &long):
		return problem.New(http.StatusRequestEntityTooLarge, "The form is too long: "+words.Grouped(mostForm)+" bytes are the limit.")
	case err != nil:
		return problem.Torn
	}
	return nil
}

// showBody answers with a page that shows something.
func (v *visit) showBody(p *page, body any) error {
	s := v.sheet(p, body)
	var text bytes.Buffer
	if err := p.text.ExecuteTemplate(&text, "layout", s); err != nil {
		return err
	}
	return v.answer(http.StatusOK, text.Bytes())
}

func (v *visit) sheet(p *page, body any) *sheet {
	s := &sheet{Title: p.title, Page: v.name, Topic: v.param("topic"), Name: v.cfg.Title, Namespace: v.cfg.Namespace, Act: v.acts(v.param("topic")), Doctor: v.looksAtAll(), SignedIn: v.cfg.Tokens != nil && v.holder != nil,
		Hides: v.contents.Hidden, Done: pages.Done(v.r.URL.Query()), Gone: strings.HasPrefix(v.param("done"), "cancelled") || v.param("gone") != "", Problem: v.problem, Body: body}
	if (v.cfg.Tokens != nil || v.cfg.Who != nil) && v.name != "signin" {
		s.Who = v.who
	}
	if p.live && !v.still {
		q := url.Values{}
		for name, all := range v.r.URL.Query() {
			if name != "done" && name != "n" {
				q[name] = all
			}
		}
		if s.Gone {
			q.Set("gone", "1")
		}
		q.Set("page", v.name)
		s.Stream = "live?" + q.Encode()
	}
	return s
}

func (v *visit) answer(status int, text []byte) error {
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	if v.r.Method != http.MethodHead {
		_, _ = v.w.Write(text) // who asked has gone
	}
	return nil
}

// goTo answers a form: the browser goes to a page by itself, and asks for that again when it is reloaded.
func (v *visit) goTo(page string, q url.Values) error {
	if len(q) > 0 {
		page += "?" + q.Encode()
	}
	return v.redirect(page)
}

// redirect leads the browser to an address.
func (v *visit) redirect(page string) error {
	v.w.Header().Set("Location", cmp.Or(page, "./")) // relative: what stands before it is not known
	v.w.WriteHeader(http.StatusSeeOther)
	return nil
}

// of is what is known of a subject that the page shows. If the last try to read it went wrong, the page says so, and
// shows what was known before; if there is nothing, that is the error.
func of[T any](v *visit, name string, read func(context.Context) (any, error)) (T, time.Time, error) {
	if v.subjects == nil {
		v.subjects = map[string]bool{}
	}
	v.subjects[name] = true
	got := v.collector.Get(v.ctx, name, v.fresh, read)
	value, is := got.Value.(T)
	switch {
	case !is && got.Err == nil:
		return value, got.At, v.ctx.Err()
	case !is:
		return value, got.At, got.Err
	case got.Err != nil:
		v.problem = v.problemOf(got)
	}
	return value, got.At, nil
}
