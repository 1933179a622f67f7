package poll

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/internal/checked"
)

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
		case <-p.shift.Background.Done():
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
	case <-p.shift.Background.Done():
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
