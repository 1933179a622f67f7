package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/wire"
)

// Messages of a stream are sent in groups: those that have come, up to so many, of about so many bytes.
const (
	groupMessages = 500
	groupBytes    = 1 << 20
)

// inflow is a body of lines, each a message, and the answer of lines about them. It keeps one group in memory; while its
// answers are not read, no further lines are.
type inflow struct {
	*call
	conn  *http.ResponseController
	from  *bufio.Reader
	line  int    // the last that was read
	long  []byte // a line that is longer than the buffer
	items []item
	out   bytes.Buffer
	lines *json.Encoder // to out
}

// sendStream sends a stream.
func (c *call) sendStream() error {
	if _, err := c.known(c.r.PathValue("topic")); err != nil {
		return err
	}
	s := &inflow{call: c, conn: http.NewResponseController(c.w), from: bufio.NewReaderSize(c.r.Body, 64<<10)}
	s.lines = json.NewEncoder(&s.out)
	s.lines.SetEscapeHTML(false)
	if err := s.conn.EnableFullDuplex(); err != nil {
		return fmt.Errorf("read a stream while it is answered: %w", err)
	}
	_ = s.conn.SetReadDeadline(time.Time{}) // lines may be far apart; where it cannot be set, there is none
	// A stopping gateway ends the reading; what was read is answered.
	cut := make(chan struct{})
	stop := context.AfterFunc(c.closing, func() { _ = s.conn.SetReadDeadline(time.Unix(1, 0)); close(cut) })
	defer func() {
		if !stop() {
			<-cut // with HTTP/2, a deadline that is set behind the request panics
		}
	}()
	c.begun = true
	h := c.w.Header()
	h.Set("Content-Type", streamType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // a proxy would keep the answers until the end
	if c.r.ProtoMajor == 1 {
		// What is left of a stream that ends early must not be taken for the next request; and net/http panics where it
		// reads it to its end behind an answer that has begun before, and the connection lives on.
		h.Set("Connection", "close")
	}
	begin(c.w)
	for {
		readErr := s.read()
		s.send()
		if readErr != nil && !errors.Is(readErr, io.EOF) {
			s.add(outcome{Line: s.line + 1, Error: s.ended(readErr).full()})
			_ = s.conn.SetReadDeadline(time.Now().Add(s.bodyWithin)) // net/http reads what is left, or a part of it
		}
		if err := s.flush(); err != nil || readErr != nil {
			return nil // if nobody reads the answers, nobody reads a problem
		}
	}
}

// ended says why the stream was not read to its end.
func (s *inflow) ended(err error) *problem {
	switch {
	case s.closing.Err() != nil:
		return &problem{Type: "unavailable", Status: http.StatusServiceUnavailable,
			Detail: "this gateway is being stopped: send again from this line on", after: unavailableFor}
	case errors.Is(err, errLongLine):
		return &problem{Type: "too-large", Status: http.StatusRequestEntityTooLarge, Limit: fmt.Sprintf("%d bytes", s.cfg.MaxBody),
			Detail: fmt.Sprintf("the line is longer than %d bytes, and the stream ends here: start rmqd serve with a larger --max-body", s.cfg.MaxBody)}
	}
	return badRequest("the body did not arrive whole, and from this line on nothing was sent: %v", err)
}

var errLongLine = errors.New("the line is too long")

// read reads the next group: it waits for a line, and takes those that have come behind it. The error is io.EOF behind
// the last line.
func (s *inflow) read() error {
	s.items = s.items[:0]
	for size := 0; len(s.items) < groupMessages && size < groupBytes; {
		if len(s.items) > 0 && !s.lineHasCome() {
			return nil
		}
		if err := s.closing.Err(); err != nil {
			return err
		}
		text, err := s.next()
		if err != nil && (!errors.Is(err, io.EOF) || len(text) == 0) {
			return err
		}
		s.line++
		size += len(text)
		if text = bytes.TrimSpace(text); len(text) > 0 {
			x := item{line: s.line}
			x.note(wire.ReadMessage(text, wire.Draft{}, humantime.ParseStamp))
			s.items = append(s.items, x)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lineHasCome reports whether the next line can be read without waiting.
func (s *inflow) lineHasCome() bool {
	come, _ := s.from.Peek(s.from.Buffered())
	return bytes.IndexByte(come, '\n') >= 0
}

// next is the next line, valid until the next call. With the last one, which has no end of line, comes io.EOF.
func (s *inflow) next() ([]byte, error) {
	text, err := s.from.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		if len(text) > s.cfg.MaxBody+1 {
			err = errLongLine
		}
		return text, err
	}
	s.long = append(s.long[:0], text...)
	for errors.Is(err, bufio.ErrBufferFull) && len(s.long) <= s.cfg.MaxBody+1 {
		text, err = s.from.ReadSlice('\n')
		s.long = append(s.long, text...)
	}
	if len(s.long) > s.cfg.MaxBody+1 {
		return nil, errLongLine
	}
	return s.long, err
}

// send sends the group, and adds the answers.
func (s *inflow) send() {
	if len(s.items) == 0 {
		return
	}
	whole := s.deliver(defining{}, s.items)
	for n := range s.items {
		x := &s.items[n]
		err := x.err
		if err == nil {
			err = whole
		}
		if err != nil {
			s.add(outcome{Line: x.line, Error: s.problem(err).full()})
			continue
		}
		r := wire.ReceiptOf(x.receipt)
		s.add(outcome{Line: x.line, Receipt: &r})
	}
	clear(s.items)
}

func (s *inflow) add(o outcome) { _ = s.lines.Encode(o) } // into memory

// flush writes the answers. If nobody reads them, it gives up.
func (s *inflow) flush() error {
	_, err := s.w.Write(s.out.Bytes())
	s.out.Reset()
	if err == nil {
		err = s.conn.Flush()
	}
	return err
}
