package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/server/gateway/internal/problem"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
)

// stream is an answer of many lines, each a JSON object. It has begun, so what goes wrong is said in its last line.
type stream struct {
	*call
	err error // whoever asked has gone
}

// wantsStream reports whether the answer is to be lines of JSON.
func (c *call) wantsStream() bool {
	for _, accept := range c.r.Header.Values("Accept") {
		for one := range strings.SplitSeq(accept, ",") {
			kind, _, _ := strings.Cut(one, ";")
			if strings.EqualFold(strings.TrimSpace(kind), request.Stream) {
				return true
			}
		}
	}
	return false
}

// stream begins such an answer.
func (c *call) stream() *stream {
	c.w.Header().Set("X-Accel-Buffering", "no") // a proxy is not to collect it until the end
	c.begin(request.Stream, http.StatusOK)
	_ = http.NewResponseController(c.w).SetWriteDeadline(time.Time{}) // its first part may be long in coming
	return &stream{call: c}
}

// work does something that takes a while: in one answer, or in lines that report its progress. do returns the last
// line, which says whether all is done, and, for errors that do not say so, how far it got.
func (c *call) work(do func(report func(line any)) (last func(done bool) any, far string, err error)) error {
	if c.wantsStream() {
		s := c.stream()
		last, _, err := do(func(line any) { s.line(line, true) })
		s.line(last(err == nil), true)
		return s.end(c.undone(err), nil)
	}
	last, far, err := do(func(any) {})
	switch {
	case err == nil:
		return c.answer(http.StatusOK, last(true))
	case far == "":
		return err
	}
	return c.soFar(err, far)
}

// line writes a line. With flush it goes out at once.
func (s *stream) line(v any, flush bool) bool {
	if s.err == nil {
		s.err = json.NewEncoder(s.w).Encode(v)
	}
	if s.err == nil && flush {
		s.err = http.NewResponseController(s.w).Flush()
	}
	return s.err == nil
}

// end writes the last line, if something went wrong or is missing.
func (s *stream) end(err error, missing []wire.Missing) error {
	switch {
	case err != nil:
		s.line(map[string]*problem.Problem{"problem": s.problem(err).Full()}, true)
		return err
	case missing != nil:
		s.line(map[string][]wire.Missing{"missing": missing}, true)
	}
	return s.err
}
