package fleet

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/message"
)

// Topic is one whose slots are shared out.
type Topic struct {
	message.Topic               // with the number of slots, once the definitions agree
	Qualified     string        // its name with the namespace
	MaxLate       time.Duration // of its listener

	scheduled     *schedule.Topic
	refused       atomic.Bool // its definition is another one now
	born          time.Time   // when the worker joined
	newcomer      atomic.Bool // it found others in the list of members
	listed        atomic.Bool // it has entered that list
	loggedKeptOut bool        // the log says why it stays out after its trial
	compared      time.Time   // its definition with the stored one, last
}

// begin makes the topic ready for a start.
func (t *Topic) begin(as *schedule.Topic) {
	t.scheduled, t.born, t.compared, t.loggedKeptOut = as, time.Now(), time.Now(), false
	t.newcomer.Store(false)
	t.listed.Store(false)
}

// topicsAtOnce is for how many topics one round trip asks for the lists of members, or
// the definitions.
const topicsAtOnce = 64

// byServer puts topics together that have a key on the same server, some at a time. If that
// server is not known, the request will show it.
func byServer(ctx context.Context, rdb redis.UniversalClient, topics []*Topic, key func(name string) string) (groups [][]*Topic) {
	of := map[string][]*Topic{}
	for _, t := range topics {
		addr := serverOf(ctx, rdb, t, key)
		of[addr] = append(of[addr], t)
	}
	for _, some := range of {
		groups = slices.AppendSeq(groups, slices.Chunk(some, topicsAtOnce))
	}
	return groups
}

// serverOf is the address of the server that has a key of a topic, as far as it is known.
func serverOf(ctx context.Context, rdb redis.UniversalClient, t *Topic, key func(name string) string) string {
	_, addr, _ := cluster.MasterFor(ctx, rdb, key(t.Qualified))
	return addr
}
