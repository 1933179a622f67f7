package ask

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/rights"
)

// PartialError says what could not be looked at: a key of a wrong type, say, or the slots of
// a Cluster's master that does not answer. It comes together with a result, which has all the
// rest:
//
//	stats, err := i.Stats(ctx, "orders")
//	var partial *inspector.PartialError
//	if errors.As(err, &partial) {
//		// stats are those of the other slots
//	}
//
// Methods that change messages return no such result, only the error. So does every method if
// nothing at all can be read, for example because the only server does not answer.
type PartialError struct {
	Failures []Failed // at least one
}

// Failed is a slot or a topic that could not be looked at.
type Failed struct {
	Topic  string
	Slot   int    // -1: what is stored of the topic as a whole, such as its definition or its workers
	Server string // the master that does not answer; empty: it does
	Err    error
}

// Error is the first failure, and how many more there are.
func (p *PartialError) Error() string {
	text := p.Failures[0].Err.Error()
	if more := len(p.Failures) - 1; more > 0 {
		text += fmt.Sprintf("; and %s more", Plural(more, "failure"))
	}
	return text
}

// Unwrap is for errors.Is and errors.As: why each could not be looked at.
func (p *PartialError) Unwrap() []error {
	all := make([]error, len(p.Failures))
	for n, f := range p.Failures {
		all[n] = f.Err
	}
	return all
}

// Merge adds the failures of err, if that is a PartialError, each topic and slot once: two
// questions about one slot fail for one reason. Any other error it returns.
func (p *PartialError) Merge(err error) error {
	var other *PartialError
	if err == nil || !errors.As(err, &other) {
		return err
	}
	type place struct {
		topic string
		slot  int
	}
	known := map[place]bool{}
	for _, f := range p.Failures {
		known[place{f.Topic, f.Slot}] = true
	}
	for _, f := range other.Failures {
		if !known[place{f.Topic, f.Slot}] {
			p.Failures = append(p.Failures, f)
		}
	}
	return nil
}

// Failures collects what could not be looked at, while the rest is.
type Failures struct {
	i     *Ground
	Found PartialError
}

// Failing collects from now on.
func (g *Ground) Failing() Failures { return Failures{i: g} }

// Add notes why something cannot be looked at. An error that is not about this key alone ends
// the whole: add returns it.
func (f *Failures) Add(ctx context.Context, topic string, slot int, key string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil, rights.Denied(err), !cluster.IsCluster(f.i.Redis) && ofServer(err):
		return err
	case !cluster.Unanswered(err):
		f.note(Failed{Topic: topic, Slot: slot, Err: err})
		return nil
	}
	var silent *silentError
	if !errors.As(err, &silent) {
		_, addr, _ := cluster.MasterFor(ctx, f.i.Redis, key)
		silent = &silentError{addr, err}
		f.i.Masters.Note(addr, err)
	}
	f.note(Failed{topic, slot, silent.addr, silent})
	return nil
}

func (f *Failures) note(one Failed) { f.Found.Failures = append(f.Found.Failures, one) }

// ofServer reports whether err is about the server, and not about one key.
func ofServer(err error) bool {
	var reply redis.Error
	return cluster.Unanswered(err) || errors.As(err, &reply) && !strings.Contains(err.Error(), "WRONGTYPE")
}

// Merge adds the failures of err. Any other error it returns.
func (f *Failures) Merge(err error) error { return f.Found.Merge(err) }

// Err is a [PartialError], or nil if there was no failure.
func (f *Failures) Err() error {
	if len(f.Found.Failures) == 0 {
		return nil
	}
	return &f.Found
}

// ErrUnknownTopic is returned for a topic that no program has sent to or listened to. The
// error that wraps it names the topic, and some of those that exist.
var ErrUnknownTopic = errors.New("no such topic")

// Given is the error of a call without a context.
func Given(ctx context.Context, operation string) error {
	if ctx == nil {
		return fmt.Errorf("%s: ctx is nil", operation)
	}
	return nil
}
