package poll

import (
	"fmt"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/message"
)

// Verdict says what becomes of messages of a batch that were not done: of all of them, unless Of names some.
type Verdict struct {
	fate   protocol.Fate
	in     time.Duration
	reason string
	of     []string // contents; empty: all
}

// Failed spends an attempt: the messages are delivered again after a while, by the Backoff if in is 0; or
// they are dead, after their 17th delivery.
func Failed(why string, in time.Duration) Verdict {
	return Verdict{fate: protocol.Failed, in: in, reason: why}
}

// Dead gives the messages up.
func Dead(why string) Verdict { return Verdict{fate: protocol.Dead, reason: why} }

// Later has the messages delivered again after a while, and spends no attempt.
func Later(in time.Duration, why string) Verdict {
	return Verdict{fate: protocol.PutBack, in: in, reason: why}
}

// NotStarted gives the messages back as they were: another one may take them at once, and no attempt is spent.
func NotStarted() Verdict { return Verdict{fate: protocol.NotStarted} }

// Of is the verdict on some messages of the batch.
func (v Verdict) Of(contents ...string) Verdict {
	v.of = contents
	return v
}

// longestReason bounds what `why` keeps.
const longestReason = 1000

func (v Verdict) validate() error {
	switch {
	case v.in < 0 || v.in > limits.Span:
		return checked.Invalid("the time until the next delivery", v.in.String(), fmt.Sprintf("from 0 to %v", limits.Span))
	case v.fate == protocol.PutBack && v.in < time.Millisecond:
		return checked.Invalid("the time of Later", v.in.String(), "1ms or more")
	}
	return nil
}

// fates are what becomes of each message of a batch: a verdict, or nil for one that is done. The last verdict on
// a message counts.
func fates(contents []string, verdicts []Verdict) ([]*Verdict, error) {
	all := make([]*Verdict, len(contents))
	for n := range verdicts {
		v := &verdicts[n]
		if len(v.of) == 0 {
			for i := range all {
				all[i] = v
			}
		}
		for _, content := range v.of {
			i := slices.Index(contents, content)
			if i < 0 {
				return nil, checked.Invalid("the content", checked.Quote(content), "that of a message of the batch")
			}
			all[i] = v
		}
	}
	return all, nil
}

// ends are the fates as observers see them.
var ends = map[protocol.Fate]message.What{
	protocol.Failed: message.Failed, protocol.Dead: message.Died, protocol.PutBack: message.Snoozed, protocol.NotStarted: message.HandedBack,
}
