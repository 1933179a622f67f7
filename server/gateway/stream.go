package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/wire"
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
			if strings.EqualFold(strings.TrimSpace(kind), streamType) {
				return true
			}
		}
	}
	return false
}

// stream begins such an answer.
func (c *call) stream() *stream {
	c.begun = true
	h := c.w.Header()
	h.Set("Content-Type", streamType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // a proxy is not to collect it
	begin(c.w)
	return &stream{call: c}
}

// begin writes the head of an answer whose first part may be long in coming.
func begin(w http.ResponseWriter) {
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
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
		s.line(map[string]*problem{"problem": s.problem(err).full()}, true)
		return err
	case missing != nil:
		s.line(map[string][]wire.Missing{"missing": missing}, true)
	}
	return s.err
}
