package poll

import (
	"context"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// Extended is what became of a batch that was to be extended.
type Extended struct {
	// Held is false if the batch is not the caller's any more: stop working on it.
	Held bool

	// Until is as Held.Until, from now on.
	Until time.Time

	// Cancelled are the messages of the batch that were cancelled since: end them, if you can. Finish drops them.
	Cancelled []string
}

// kept is what Redis says of a batch that is extended.
type kept struct {
	held  bool
	asked protocol.Cancels
}

// Extend begins the time to run of a batch anew.
func (p *Poller) Extend(ctx context.Context, receipt string) (x Extended, err error) {
	defer func() {
		if err != nil {
			x, err = Extended{}, fmt.Errorf("extend: %w", p.explain(err))
		}
	}()
	r, err := parseReceipt(receipt)
	if err == nil {
		err = p.begin()
	}
	if err != nil {
		return x, err
	}
	defer p.calls.Done()
	x.Until = time.Now().Add(r.ttr)
	k := p.keysOf(r)
	is, _, err := untilAnswered(ctx, p.process, k.Store, func(ctx context.Context) (is kept, err error) {
		is.held, is.asked, err = p.scripts.Keep(ctx, k, r.id(), r.fence, true)
		return is, err
	})
	x.Held = is.held
	if err != nil || !x.Held {
		return Extended{}, err
	}
	if t := p.topics.opened(r.topic.Name); t != nil {
		t.out.extend(r.slot, x.Until)
	}
	if is.asked == nil {
		return x, nil
	}
	contents, err := p.readContents(ctx, r)
	for _, content := range contents {
		if is.asked.Has(content) {
			x.Cancelled = append(x.Cancelled, content)
		}
	}
	return x, err
}
