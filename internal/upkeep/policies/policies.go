package policies

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/upkeep/periodic"
)

// atOnce is of how many topics the limits are asked for in one round trip.
const atOnce = 64

// Policies are the limits that people have set to some topics.
type Policies struct {
	Config
	plan   *periodic.Timetable[int]
	asking *periodic.Lines[int]

	mu     sync.Mutex
	held   []*held      // the last one of each topic; nil: none so far
	unread map[int]bool // topics of which the log says that they cannot be read
	ended  bool
}

// held is a limit that holds until its end. It is remembered after that: Redis may say that it
// still holds, or for longer, because its clock was set back, or was ahead for a moment.
type held struct {
	protocol.Policy
	last time.Time // it never holds longer: by the clock of this process, as it was said first
	end  *time.Timer
	over bool
}

// is reports whether p is the same limit.
func (h *held) is(p protocol.Policy) bool {
	p.Left = h.Left
	return h.Policy == p
}

// Config of policies.
type Config struct {
	periodic.Needs
	Topics []string      // with their namespace
	Period time.Duration // after which each is read again

	// Changed is called with a topic, an index into Topics, when another limit holds for it
	// than before. The zero Policy is none. It must not block.
	Changed func(topic int, p protocol.Policy)
}

// New returns the limits of some topics, of which none is known yet.
func New(c Config) *Policies {
	p := &Policies{Config: c, held: make([]*held, len(c.Topics)), unread: map[int]bool{}}
	p.plan = periodic.NewTimetable(p.all(), periodic.Gap(c.Period), func(int) time.Duration { return c.Period })
	p.asking = periodic.NewLines(atOnce, c.Life.Go, func(_ string, some []int) {
		if c.Life.Background.Err() == nil {
			p.read(c.Life.Background, some)
		}
	})
	return p
}

// all are the indexes of all topics.
func (p *Policies) all() []int {
	all := make([]int, len(p.Topics))
	for i := range all {
		all[i] = i
	}
	return all
}

// Begin reads the limits of all topics, so that no work begins without them. What cannot be
// read holds up no start: it is read again when Run begins.
func (p *Policies) Begin(ctx context.Context) {
	var groups [][]int
	for _, some := range p.byServer(ctx, p.all()) {
		groups = slices.AppendSeq(groups, slices.Chunk(some, atOnce))
	}
	_ = periodic.Each(ctx, groups, func(ctx context.Context, some []int) error {
		for _, topic := range p.read(ctx, some) {
			p.plan.Hurry(topic)
		}
		return nil
	})
}

// Hurry has the limit of a topic read now.
func (p *Policies) Hurry(topic int) { p.plan.Hurry(topic) }

// Run reads the limits until the worker closes.
func (p *Policies) Run() {
	for topics := p.plan.Next(p.Life.Background); topics != nil; topics = p.plan.Next(p.Life.Background) {
		for addr, some := range p.byServer(p.Life.Background, topics) {
			p.asking.Add(addr, some...)
		}
	}
}

// End forgets all limits, and what is being read. The schedule they were for is over.
func (p *Policies) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	for i, h := range p.held {
		if h != nil {
			h.end.Stop()
			p.held[i] = nil
		}
	}
}

// byServer puts topics together whose keys are on one server.
func (p *Policies) byServer(ctx context.Context, topics []int) map[string][]int {
	return periodic.ByServer(ctx, p.Redis, topics, func(i int) string { return protocol.PolicyKey(p.Topics[i]) })
}

// read reads the limits of some topics, and returns those that it could not read: what holds
// for them goes on.
func (p *Policies) read(ctx context.Context, topics []int) (failed []int) {
	none, unread := p.none(ctx, topics)
	cmds := make([]redis.Cmder, len(topics))
	if unread == nil && !none {
		for n, i := range topics {
			cmds[n] = p.Scripts.PolicyCmd(ctx, p.Topics[i])
		}
		p.Scripts.Exec(ctx, cmds...)
	}
	for n, i := range topics {
		policy, err := protocol.Policy{}, unread
		if cmds[n] != nil {
			policy, err = protocol.PolicyAnswer(p.Topics[i], cmds[n])
		}
		switch {
		case err == nil:
			p.set(i, policy)
		case ctx.Err() == nil && !errors.Is(err, redis.ErrClosed):
			cluster.NoteError(ctx, p.Redis, err)
			p.sayUnread(i, err)
			failed = append(failed, i)
		}
	}
	return failed
}

// none reports whether none of some topics has a limit, which is nearly always so. Outside of a
// Cluster one command says it for all of them.
func (p *Policies) none(ctx context.Context, topics []int) (bool, error) {
	if len(topics) == 1 || cluster.IsCluster(p.Redis) {
		return false, nil
	}
	keys := make([]string, len(topics))
	for n, i := range topics {
		keys[n] = protocol.PolicyKey(p.Topics[i])
	}
	there, err := p.Redis.Exists(ctx, keys...).Result()
	return there == 0, err
}

// sayUnread logs that the limit of a topic cannot be read, once until it can.
func (p *Policies) sayUnread(topic int, err error) {
	level := p.Away.Level(protocol.PolicyKey(p.Topics[topic]), err)
	p.mu.Lock()
	said := p.unread[topic]
	p.unread[topic] = said || level > zap.DebugLevel
	p.mu.Unlock()
	if !said {
		p.Log.Log(level, "the limit of a topic cannot be read", zap.String("topic", p.Topics[topic]), zap.Error(err))
	}
}

// set notes which limit holds for a topic now.
func (p *Policies) set(topic int, now protocol.Policy) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	delete(p.unread, topic)
	before := p.held[topic]
	last := time.Now().Add(now.Left)
	if before != nil && before.is(now) {
		last = before.last
		now.Left = min(now.Left, time.Until(last))
	}
	if now.Left <= 0 {
		p.end(topic, before)
		return
	}
	if before != nil {
		before.end.Stop()
	}
	h := &held{Policy: now, last: last}
	h.end = time.AfterFunc(now.Left, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.held[topic] == h { // no other was read meanwhile
			p.end(topic, h)
		}
	})
	p.held[topic] = h
	if before == nil || before.over || before.Rate != now.Rate || before.Concurrency != now.Concurrency {
		p.changed(topic, now)
	}
}

// end ends a limit, if there is one that holds. The caller holds p.mu.
func (p *Policies) end(topic int, h *held) {
	if h != nil && !h.over {
		h.end.Stop()
		h.over = true
		p.changed(topic, protocol.Policy{})
	}
}

// changed passes on which limit holds for a topic from now on.
func (p *Policies) changed(topic int, now protocol.Policy) {
	name := zap.String("topic", p.Topics[topic])
	if now == (protocol.Policy{}) {
		p.Log.Info("the limit of the topic is over", name)
	} else {
		p.Log.Info("the topic is limited", name, zap.Float64("rate", now.Rate), zap.Int("concurrency", now.Concurrency), zap.Duration("for", now.Left))
	}
	p.Changed(topic, now)
}
