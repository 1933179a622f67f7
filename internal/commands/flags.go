package commands

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/wire"
)

// The values of flags, and of the lines of a batch.

// span is a length of time: 90s, 1h30m, and with days 7d or 2d12h.
type span time.Duration

func (s *span) Set(text string) error {
	d, err := humantime.ParseSpan(text)
	*s = span(d)
	return err
}

func (s *span) String() string {
	if *s == 0 { // or the help would call it a default
		return ""
	}
	return time.Duration(*s).String()
}
func (*span) Type() string { return "duration" }

// age is a span that divides old messages from new ones. An age of nothing would mean all
// messages; for that you leave the flag out.
type age struct{ span }

func (a *age) Set(text string) error {
	err := a.span.Set(text)
	if err == nil && time.Duration(a.span) < time.Millisecond {
		return errors.New("less than 1ms; leave it out if the age does not matter")
	}
	return err
}

func isSpan(text string) bool {
	_, err := humantime.ParseSpan(text)
	return err == nil
}

// slotList are slots: 3, or 3,7 or 0-5, and several of these.
type slotList []int

func (l *slotList) Set(text string) error {
	all, err := wire.ParseSlots(text)
	*l = append(*l, all...)
	return err
}

func (l *slotList) String() string { return strings.ReplaceAll(wire.Ranges(*l), ", ", ",") }
func (*slotList) Type() string     { return "slots" }

// instant is a point in time, as rmq prints it here or in JSON.
type instant struct{ time.Time }

func (i *instant) Set(text string) error {
	t, err := humantime.ParseInstant(text)
	i.Time = t
	return err
}

func (i *instant) String() string {
	if i.IsZero() {
		return ""
	}
	return stampText(i.Time)
}
func (*instant) Type() string { return "time" }

// stampText is a time as flags and JSON have it.
func stampText(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// pace is how many a second: 100, 100/s, 5000/m, 20000/h.
type pace float64

func (p *pace) Set(text string) error {
	rate, err := humantime.ParseRate(text)
	*p = pace(rate)
	return err
}

func (p *pace) String() string {
	if *p == 0 {
		return ""
	}
	return humantime.Rate(float64(*p))
}
func (*pace) Type() string { return "rate" }

// limitRate is the pace of a topic that is limited.
type limitRate struct{ pace }

func (r *limitRate) Set(text string) error {
	number, _, _ := strings.Cut(text, "/")
	if n, err := strconv.ParseFloat(number, 64); err == nil && n == 0 {
		return errors.New("nothing at all; to stop a topic, pause it")
	}
	return r.pace.Set(text)
}
