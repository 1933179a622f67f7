package webhook

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/message"
)

// What becomes of a message after each answer, and what people read about it.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const page = "\n  <b>no \x1b[31msuch \torder\n second line"
	for _, c := range []struct {
		status int
		header string // Name: value
		want   message.What
		words  string
	}{
		{200, "", message.Done, ""},
		{201, "", message.Done, ""},
		{204, "", message.Done, ""},
		{299, "", message.Done, ""},
		{410, "", message.Died, "answered 410 Gone: <b>no [31msuch order"},
		{400, "Rmq-Dead: 1", message.Died, "answered 400 Bad Request: <b>no [31msuch order"},
		{200, "Rmq-Dead: 1", message.Died, "answered 200 OK"},
		{400, "Rmq-Dead: 0", message.Failed, "answered 400"},
		{400, "", message.Failed, "answered 400 Bad Request: <b>no [31msuch order"},
		{404, "", message.Failed, "answered 404 Not Found"},
		{422, "", message.Failed, "answered 422"},
		{500, "", message.Failed, "answered 500 Internal Server Error"},
		{500, "Retry-After: 7", message.Failed, "answered 500"},
		{599, "", message.Failed, "answered 599: <b>no"},
		{429, "", message.Failed, "answered 429"},
		{503, "", message.Failed, "answered 503"},
		{503, "Retry-After: soon", message.Failed, "answered 503"},
		{429, "Retry-After: -1", message.Failed, "answered 429"},
		{429, "Retry-After: 7", message.Snoozed, "answered 429 Too Many Requests: <b>no [31msuch order: put back by its handler for 7s"},
		{503, "Retry-After: 0", message.Snoozed, "for 1s"},
		{503, "Retry-After: 3600", message.Snoozed, "for 1h0m0s"},
		{503, "Retry-After: 99999999", message.Snoozed, "for 1h0m0s"},
		{503, "Retry-After: 99999999999999999999999", message.Snoozed, "for 1h0m0s"},
		{429, "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT", message.Snoozed, "for 1s"},
		{429, "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT", message.Snoozed, "for 1h0m0s"},
		{304, "", message.Failed, "answered 304 Not Modified, and redirects are not followed"},
	} {
		r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
			if name, value, is := strings.Cut(c.header, ": "); is {
				w.Header().Set(name, value)
			}
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(page)) // refused for some
		})
		l, _ := listenerTo(t, r.URL)
		t.Run(fmt.Sprint(c.status, c.header), func(t *testing.T) {
			if c.words == "" {
				became(t, l, c.want)
			} else {
				became(t, l, c.want, r.URL+" ", c.words)
			}
		})
	}
}

// A date is by the clock that the answer shows.
func TestRetryAfterByAnotherClock(t *testing.T) {
	t.Parallel()
	at := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", at.Format(http.TimeFormat))
		w.Header().Set("Retry-After", at.Add(90*time.Second).Format(http.TimeFormat))
		w.WriteHeader(http.StatusTooManyRequests)
	})
	l, _ := listenerTo(t, r.URL)
	became(t, l, message.Snoozed, "for 1m30s")
}

// A redirect is not followed, wherever it leads: the address behind it gets nothing.
func TestRedirects(t *testing.T) {
	t.Parallel()
	behind := receive(t, nil)
	for _, code := range []int{301, 302, 303, 307, 308} {
		r := receive(t, func(w http.ResponseWriter, q *http.Request) { http.Redirect(w, q, behind.URL+"/hush", code) })
		l, _ := listenerTo(t, r.URL)
		became(t, l, message.Failed, fmt.Sprint("answered ", code), "redirects are not followed: set the new URL")
	}
	if n := behind.accepted.Load(); n > 0 {
		t.Errorf("%d connections to where the redirects lead", n)
	}
}

// A target that asks for patience once is asked for the next message; one that does it again and again is left alone.
func TestPatience(t *testing.T) {
	t.Parallel()
	busy := true
	r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		if busy {
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	l, _ := listenerTo(t, r.URL)
	for range patientAfter - 1 {
		became(t, l, message.Snoozed)
	}
	busy = false
	became(t, l, message.Done)
	busy = true
	for range patientAfter {
		became(t, l, message.Snoozed)
	}
	before := len(r.got)
	became(t, l, message.HandedBack, "takes nothing at present")
	if len(r.got) != before {
		t.Error("it was asked once more")
	}
	if rest := l.brake.rest(time.Now()); rest < 50*time.Second || rest > time.Minute {
		t.Errorf("it is left alone for %v", rest)
	}
}
