package frame

import (
	"context"
	"errors"
	"fmt"

	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/message"
)

// Sweep is a change of many messages. It may be interrupted, and says how to go on.
type Sweep struct {
	Verb, Done string // as in "purge", "deleted"
	Total      int    // how many are meant
	Rate       Pace   // 0: as fast as it goes
	One        bool   // it is of one message: what goes wrong is no half of it

	Do     func(show func(done int)) (done, lost int, err error) // lost: it is not known of them, since an answer was
	GoOn   func() string                                         // the command that does the rest; empty if there is none
	Report func(goOn string) error                               // says what was done
}

// Run changes them.
func (s Sweep) Run(ctx context.Context, c *Call) error {
	bar := c.Progress(s.Verb, s.Total)
	bar.Most = float64(s.Rate)
	show := bar.Show
	if s.One {
		show = nil
	}
	done, lost, err := s.Do(show)
	bar.End()
	var invalid *message.InvalidError
	switch {
	case err == nil:
		return s.Report("")
	case errors.As(err, &invalid) && invalid.Field == "OlderThan" && !s.One: // in words of the flags; nothing was changed
		return Misused("--died-before is %s; it must be %s", invalid.Value, invalid.Limit)
	case s.One, errors.As(err, &invalid):
		return err
	}
	goOn := s.GoOn()
	if c.JSON {
		s.Report(goOn)
	}
	far := fmt.Sprintf("%s of %s %s", words.Grouped(done), words.Grouped(s.Total), s.Done)
	if lost > 0 {
		far += fmt.Sprintf(", and up to %s more may be %s, since the answer is lost", words.Grouped(lost), s.Done)
	}
	return c.Halted(ctx, err, far, goOn)
}

// About says what a sweep is about to do: such as requeue 7 dead messages of orders, at 100/s (1s).
func (s Sweep) About(verb, noun, topic, tail string) string {
	return fmt.Sprintf("%s %s of %s%s%s", verb, words.Count(s.Total, noun), words.Legible(topic), tail, s.Rate.at(s.Total))
}
