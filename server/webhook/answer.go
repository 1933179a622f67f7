package webhook

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/rmq"
)

// Bounds of what Retry-After asks for: a target cannot stop a topic for days.
const shortestWait, longestWait = time.Second, time.Hour

// judge says what becomes of a message that the target has answered, and whether it surely was not handled.
//
//   - 410, or the header Rmq-Dead: 1 with any status: it is dead.
//   - 2xx: it is done, unless the body breaks off.
//   - 429 and 503 with Retry-After: it comes again then, and the delivery does not count.
//   - All else, with redirects: it has failed.
func (l *listener) judge(a answer) (back bool, err error) {
	now := time.Now()
	wait, patience := a.retryAfter(now)
	if !patience {
		l.brake.answered()
	}
	switch {
	case a.status == http.StatusGone, a.header.Get("Rmq-Dead") == "1":
		return false, rmq.Dead(l.errorOf(a))
	case patience:
		l.brake.asked(now, wait)
		return a.written == 1, fmt.Errorf("%w: %w", l.errorOf(a), rmq.Later(wait))
	case a.status/100 == 2 && a.broken == nil:
		return false, nil
	}
	return false, l.errorOf(a)
}

// retryAfter is how long the target asks to wait, and whether it does.
func (a answer) retryAfter(now time.Time) (time.Duration, bool) {
	if a.status != http.StatusTooManyRequests && a.status != http.StatusServiceUnavailable {
		return 0, false
	}
	text := strings.TrimSpace(a.header.Get("Retry-After"))
	if at, err := http.ParseTime(text); err == nil {
		if its, err := http.ParseTime(a.header.Get("Date")); err == nil { // its clock may be another one
			now = its
		}
		return min(max(at.Sub(now), shortestWait), longestWait), true
	}
	seconds, err := strconv.ParseUint(text, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return time.Duration(min(max(seconds, uint64(shortestWait/time.Second)), uint64(longestWait/time.Second))) * time.Second, true
}

// errorOf is an answer in one line.
func (l *listener) errorOf(a answer) error {
	text := fmt.Sprintf("%s answered %d", l.shown, a.status)
	if name := http.StatusText(a.status); name != "" {
		text += " " + name
	}
	if a.status/100 == 3 {
		text += ", and redirects are not followed: set the new URL"
	}
	if line := firstLine(a.body, longestBodyLine); line != "" {
		text += ": " + line
	}
	if a.broken != nil {
		text += "; its body broke off: " + a.broken.Error()
	}
	return errors.New(text)
}
