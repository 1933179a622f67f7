package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

const (
	perChunk    = 500
	longestLine = 4 << 20 // a content of 256 KiB, each byte of it written as \u0000, and some
)

// batch is what is sent of a file, chunk by chunk.
type batch struct {
	*sending
	lines *bufio.Scanner
	size  int64 // of the file; 0: not known
	read  int64 // bytes
	line  int   // the last that was read
	sent  int   // the last of those that were sent, with all before it

	messages []message.Message // the chunk
	numbers  []int             // its lines

	done, stored, merged int
}

// errLine is what is wrong with a line.
type errLine struct {
	line int
	err  error
}

func (e *errLine) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *errLine) Unwrap() error { return e.err }

func (s *sending) sendBatch(ctx context.Context) error {
	if s.fromLine < 1 {
		return misused("--from-line is %d; it must be 1 or more", s.fromLine)
	}
	b := &batch{sending: s, sent: s.fromLine - 1}
	var from io.Reader
	if s.batch == "-" {
		from = untilDone(ctx, s.app.in)
	} else {
		f, err := os.Open(s.batch)
		if err != nil {
			return misused("--batch: %w", err)
		}
		defer f.Close()
		if about, err := f.Stat(); err == nil && about.Mode().IsRegular() {
			b.size = about.Size()
		}
		from = f
	}
	b.lines = bufio.NewScanner(from)
	b.lines.Buffer(nil, longestLine)
	bar := s.progress("send", 0)
	err := b.all(ctx, bar)
	bar.end()
	if err != nil {
		return b.stopped(ctx, err)
	}
	return b.tell()
}

// untilDone ends reading when ctx is done, which a read from a terminal or a pipe itself does
// not.
func untilDone(ctx context.Context, from io.Reader) io.Reader {
	out, in := io.Pipe()
	go func() { // which ends with the process, if nothing comes
		_, err := io.Copy(in, from)
		in.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { out.CloseWithError(ctx.Err()) })
	return out
}

// all sends chunk after chunk. A signal ends it between two of them.
func (b *batch) all(ctx context.Context, bar *progress) error {
	for {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		readErr := b.chunk(ctx)
		// What was read is sent, also when what follows is wrong.
		if err := b.send(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		switch {
		case errors.Is(readErr, io.EOF):
			b.sent = b.line
			return nil
		case readErr != nil:
			return readErr
		}
		if b.size > 0 && b.read > 0 {
			bar.total = int(float64(b.done) * float64(b.size) / float64(b.read))
		}
		bar.show(b.done)
	}
}

// chunk reads the next messages. The error is io.EOF behind the last, or an errLine.
func (b *batch) chunk(ctx context.Context) error {
	b.messages, b.numbers = b.messages[:0], b.numbers[:0]
	now := time.Time{}
	var err error
	if b.topic.Kind == message.KindFixedTime {
		if now, err = b.now(ctx); err != nil {
			return err
		}
	}
	flags := b.given()
	for len(b.messages) < perChunk {
		if !b.lines.Scan() {
			return b.end()
		}
		b.line++
		b.read += int64(len(b.lines.Bytes())) + 1
		text := bytes.TrimSpace(b.lines.Bytes())
		if b.line < b.fromLine || len(text) == 0 {
			continue
		}
		p, err := parseLine(text, flags)
		if err != nil {
			return &errLine{b.line, err}
		}
		m, err := p.message(b.topic, now)
		if err != nil {
			return &errLine{b.line, err}
		}
		b.messages, b.numbers = append(b.messages, m), append(b.numbers, b.line)
	}
	return nil
}

// end says why there is no further line.
func (b *batch) end() error {
	err := b.lines.Err()
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		return &errLine{b.line + 1, errors.New("it is longer than 4 MiB")}
	case err != nil:
		return &errLine{b.line + 1, err}
	case b.line < b.fromLine-1:
		return misused("--from-line is %d, and there are %s", b.fromLine, things(b.line, "line"))
	}
	return io.EOF
}

// send sends the chunk.
func (b *batch) send(ctx context.Context) error {
	if len(b.messages) == 0 {
		return nil
	}
	receipts, err := b.producer.SendBatch(ctx, b.topic, b.messages)
	if errors.Is(err, message.ErrInvalid) { // nothing of it was sent; one by one tells which it is
		for n, m := range b.messages {
			receipt, err := b.producer.Send(ctx, b.topic, m)
			if err != nil {
				return &errLine{b.numbers[n], err}
			}
			b.count(receipt)
			b.sent = b.numbers[n]
		}
		return nil
	}
	var failed *producer.BatchError
	if errors.As(err, &failed) {
		first, err := b.numbers[failed.Indexes[0]], failed.Errs[0]
		if more := len(failed.Indexes) - 1; more > 0 {
			err = fmt.Errorf("%w, and so with %d more of those up to line %d", err, more, b.line)
		}
		b.sent = first - 1
		return &errLine{first, err}
	}
	if err != nil {
		return err
	}
	for _, r := range receipts {
		b.count(r)
	}
	b.sent = b.numbers[len(b.numbers)-1]
	return nil
}

func (b *batch) count(r producer.Receipt) {
	b.done++
	if r.Outcome == producer.Merged {
		b.merged++
	} else {
		b.stored++
	}
}

// stopped says how far it got, and how to go on.
func (b *batch) stopped(ctx context.Context, err error) error {
	var misuse *failure
	if errors.As(err, &misuse) {
		return err
	}
	far := fmt.Sprintf("lines %d to %d were sent", b.fromLine, b.sent)
	if b.sent < b.fromLine {
		far = "nothing was sent"
	}
	return b.halted(ctx, err, far, again(b.cmd, b.args, map[string]string{"from-line": strconv.Itoa(b.sent + 1)}))
}

type batchJSON struct {
	Topic  string `json:"topic"`
	Sent   int    `json:"sent"`
	Stored int    `json:"stored"`
	Merged int    `json:"merged"`
	Line   int    `json:"last_line"`
}

func (b *batch) tell() error {
	if b.json {
		return b.object(batchJSON{b.topic.Name, b.done, b.stored, b.merged, b.sent})
	}
	b.say("sent %s to %s: %s stored, %s merged", things(b.done, "message"), legible(b.topic.Name), grouped(b.stored), grouped(b.merged))
	return nil
}
