package gateway

import (
	"fmt"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/journal/recovery"
	"github.com/slotmq/go-rmq/server/gateway/internal/problem"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
)

// mostCounted is the largest rate that there is. To count is cheap.
const mostCounted = 1_000_000

// restored is a line of progress, and the answer.
type restored struct {
	wire.Restored
	Done bool `json:"done"`
}

// restore brings back what Redis has lost, and the journal knows.
func restore(c *call, asked request.Restore) error {
	o, err := asked.Options()
	if err != nil {
		return err
	}
	for _, topic := range o.Topics {
		if err := c.may(topic); err != nil {
			return err
		}
	}
	if o.Topics == nil {
		if err := c.mayAll("to restore all topics"); err != nil {
			return err
		}
	}
	if o.DryRun && o.Rate == 0 {
		o.Rate = mostCounted
	}
	if _, err := recoveryOf(c); err != nil { // as an answer of its own, also where a stream is asked for
		return err
	}
	return c.work(func(report func(line any)) (func(done bool) any, string, error) {
		o.Progress = func(so recovery.Restored) { report(restored{wire.Restored{Dry: o.DryRun, Restored: so}, false}) }
		n, err := bringBack(c, o)
		return func(done bool) any { return restored{wire.Restored{Dry: o.DryRun, Restored: n}, done} }, "", err
	})
}

// recovery is what restores. Without a journal there is nothing to restore from.
func recoveryOf(c *call) (*recovery.Recovery, error) {
	if c.cfg.Journal == nil {
		return nil, problem.New("conflict", "this gateway has no journal, so it does not know what Redis has lost: start rmqd serve with --journal and the URL of the database in which your programs keep theirs")
	}
	return recovery.New(recovery.Config{Journal: c.cfg.Journal, Redis: c.cfg.Redis, Namespace: c.cfg.Namespace, Logger: c.log})
}

// bringBack restores.
func bringBack(c *call, o recovery.Restore) (n recovery.Restored, err error) {
	r, err := recoveryOf(c)
	if err != nil {
		return n, err
	}
	n, err = r.Restore(c.ctx(), o)
	switch {
	case err != nil:
		return n, c.soFar(err, fmt.Sprintf("%d waiting and %d dead messages are back", n.Waiting, n.Dead))
	case o.Content != "" && n.Waiting+n.Dead+n.There+n.Expired+n.Unsure+n.Unknown == 0:
		return n, problem.New("not-found", "nothing of this message is to be restored in %s: it was not sent, or it is over; rmqd journal history says what became of it",
			problem.Shorten(protocol.Qualify(c.cfg.Namespace, o.Topics[0])))
	}
	return n, nil
}
