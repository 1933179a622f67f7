package messages

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

	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

// A chunk has at most so many messages, and about so many bytes. It is sent earlier when
// no further line has come for a while.
const (
	perChunk   = 500
	chunkBytes = 4 << 20
	lull       = 100 * time.Millisecond
)

// longestLine has room for a content with each byte written as \u0000, and for the rest.
const longestLine = 6*longestContent + 1<<20

// batch sends a file, chunk by chunk.
type batch struct {
	*sending
	to    *producer.Producer
	flags wire.Draft
	lines <-chan textLine
	size  int64 // of the file; 0: not known
	read  int64 // bytes
	line  int   // the last that was read

	drafts  []wire.Draft // the chunk
	numbers []int        // its lines
	batchJSON
}

type batchJSON struct {
	Topic      string `json:"topic"`
	Sent       int    `json:"sent"`
	Stored     int    `json:"stored"`
	Merged     int    `json:"merged"`
	Duplicates int    `json:"duplicates,omitempty"`
	Line       int    `json:"last_line"` // of those that were sent, with all before it
}

// textLine is one line of the input, or why there is no further one.
type textLine struct {
	text []byte
	err  error
}

// linesOf reads lines, one ahead of the caller, until quit is closed.
func linesOf(from io.Reader, longest int, quit <-chan struct{}) <-chan textLine {
	lines := make(chan textLine)
	pass := func(l textLine) bool {
		select {
		case lines <- l:
			return true
		case <-quit:
			return false
		}
	}
	go func() { // which ends with the process, if nothing comes
		s := bufio.NewScanner(from)
		s.Buffer(nil, longest)
		for s.Scan() {
			if !pass(textLine{text: bytes.Clone(s.Bytes())}) {
				return
			}
		}
		err := s.Err()
		switch {
		case errors.Is(err, bufio.ErrTooLong):
			err = fmt.Errorf("it is longer than %d MiB", longest>>20)
		case err == nil:
			err = io.EOF
		}
		pass(textLine{err: err})
	}()
	return lines
}

// errLine is the error of a line.
type errLine struct {
	line int
	err  error
	mend bool // the line is wrong, and will be
}

func (e *errLine) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *errLine) Unwrap() error { return e.err }

func (s *sending) sendBatch(ctx context.Context) error {
	if s.fromLine < 1 {
		return frame.Misused("--from-line is %d; it must be 1 or more", s.fromLine)
	}
	flags, err := s.draft()
	if err != nil {
		return err
	}
	b := &batch{sending: s, flags: flags, batchJSON: batchJSON{Topic: s.To.Name, Line: s.fromLine - 1}}
	from := s.In
	if s.batch != "-" {
		f, err := os.Open(s.batch)
		if err != nil {
			return frame.Misused("--batch: %w", err)
		}
		defer f.Close()
		if about, err := f.Stat(); err == nil && about.Mode().IsRegular() {
			b.size = about.Size()
		}
		from = f
	}
	if b.to, err = s.open(ctx); err != nil {
		return err
	}
	defer b.to.Close(context.WithoutCancel(ctx)) // when all sends have been answered
	quit := make(chan struct{})
	defer close(quit)
	b.lines = linesOf(from, longestLine, quit)
	bar := s.Progress("send", 0)
	err = b.all(ctx, bar)
	bar.End()
	if err != nil {
		return b.stopped(ctx, err)
	}
	return b.report()
}

