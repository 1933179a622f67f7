package producer

import (
	"context"
	"time"

	"github.com/slotmq/go-rmq/internal/nodes"
)

// line leads to one server: the flights that wait for it, and the flusher that
// writes them. On a Cluster there is one line for each master, so that one that
// hangs holds up nothing but its own slots; elsewhere there is one line.
type line struct {
	addr  string // of the server; empty unless it is one of a Cluster
	clock clock

	// Guarded by Producer.mu.
	flushing bool
	queue    []*flight // those not yet taken by the flusher; the last may be open

	// Used by the flusher only.
	wakes  map[*topic][]byte // payloads to be published
	silent time.Time         // since when none got through
	key    string            // a store that was written to, and so lies on this server
}

// line returns the line of a slot. What the Cluster's client knows of its masters
// may be out of date, after a failover for example; then the writes find their way
// all the same, only more slowly.
func (p *Producer) line(ctx context.Context, t *topic, slot int) (*line, error) {
	_, addr, err := nodes.MasterFor(ctx, p.rdb, t.slots[slot].store)
	if err != nil {
		return nil, err
	}
	known := &t.slots[slot].line
	if l := known.Load(); l != nil && l.addr == addr {
		return l, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[addr]
	if l == nil {
		l = &line{addr: addr, clock: clock{p: p}, wakes: map[*topic][]byte{}}
		p.lines[addr] = l
	}
	known.Store(l)
	return l, nil
}
