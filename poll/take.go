package poll

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/protocol"
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
	ShortestTTR = time.Second
	LongestTTR  = 12 * time.Hour
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
	case t.TTR < ShortestTTR || t.TTR > LongestTTR:
		return checked.Invalid("Take.TTR", t.TTR.String(), "from 1s to 12h, or 0 for 1m")
	case t.Wait < 0:
		return checked.Invalid("Take.Wait", t.Wait.String(), "0 or more")
	}
	return nil
}

// MostWaiting is how many takers may wait at one topic in a process. More get ErrTooMany.
const MostWaiting = 10_000

// MostTopics is how many topics one take may name.
const MostTopics = 100

// Take returns a batch from the first of some topics that has something to be handled now. If none has, it waits
// until one does, Take.Wait at the most, and then returns nil. If ctx ends, what is taken at that moment is
// given back, and no attempt is spent.
func (p *Poller) Take(ctx context.Context, topics []string, o Take) (*Held, error) {
	o = o.withDefaults()
	err := o.validate()
	switch {
	case err != nil:
	case len(topics) == 0 || len(topics) > MostTopics:
		err = checked.Invalid("the topics", fmt.Sprint(len(topics)), fmt.Sprintf("1 to %d", MostTopics))
	}
	if err == nil {
		err = p.begin()
	}
	var h *Held
	if err == nil {
		defer p.calls.Done()
		h, err = p.take(ctx, unlike(topics), o)
	}
	if err != nil {
		return nil, fmt.Errorf("take: %w", err)
	}
	return h, nil
}

func (p *Poller) take(ctx context.Context, topics []string, o Take) (h *Held, err error) {
	over := time.NewTimer(o.Wait)
	defer over.Stop()
	t := newTaker(o)
	var seats []*seat
	defer func() {
		trouble := err
		for _, s := range seats {
			if why := s.desk.part(s); trouble == nil {
				trouble = why
			}
		}
		if got := t.goAway(); h == nil {
			h = got
		}
		switch {
		case h == nil:
			err = trouble
		case ctx.Err() != nil:
			p.giveBack(h)
			h, err = nil, ctx.Err()
		default:
			err = nil
		}
	}()
	for _, name := range topics {
		s, err := p.join(ctx, name, t)
		if err != nil {
			return nil, err
		}
		seats = append(seats, s)
		select {
		case h := <-t.served:
			return h, nil
		case <-s.nothing:
		case <-p.life.Background.Done():
			return nil, errClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	select {
	case h := <-t.served:
		return h, nil
	case <-over.C:
		return nil, nil
	case <-p.life.Background.Done():
		return nil, errClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// unlike are the topics in their order, each once.
func unlike(topics []string) []string {
	var all []string
	for _, name := range topics {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}