// all sends chunk after chunk. A signal ends it between two of them.
func (b *batch) all(ctx context.Context, bar *frame.Progress) error {
	for {
		readErr := b.chunk(ctx)
		// The lines read so far are sent, even if the next one is wrong.
		if err := b.send(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		switch {
		case errors.Is(readErr, io.EOF):
			b.Line = b.line
			return nil
		case readErr != nil:
			return readErr
		}
		if b.size > 0 && b.read > 0 {
			bar.Total = int(float64(b.Sent) * float64(b.size) / float64(b.read))
		}
		bar.Show(b.Sent)
	}
}

// chunk reads the next lines. The error is io.EOF after the last, that of ctx, or an errLine.
func (b *batch) chunk(ctx context.Context) error {
	b.drafts, b.numbers = b.drafts[:0], b.numbers[:0]
	for size := 0; len(b.drafts) < perChunk && size < chunkBytes; {
		l, err := b.next(ctx, len(b.drafts) > 0 && b.size == 0)
		switch {
		case errors.Is(err, errLull):
			return nil
		case err != nil:
			return err
		}
		b.line++
		b.read += int64(len(l)) + 1
		text := bytes.TrimSpace(l)
		if b.line < b.fromLine || len(text) == 0 {
			continue
		}
		p, err := wire.ReadMessage(text, b.flags, humantime.ParseInstant)
		if err != nil {
			return &errLine{b.line, err, true}
		}
		b.drafts, b.numbers = append(b.drafts, p), append(b.numbers, b.line)
		size += len(p.Content)
	}
	return nil
}

// errLull means that no line has come for a while.
var errLull = errors.New("no line has come")

// next returns the next line. If hurried, since other lines wait to be sent, it waits only a
// short while.
func (b *batch) next(ctx context.Context, hurry bool) ([]byte, error) {
	if err := ctx.Err(); err != nil { // also while lines come
		return nil, err
	}
	var over <-chan time.Time
	if hurry {
		over = time.After(lull)
	}
	select {
	case l := <-b.lines:
		if l.err != nil {
			return nil, b.end(l.err)
		}
		return l.text, nil
	case <-over:
		return nil, errLull
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// end says why there is no further line.
func (b *batch) end(err error) error {
	switch {
	case !errors.Is(err, io.EOF):
		return &errLine{b.line + 1, err, false}
	case b.line < b.fromLine-1:
		return frame.Misused("--from-line is %d, and there are %s", b.fromLine, words.Count(b.line, "line"))
	}
	return err
}

// send sends the lines of the chunk before the first wrong one.
func (b *batch) send(ctx context.Context) error {
	// A delay counts from the send, not from when the line was read.
	var err error
	var messages []message.Message
	for n, p := range b.drafts {
		m, wrong := p.Message(b.To)
		if wrong != nil {
			err = &errLine{b.numbers[n], wrong, true}
			break
		}
		messages = append(messages, m)
	}
	if sendErr := b.sendMessages(ctx, messages); sendErr != nil {
		return sendErr
	}
	return err
}

func (b *batch) sendMessages(ctx context.Context, messages []message.Message) error {
	if len(messages) == 0 {
		return nil
	}
	receipts, err := b.to.SendBatch(ctx, b.To, messages)
	if errors.Is(err, message.ErrInvalid) { // nothing of it was sent; one by one we find out which it is
		for n, m := range messages {
			receipt, err := b.to.Send(ctx, b.To, m)
			if err != nil {
				return &errLine{b.numbers[n], err, errors.Is(err, message.ErrInvalid)}
			}
			b.count(receipt)
			b.Line = b.numbers[n]
		}
		return nil
	}
	var failed *message.BatchError
	if errors.As(err, &failed) {
		first, err := b.numbers[failed.Indexes[0]], failed.Errs[0]
		if more := len(failed.Indexes) - 1; more > 0 {
			err = fmt.Errorf("%w, and so with %d more of those up to line %d", err, more, b.line)
		}
		b.Line = first - 1
		return &errLine{first, err, false}
	}
	if err != nil {
		return err
	}
	for _, r := range receipts {
		b.count(r)
	}
	b.Line = b.numbers[len(messages)-1]
	return nil
}

func (b *batch) count(r producer.Receipt) {
	b.Sent++
	switch r.Outcome {
	case producer.Merged:
		b.Merged++
	case producer.Duplicate:
		b.Duplicates++
	default:
		b.Stored++
	}
}

// stopped says how far it got, and how to go on.
func (b *batch) stopped(ctx context.Context, err error) error {
	var misuse *frame.Error
	if errors.As(err, &misuse) {
		return err
	}
	far := fmt.Sprintf("lines %d to %d were sent", b.fromLine, b.Line)
	switch {
	case b.Line < b.fromLine:
		far = "nothing was sent"
	case b.Line == b.fromLine:
		far = fmt.Sprintf("line %d was sent", b.Line)
	}
	goOn := b.Again(map[string]string{"from-line": strconv.Itoa(b.Line + 1)})
	var bad *errLine
	switch {
	case !errors.As(err, &bad) || !bad.mend:
		return b.Halted(ctx, err, far, goOn)
	case b.Line == 0:
		return b.Ended(ctx, err, fmt.Sprintf("%s; mend line %d and send the file again", far, bad.line))
	}
	return b.Ended(ctx, err, fmt.Sprintf("%s; mend line %d, then go on with: %s", far, bad.line, goOn))
}

func (b *batch) report() error {
	line := fmt.Sprintf("sent %s to %s: %s stored, %s merged", words.Count(b.Sent, "message"), words.Legible(b.To.Name), words.Grouped(b.Stored), words.Grouped(b.Merged))
	if b.Duplicates > 0 {
		line += ", " + words.Count(b.Duplicates, "duplicate")
	}
	return b.Answer(b.batchJSON, "%s", line)
}
