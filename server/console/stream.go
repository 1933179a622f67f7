package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/slotmq/go-rmq/server/console/internal/collector"
	"github.com/slotmq/go-rmq/server/console/internal/pages"
	"github.com/slotmq/go-rmq/server/console/internal/problem"
)

// The stream of a page has what has changed of it, as server-sent events: each is the live part of the page, as HTML
// in a JSON string. It has no ids: a browser that comes back gets what is there now.

const (
	breath       = 15 * time.Second // between signs of life, so that proxies do not cut it off
	writeWithin  = 10 * time.Second // each
	comeBackInMs = 3000
)

// live is a page that is followed.
type live struct {
	*visit
	page *page
	to   *http.ResponseController
}

func stream(v *visit) error {
	p := v.pages[v.param("page")]
	if p == nil || !p.live {
		return problem.Missing("There is no stream of this page.")
	}
	if err := v.hold(); err != nil {
		return err
	}
	defer v.running.Done()
	select {
	case v.streams <- struct{}{}:
		defer func() { <-v.streams }()
	default:
		return problem.New(http.StatusTooManyRequests, fmt.Sprintf("%d pages are followed live already, which is the limit. Load this page again to see new numbers.", mostStreams))
	}
	v.name = v.param("page")
	out := &live{visit: v, page: p, to: http.NewResponseController(v.w)}
	h := v.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // proxies that would wait for more
	if v.r.Method == http.MethodGet && out.write(fmt.Sprintf("retry: %d\n\n", comeBackInMs)) {
		out.follow()
	}
	return nil
}

// follow sends what changes on a page, until its reader has gone or may not look any
// more.
func (v *live) follow() {
	w, stop := v.collector.Watch()
	defer stop()
	alive := time.NewTicker(breath)
	defer alive.Stop()
	var sent []byte
	for v.mayStill() {
		html, err := v.text(sent == nil)
		if v.r.Context().Err() != nil || v.closing.Err() != nil {
			return
		}
		if errors.Is(err, errBusy) { // the browser comes back
			return
		}
		if err != nil {
			html = []byte(pages.ProblemText(v.say(err)))
		}
		if !bytes.Equal(html, sent) {
			text, _ := json.Marshal(string(html))
			if !v.write("data: " + string(text) + "\n\n") {
				return
			}
			sent = html
		}
		v.collector.Follow(w, v.subjects)
		if !v.hears(w, alive) {
			return
		}
	}
}

// hears waits for a change, and sends signs of life while it waits. It reports false if the stream must
// end.
func (v *live) hears(w *collector.Watch, alive *time.Ticker) bool {
	for {
		select {
		case <-w.Changed:
			return true
		case <-alive.C:
			if !v.mayStill() || !v.write(": \n\n") {
				return false
			}
		case <-v.closing.Done():
			return false
		case <-v.r.Context().Done():
			return false
		}
	}
}

// text is the part of a page that changes. For the first one a page may have much read, as when it is opened.
func (v *live) text(first bool) ([]byte, error) {
	var cancel context.CancelFunc
	v.ctx, cancel = context.WithTimeout(v.r.Context(), v.answerWithin)
	defer cancel()
	defer context.AfterFunc(v.closing, cancel)()
	v.subjects, v.problem = map[string]bool{}, ""
	if v.page.asks && first {
		if err := v.enter(v.asking); err != nil {
			return nil, err
		}
		defer func() { <-v.asking }()
	}
	body, err := v.page.load(v.visit)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = v.page.text.ExecuteTemplate(&text, "living", v.sheet(v.page, body))
	return text.Bytes(), err
}

// write reports whether the browser is still there.
func (v *live) write(text string) bool {
	_ = v.to.SetWriteDeadline(time.Now().Add(writeWithin)) // a server may not have deadlines
	if _, err := v.w.Write([]byte(text)); err != nil {
		return false
	}
	return v.to.Flush() == nil
}
