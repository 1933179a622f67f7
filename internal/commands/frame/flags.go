package frame

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/text/wire"
)

// Flags are those of a command.
type Flags struct {
	*pflag.FlagSet
	cmd *cobra.Command
}

// Basis is the flag for the SlotBasis of a message that was sent.
func (f *Flags) Basis(basis *string) {
	f.StringVar(basis, "basis", "", "the `SlotBasis` it was sent with: look in its slot only")
}

// Slots is the flag that chooses slots.
func (f *Flags) Slots(slots *Slots) { f.Var(slots, "slot", "only these `slots`, as in 3, 3,7 or 0-5") }

// Yes is the flag that answers in advance.
func (f *Flags) Yes(yes *bool) { f.BoolVar(yes, "yes", false, "do not ask") }

// Rate is the flag for how fast many messages are changed.
func (f *Flags) Rate(rate *Pace) {
	f.Var(rate, "rate", "so many a second, as in 100/s or 5000/m; as fast as it goes unless it is given")
}

// DryRun is the flag with which nothing is changed.
func (f *Flags) DryRun(dry *bool) { f.BoolVar(dry, "dry-run", false, "only say how many it would be") }

// Complete has the values of a flag completed.
func (f *Flags) Complete(name string, values []string) {
	_ = f.cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
}

// Span is a length of time: 90s, 1h30m, and with days 7d or 2d12h.
type Span time.Duration

func (s *Span) Set(text string) error {
	d, err := humantime.ParseSpan(text)
	*s = Span(d)
	return err
}

func (s *Span) String() string {
	if *s == 0 { // or the help would call it a default
		return ""
	}
	return time.Duration(*s).String()
}
func (*Span) Type() string { return "duration" }

// Age is a span that divides old messages from new ones. An age of nothing would mean all
// messages; for that you leave the flag out.
type Age struct{ Span }

func (a *Age) Set(text string) error {
	err := a.Span.Set(text)
	if err == nil && time.Duration(a.Span) < time.Millisecond {
		return errors.New("less than 1ms; leave it out if the age does not matter")
	}
	return err
}

// IsSpan reports whether a text is one.
func IsSpan(text string) bool {
	_, err := humantime.ParseSpan(text)
	return err == nil
}

// Slots are those of a topic: 3, or 3,7 or 0-5, and several of these.
type Slots []int

func (l *Slots) Set(text string) error {
	all, err := wire.ParseSlots(text)
	*l = append(*l, all...)
	return err
}

func (l *Slots) String() string { return strings.ReplaceAll(wire.Ranges(*l), ", ", ",") }
func (*Slots) Type() string     { return "slots" }

// Instant is a point in time, as rmq prints it here or in JSON.
type Instant struct{ time.Time }

func (i *Instant) Set(text string) error {
	t, err := humantime.ParseInstant(text)
	i.Time = t
	return err
}

func (i *Instant) String() string {
	if i.IsZero() {
		return ""
	}
	return Stamp(i.Time)
}
func (*Instant) Type() string { return "time" }

// Stamp is a time as flags and JSON have it.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Pace is how many a second: 100, 100/s, 5000/m, 20000/h.
type Pace float64

func (p *Pace) Set(text string) error {
	rate, err := humantime.ParseRate(text)
	*p = Pace(rate)
	return err
}

func (p *Pace) String() string {
	if *p == 0 {
		return ""
	}
	return humantime.Rate(float64(*p))
}
func (*Pace) Type() string { return "rate" }

// at is how long so many take at the pace, in words that follow what is to be done; nothing without a pace.
func (p *Pace) at(n int) string {
	if *p == 0 {
		return ""
	}
	took := time.Duration(min(max(float64(n)/float64(*p), 1), 1e9)) * time.Second
	return fmt.Sprintf(", at %v (%s)", p, humantime.Duration(took))
}
