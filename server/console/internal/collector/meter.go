package collector

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/redisinfo"
)

// meter measures what a reading costs. Call it before the reading, and end after it, with the time that it took. If no
// server says how much it worked, that time is the cost: it cannot be more.
type meter func(ctx context.Context) (end func(took time.Duration) (cost time.Duration, known bool))

// processors measure how much the processors of the servers work during a reading, beyond what they work anyway. The
// time that a reading takes says little: a slow network and a busy machine make it long, and the doctor waits
// between two looks.
type processors struct {
	rdb     redis.UniversalClient
	mu      sync.Mutex
	servers map[string]*processor // by address
	reading int                   // so many readings are under way
}

// processor is that of one server.
type processor struct {
	last        worked        // when it was asked last
	alone       time.Duration // how long no reading was under way
	workedAlone time.Duration // what it worked in that time
	forEach     time.Duration // what it has worked for each reading that is under way
	askAgain    time.Time     // it does not answer
}

// worked is what a processor had worked at a time.
type worked struct {
	at  time.Time
	sum time.Duration
}

const (
	silentFor  = 10 * time.Second // a server that did not answer is not asked again
	aloneFor   = 30 * time.Second // what was twice as long ago counts half
	aloneLeast = time.Second      // what was seen for a shorter time may be chance
)

func newProcessors(rdb redis.UniversalClient) *processors {
	return &processors{rdb: rdb, servers: map[string]*processor{}}
}

// meter is a meter. Readings at the same time share the work of that time.
func (p *processors) meter(ctx context.Context) func(time.Duration) (time.Duration, bool) {
	before := map[string]time.Duration{}
	for addr := range p.ask(ctx) {
		before[addr] = p.servers[addr].forEach
	}
	silent := p.silent()
	p.reading++
	p.mu.Unlock()
	return func(took time.Duration) (cost time.Duration, known bool) {
		for addr := range p.ask(ctx) {
			if then, was := before[addr]; was {
				cost, known = max(cost, p.servers[addr].forEach-then), true
			}
		}
		silent := silent || p.silent()
		p.reading--
		p.mu.Unlock()
		switch {
		case !known && silent: // what does not answer costs nothing
			return 0, false
		case !known:
			return took, false
		}
		return min(cost, took), true
	}
}

// ask asks all servers what they have worked, notes it, and returns those that answered. It leaves the processors locked.
func (p *processors) ask(ctx context.Context) (answered map[string]worked) {
	answered = map[string]worked{}
	whole := ctx
	_ = cluster.Each(ctx, p.rdb, func(ctx context.Context, addr string, server redis.UniversalClient) {
		if !p.asks(addr) {
			return
		}
		text, err := server.Info(ctx, "cpu").Result()
		now := time.Now()
		info := redisinfo.Parse(text)
		user, err1 := strconv.ParseFloat(info["used_cpu_user"], 64)
		system, err2 := strconv.ParseFloat(info["used_cpu_sys"], 64)
		p.mu.Lock()
		defer p.mu.Unlock()
		switch {
		case cluster.Unanswered(err) && whole.Err() == nil: // or it is this reading that was too long
			p.servers[addr].askAgain = now.Add(silentFor)
		case err == nil && err1 == nil && err2 == nil: // some servers do not say
			answered[addr] = worked{now, time.Duration((user + system) * float64(time.Second))}
		}
	})
	p.mu.Lock()
	for addr, now := range answered {
		p.servers[addr].note(now, p.reading)
	}
	return answered
}

// silent reports whether a server does not answer. The processors are locked.
func (p *processors) silent() bool {
	for _, s := range p.servers {
		if time.Now().Before(s.askAgain) {
			return true
		}
	}
	return false
}

// asks reports whether a server is to be asked.
func (p *processors) asks(addr string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.servers[addr] == nil {
		p.servers[addr] = &processor{}
	}
	return !time.Now().Before(p.servers[addr].askAgain)
}

// note notes what a server has worked since the last time, while so many readings were under way.
func (s *processor) note(now worked, reading int) {
	last := s.last
	if now.at.Before(last.at) { // another reading was faster
		return
	}
	s.last = now
	passed, sum := now.at.Sub(last.at), now.sum-last.sum
	switch {
	case last.at.IsZero() || sum < 0: // it was restarted
	case reading > 0:
		s.forEach += (sum - s.anyway(passed)) / time.Duration(reading)
	default:
		s.alone, s.workedAlone = s.alone+passed, s.workedAlone+sum
		if s.alone > 2*aloneFor {
			s.alone, s.workedAlone = s.alone/2, s.workedAlone/2
		}
	}
}

// anyway is what a server works in a span of time without any reading.
func (s *processor) anyway(in time.Duration) time.Duration {
	if s.alone < aloneLeast {
		return 0
	}
	return time.Duration(float64(in) * float64(s.workedAlone) / float64(s.alone))
}
