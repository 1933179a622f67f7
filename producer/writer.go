package producer

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/message"
)

// Two writers for each server. Each master has a clock and two queues of flights, each with a flusher: one
// for its even and one for its odd slots; a slot's messages stay with one writer, and so in order. While the senders of
// one writer read their receipts and send again, Redis executes what the other has written: with one writer it would
// wait for them, and they for it. Measured with 256 callers, that is 1.4 times the sends a second; three writers are
// slower than two, as their writes get too small. A writer that is out of date, after a failover, costs time and nothing
// else: exec asks for the master of each key, and follows MOVED and ASK. It does so itself because the Cluster's client
// would send PUBLISH and WAIT to any server.

// writer sends to one server. It has the flights that wait, and a flusher, the goroutine
// that writes them. On a Cluster each master has its own writers, so a master that hangs
// delays only its own slots.
type writer struct {
	*shared
	executor *executor
	addr     string       // of the server; empty unless it is one of a Cluster
	clock    *clock       // which the other writers to it share
	heard    atomic.Int64 // when the server last answered a write, since epoch

	// Guarded by shared.mu.
	flushing bool
	queue    []*flight // those not yet taken by the flusher; the last may be open

	// Used by the flusher only.
	wakes         map[*topic][]byte // payloads to be published
	lastPublished time.Time         // when any were
	near          map[*topic]near   // where they are published in a Cluster
	viewed        time.Time         // when it was last asked where that is
	silentSince   time.Time         // none got through since; zero: the last ones did
	key           string            // a store that was written to, and so lies on this server
	events        []*message.Event  // of a flight, while they are reported
}

// writersPerServer is the number of writers of one server. A slot always has the same
// writer, which keeps its messages in order. With two, Redis works for one while the
// senders of the other read their answers and send again. With more, the writes get too
// small.
const writersPerServer = 2

// route names a writer.
type route struct {
	addr   string
	parity int // slot modulo writersPerServer
}

// writers are those of a producer.
type writers struct {
	*shared
	executor *executor
	all      map[route]*writer // guarded by shared.mu
}

// of returns the writer of a slot. The Cluster's client may not know the newest
// masters, after a failover for example. Then the writes still arrive, more slowly.
func (s *writers) of(ctx context.Context, t *topic, slot int) (*writer, error) {
	_, addr, err := cluster.MasterFor(ctx, s.rdb, t.slots[slot].store)
	if err != nil {
		return nil, err
	}
	known := &t.slots[slot].writer
	l := known.Load()
	if l != nil && l.addr == addr {
		return l, nil
	}
	if l != nil {
		t.widely.Store(int64(time.Since(epoch) + movedFor))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	to := route{addr, slot % writersPerServer}
	l = s.all[to]
	if l == nil {
		l = &writer{shared: s.shared, executor: s.executor, addr: addr, clock: &clock{shared: s.shared}, wakes: map[*topic][]byte{}, near: map[*topic]near{}}
		for parity := range writersPerServer {
			if other := s.all[route{addr, parity}]; other != nil {
				l.clock = other.clock
			}
		}
		s.all[to] = l
	}
	known.Store(l)
	return l, nil
}
