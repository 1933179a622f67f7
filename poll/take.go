package poll

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/message"
)

// Take says what is to be taken, and for how long.
type Take struct {
	// Most is how many messages a batch may have, up to 256. They are finished together, and when their TTR is
	// over, all of them have spent an attempt. So it defaults to 1.
	Most int

	// TTR is the time to run: for how long the batch is the caller's, without a sign of life. From 1s to 12h.
	// Defaults to 1m.
	TTR time.Duration

	// Wait is how long to wait if there is nothing to take. Defaults to 0: not at all.
	Wait time.Duration
}

// The bounds of a time to run.
const (
	shortestTTR = time.Second
	longestTTR  = 12 * time.Hour
)

func (t Take) withDefaults() Take {
	if t.Most == 0 {
		t.Most = 1
	}
	if t.TTR == 0 {
		t.TTR = time.Minute
	}
	return t
}

func (t Take) validate() error {
	switch {
	case t.Most < 1 || t.Most > protocol.MaxBatch:
		return checked.Invalid("Take.Most", fmt.Sprint(t.Most), "1 to 256, or 0 for 1")
	case t.TTR < shortestTTR || t.TTR > longestTTR:
		return checked.Invalid("Take.TTR", t.TTR.String(), "from 1s to 12h, or 0 for 1m")
	case t.Wait < 0:
		return checked.Invalid("Take.Wait", t.Wait.String(), "0 or more")
	}
	return nil
}

// mostWaiting is how many takers may wait at one topic in a process. More get ErrTooMany.
const mostWaiting = 10_000

// Take returns a batch from the first of some topics that has something to be handled now. If none has, it waits
// until one does, Take.Wait at the most, and then returns nil. If ctx ends, what is taken at that moment is
// given back, and no attempt is spent.
func (p *Poller) Take(ctx context.Context, topics []string, o Take) (*Held, error) {
	h, err := p.take(ctx, topics, o.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("take: %w", err)
	}
	return h, nil
}

func (p *Poller) take(ctx context.Context, topics []string, o Take) (*Held, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if len(topics) == 0 || len(topics) > limits.TakeTopics {
		return nil, checked.Invalid("the topics", fmt.Sprint(len(topics)), fmt.Sprintf("1 to %d", limits.TakeTopics))
	}
	if err := p.begin(); err != nil {
		return nil, err
	}
	defer p.calls.Done()
	t := newTaker(o)
	err := p.wait(ctx, t, topics)
	h, trouble := t.leave()
	switch {
	case h == nil:
		return nil, cmp.Or(err, trouble)
	case ctx.Err() != nil:
		p.finishUnreceived(h, NotStarted())
		return nil, ctx.Err()
	}
	return h, nil
}

// wait returns when the taker has its batch, or its wait is over. It begins to wait at a topic when those before it have nothing.
func (p *Poller) wait(ctx context.Context, t *taker, topics []string) error {
	over := time.NewTimer(t.Wait)
	defer over.Stop()
	for i, name := range topics {
		if slices.Contains(topics[:i], name) {
			continue
		}
		w, err := p.join(ctx, name, t)
		if err != nil {
			return err
		}
		t.waits = append(t.waits, w)
		if err := p.until(ctx, t.got, w.nothing); err != nil || !t.waiting() {
			return err
		}
	}
	select {
	case <-t.got:
		return nil
	case <-over.C:
		return nil
	case <-p.life.Background.Done():
		return message.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join has a taker wait in the queue of a topic. The first one opens it.
func (p *Poller) join(ctx context.Context, name string, t *taker) (*waiter, error) {
	for {
		x := p.topics.get(p.process, name)
		if err := p.until(ctx, x.opened, nil); err != nil {
			return nil, err
		}
		if x.failed != nil {
			return nil, x.failed
		}
		if w, err := x.queue.join(t); w != nil || err != nil {
			return w, err
		}
		// It closes just now, because nobody has come for long.
		if err := p.until(ctx, x.closed, nil); err != nil {
			return nil, err
		}
	}
}

// until returns when one or the other is closed, or when ctx ends or the poller closes.
func (p *Poller) until(ctx context.Context, one, other <-chan struct{}) error {
	select {
	case <-one:
		return nil
	case <-other:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.life.Background.Done():
		return message.ErrClosed
	}
}
