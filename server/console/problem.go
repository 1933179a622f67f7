package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/message"
)

// What went wrong, in words, and where to go on.

// problem is an answer that is not the page that was asked for.
type problem struct {
	status int
	text   string
}

func (p *problem) Error() string { return p.text }

// errBusy is the answer where too much is being read.
var errBusy = &problem{http.StatusServiceUnavailable, "Too many lists and searches are running. Try again in a minute."}

// refused is an answer to a form that has a mistake.
func refused(text string) error { return &problem{http.StatusUnprocessableEntity, text} }

// mistake reports whether an error is a mistake in a form, which its page can show.
func mistake(err error) bool {
	var p *problem
	var invalid *message.InvalidError
	return errors.As(err, &p) && p.status == http.StatusUnprocessableEntity || errors.As(err, &invalid)
}

// errTorn is the answer to a form that is not as a page made it.
var errTorn = refused("The form is incomplete. Open its page again.")

// titles are what stands above a problem, by the class of its status.
var titles = map[int]string{
	http.StatusUnauthorized: "Sign in", http.StatusForbidden: "Not allowed", http.StatusNotFound: "Not here",
	http.StatusServiceUnavailable: "Not now", http.StatusTooManyRequests: "Not now",
	http.StatusBadGateway: "That did not work", http.StatusGatewayTimeout: "That did not work",
}

// fail answers with what went wrong.
func (v *visit) fail(err error) {
	var p *problem
	var invalid *message.InvalidError
	status := http.StatusBadGateway
	switch {
	case errors.As(err, &p):
		status = p.status
	case errors.Is(err, inspector.ErrUnknownTopic):
		status = http.StatusNotFound
	case errors.As(err, &invalid):
		status = http.StatusUnprocessableEntity
	case errors.Is(err, context.DeadlineExceeded):
		status = http.StatusGatewayTimeout
	case errors.Is(err, context.Canceled) && v.r.Context().Err() != nil:
		return // who asked has gone
	}
	title, known := titles[status]
	if !known {
		title = "That cannot be done"
	}
	text := v.say(err)
	var out bytes.Buffer
	s := v.sheet(&page{}, problemBody{text, v.cameFrom()})
	s.Topic, s.Title = "", title
	if err := problemPage.ExecuteTemplate(&out, "layout", s); err != nil {
		http.Error(v.w, text, status)
		return
	}
	_ = v.answer(status, out.Bytes())
}

// problemBody is what the page of a problem shows.
type problemBody struct{ Text, Back string }

// cameFrom is the page that had the form or the link, as the browser says; empty: not known.
func (v *visit) cameFrom() string {
	u, err := url.Parse(v.r.Referer())
	if err != nil || u.Path == "" {
		return ""
	}
	name := u.Path[strings.LastIndex(u.Path, "/")+1:]
	if p := v.pages[name]; p == nil || p.load == nil || name == v.name {
		return ""
	}
	if name == "" {
		name = "./"
	}
	if u.RawQuery != "" {
		name += "?" + u.RawQuery
	}
	return name
}

// say is an error as who asks may read it: who may look at some topics only learns no names of others.
func (v *visit) say(err error) string {
	var p *problem
	switch {
	case errors.As(err, &p):
		return p.text
	case errors.Is(err, inspector.ErrUnknownTopic) && !v.looksAtAll():
		return "There is no such topic."
	case errors.Is(err, context.DeadlineExceeded):
		return "Redis did not answer in time: " + sentence(err)
	case cluster.Unanswered(err):
		return "Redis does not answer. " + sentence(err)
	}
	return sentence(err)
}

// problemOf says what went wrong, since when, and how old what you see is.
func (v *visit) problemOf(got reading) string {
	return fmt.Sprintf("%s You see what was there %s. This has gone wrong for %s, and is tried again.",
		v.say(got.err), humantime.Ago(time.Since(got.at)), humantime.Duration(time.Since(got.failing)))
}
