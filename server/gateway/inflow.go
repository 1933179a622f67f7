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
	"slices"
	"time"

	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/server/gateway/internal/problem"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
)

// Messages of a stream are sent in groups: those that have come, but at most so many, and about so many
// bytes.
const (
	groupMessages = 500
	groupBytes    = 1 << 20
)

// inflow is a body of lines, each a message, and the answer of lines about them. It keeps one group in memory; while its
// answers are not read, no further lines are.
type inflow struct {
	*call
	to    *sends
	conn  *http.ResponseController
	from  *bufio.Reader
	line  int    // the last that was read
	long  []byte // a line that is longer than the buffer
	group []request.Message
	fates []fate
	out   bytes.Buffer
	lines *json.Encoder // to out
}

// sendStream sends a stream.
func (to *sends) sendStream(c *call) error {
	if _, err := to.defined.known(c.ctx(), c.topic()); err != nil {
		return err
	}
	s := &inflow{call: c, to: to, conn: http.NewResponseController(c.w), from: bufio.NewReaderSize(c.r.Body, 64<<10)}
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
	if c.r.ProtoMajor == 1 {
		// The rest of a stream that ends early must not be taken for the next request. And net/http panics if the
		// answer has begun, the connection is kept, and it then reads the body to its end.
		c.w.Header().Set("Connection", "close")
	}
	c.stream()
	for {
		readErr := s.read()
		s.send()
		if readErr != nil && !errors.Is(readErr, io.EOF) {
			s.add(outcome{Line: s.line + 1, Error: s.ended(readErr).Full()})
			_ = s.conn.SetReadDeadline(time.Now().Add(s.bodyWithin)) // net/http reads what is left, or a part of it
		}
		if err := s.flush(); err != nil || readErr != nil {
			return nil // a client that does not read the answers does not read a problem
		}
	}
}

// ended says why the stream was not read to its end.
func (s *inflow) ended(err error) *problem.Problem {
	switch {
	case s.closing.Err() != nil:
		return problem.NotNow("unavailable", problem.Soon, "this gateway is being stopped: send again from this line on")
	case errors.Is(err, errLongLine):
		return problem.TooLarge(s.cfg.MaxBody, "the line is longer than %d bytes, and the stream ends here: start rmqd serve with a larger --max-body")
	}
	return problem.BadRequest("the body did not arrive whole, and from this line on nothing was sent: %v", err)
}

var errLongLine = errors.New("the line is too long")

// read reads the next group: it waits for a line, and takes those that have come behind it. The error is io.EOF behind
// the last line.
func (s *inflow) read() error {
	s.group = s.group[:0]
	for size := 0; len(s.group) < groupMessages && size < groupBytes; {
		if len(s.group) > 0 && !s.lineHasCome() {
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
			s.group = append(s.group, request.ReadLine(s.line, text))
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
	if len(s.group) == 0 {
		return
	}
	s.fates = slices.Grow(s.fates[:0], len(s.group))[:len(s.group)]
	whole := s.to.deliver(s.call, request.Topic{}, s.group, s.fates)
	for n := range s.group {
		line, x := s.group[n].Line, &s.fates[n]
		err := x.err
		if err == nil {
			err = whole
		}
		if err != nil {
			s.add(outcome{Line: line, Error: s.problem(err).Full()})
			continue
		}
		r := wire.ReceiptOf(x.receipt)
		s.add(outcome{Line: line, Receipt: &r})
	}
	clear(s.group)
	clear(s.fates)
}

func (s *inflow) add(o outcome) { _ = s.lines.Encode(o) } // into memory

// flush writes the answers. If the client does not read them, it gives up.
func (s *inflow) flush() error {
	_, err := s.w.Write(s.out.Bytes())
	s.out.Reset()
	if err == nil {
		err = s.conn.Flush()
	}
	return err
}
