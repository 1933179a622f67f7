package producer

import (
	"context"
	"time"

	"github.com/slotmq/go-rmq/internal/cluster"
)

// line leads to one server: the flights that wait for it, and the flusher that
// writes them. On a Cluster each master has lines of its own, so that one that
// hangs holds up nothing but its own slots.
type line struct {
	addr  string // of the server; empty unless it is one of a Cluster
	clock *clock // which the other lines to it share

	// Guarded by Producer.mu.
	flushing bool
	queue    []*flight // those not yet taken by the flusher; the last may be open

	// Used by the flusher only.
	wakes  map[*topic][]byte // payloads to be published
	told   time.Time         // when any were published last
	silent time.Time         // since when none got through
	key    string            // a store that was written to, and so lies on this server
}

// abreast is how many lines lead to one server. A slot always has the same one,
// which keeps its messages in order. With two, Redis executes what one has
// written while the senders on the other read their answers and send again; with
// more, the writes get too small.
const abreast = 2

// route names a line.
type route struct {
	addr string
	side int // slot modulo abreast
}

// line returns the line of a slot. What the Cluster's client knows of its masters
// may be out of date, after a failover for example; then the writes find their way
// all the same, only more slowly.
func (p *Producer) line(ctx context.Context, t *topic, slot int) (*line, error) {
	_, addr, err := cluster.MasterFor(ctx, p.rdb, t.slots[slot].store)
	if err != nil {
		return nil, err
	}
	known := &t.slots[slot].line
	if l := known.Load(); l != nil && l.addr == addr {
		return l, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	to := route{addr, slot % abreast}
	l := p.lines[to]
	if l == nil {
		l = &line{addr: addr, clock: &clock{p: p}, wakes: map[*topic][]byte{}}
		for side := range abreast {
			if other := p.lines[route{addr, side}]; other != nil {
				l.clock = other.clock
			}
		}
		p.lines[to] = l
	}
	known.Store(l)
	return l, nil
}
