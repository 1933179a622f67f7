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
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/server/console/internal/collector"
	"github.com/slotmq/go-rmq/server/console/internal/pages"
	"github.com/slotmq/go-rmq/server/console/internal/problem"
)

// What went wrong, in words, and where to go on.

// errBusy is the answer where too much is being read.
var errBusy = problem.New(http.StatusServiceUnavailable, "Too many lists and searches are running. Try again in a minute.")

// fail answers with what went wrong.
func (v *visit) fail(err error) {
	var p *problem.Problem
	var invalid *message.InvalidError
	status := http.StatusBadGateway
	switch {
	case errors.As(err, &p):
		status = p.Status
	case errors.Is(err, inspector.ErrUnknownTopic):
		status = http.StatusNotFound
	case errors.As(err, &invalid):
		status = http.StatusUnprocessableEntity
	case errors.Is(err, context.DeadlineExceeded):
		status = http.StatusGatewayTimeout
	case errors.Is(err, context.Canceled) && v.r.Context().Err() != nil:
		return // who asked has gone
	}
	text := v.say(err)
	var out bytes.Buffer
	s := v.sheet(&page{}, problemBody{text, v.cameFrom()})
	s.Topic, s.Title = "", problem.Title(status)
	if err := pages.Problem.ExecuteTemplate(&out, "layout", s); err != nil {
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

// say is an error as this person may read it: it names no topics that they may not look at.
func (v *visit) say(err error) string {
	var p *problem.Problem
	switch {
	case errors.As(err, &p):
		return p.Text
	case errors.Is(err, inspector.ErrUnknownTopic) && !v.looksAtAll():
		return "There is no such topic."
	case errors.Is(err, context.DeadlineExceeded):
		return "Redis did not answer in time: " + problem.Sentence(err)
	case cluster.Unanswered(err):
		return "Redis does not answer. " + problem.Sentence(err)
	}
	return problem.Sentence(err)
}

// incomplete is an error that says only what is missing from a list, as a sentence; or else the error.
func incomplete(err error) (text string, other error) {
	var partial *inspector.PartialError
	if errors.As(err, &partial) {
		return problem.Sentence(err), nil
	}
	return "", err
}

// problemOf says what went wrong, since when, and how old what you see is.
func (v *visit) problemOf(got collector.Reading) string {
	return fmt.Sprintf("%s You see what was there %s. This has gone wrong for %s, and is tried again.",
		v.say(got.Err), humantime.Ago(time.Since(got.At)), humantime.Duration(time.Since(got.Failing)))
}
