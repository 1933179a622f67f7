package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/slotmq/go-rmq/internal/servers/wait"
	"github.com/slotmq/go-rmq/internal/sharing/keeper/session"
)

// A worker is alone if Redis does not answer it, but answers other workers. Its session lives,
// so it would keep its slots. That is right if no worker gets answers: none could take the
// slots, and it goes on with what it has in hand when Redis answers again. So it asks the
// others first. Each worker writes how long it has been without an answer, with the writes
// that it makes anyway. Only a worker in doubt reads that.

// aloneAfter is how many session timeouts without an answer make a worker alone.
const aloneAfter = 2

// others are what a worker in doubt asks in ZooKeeper.
type others interface {
	// mark returns a mark: what is written afterwards is newer.
	mark(ctx context.Context) (int64, error)

	// answered reports whether another worker wrote, after the mark, that it got an answer
	// no longer ago than that.
	answered(ctx context.Context, mark int64, quiet time.Duration) (bool, error)
}

// doubt finds out whether a worker is alone.
type doubt struct {
	others
	quiet   func() time.Duration // since the worker's last answer
	timeout func() time.Duration // of the session

	from        int64     // mark; 0: none
	first, last time.Time // looks at which others had answers, while this worker has none
}

// wait returns true when the worker is alone, and false when ctx ends.
//
// Others must have had answers for half a session timeout while it had none. When answers come
// back to all, one worker gets the first, and the next ones may just be a moment later.
func (d *doubt) wait(ctx context.Context) bool {
	for {
		timeout := d.timeout()
		pause := timeout - d.quiet()
		if pause > 0 {
			d.from, d.first, d.last = 0, time.Time{}, time.Time{}
		} else {
			d.look(ctx, timeout)
			now, left := time.Now(), aloneAfter*timeout-d.quiet()
			known := !d.last.IsZero() && now.Sub(d.last) <= timeout/4
			switch {
			case known && left <= 0 && now.Sub(d.first) >= timeout/2:
				return true
			case known && left > 0:
				pause = min(timeout/session.Beats, left)
			default: // an outage for all, as it seems: they all ask
				pause = timeout / 4
			}
		}
		if !wait.Sleep(ctx, pause) {
			return false
		}
	}
}

// look looks at what the others have written since the last look.
func (d *doubt) look(ctx context.Context, timeout time.Duration) {
	if d.from != 0 {
		if found, err := d.answered(ctx, d.from, timeout/2); err != nil || !found {
			return
		}
		now := time.Now()
		if now.Sub(d.last) > timeout/2 {
			d.first = now
		}
		d.last = now
	}
	if from, err := d.mark(ctx); err == nil {
		d.from = from
	}
}

// peers are the other workers, as ZooKeeper has them.
type peers struct {
	session *session.Session
	pulse   *session.Pulse
	tree    tree
	id      string // of this worker
	topics  []Topic
}

func (p *peers) mark(ctx context.Context) (int64, error) {
	stat, err := p.pulse.Write(ctx)
	if err != nil {
		return 0, err
	}
	return stat.Mzxid, nil
}

// askedAtOnce is how many of the others one look asks, at most. In an outage all workers look.
const askedAtOnce = 32

// answered asks those that have a topic in common with this worker. Zxids count all writes in
// ZooKeeper, so no clock decides what is newer.
func (p *peers) answered(ctx context.Context, mark int64, quiet time.Duration) (bool, error) {
	ids, err := p.session.Children(ctx, p.tree.owners())
	if err != nil {
		return false, err
	}
	rand.Shuffle(len(ids), func(i, k int) { ids[i], ids[k] = ids[k], ids[i] })
	for _, id := range ids[:min(len(ids), askedAtOnce)] {
		path := p.tree.owners() + "/" + id
		if path == p.tree.owned(p.id) {
			continue
		}
		data, stat, err := p.session.Get(ctx, path)
		if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNoAuth) { // gone since, or with another password
			continue
		}
		if err != nil {
			return false, err
		}
		var n ownedNode
		if stat.Mzxid > mark && json.Unmarshal(data, &n) == nil && p.shareTopic(n) &&
			n.Quiet != nil && *n.Quiet <= quiet.Milliseconds() {
			return true, nil
		}
	}
	return false, nil
}

// shareTopic reports whether another worker has a topic in common with this one.
func (p *peers) shareTopic(n ownedNode) bool {
	for _, t := range p.topics {
		if _, has := n.Topics[t.Name]; has {
			return true
		}
	}
	return false
}
