package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

var ctx = context.Background()

// place is where messages are stored: one server, several that do not know
// each other, or the masters of a Cluster.
type place struct {
	servers []*server
	dial    func() []redis.UniversalClient // new ones, which share the work
}

// apart is a place of servers that do not know each other.
func (f *fleet) apart(n int) (p place, err error) {
	for range n {
		s, err := f.start(nil)
		if err != nil {
			return place{}, err
		}
		p.servers = append(p.servers, s)
	}
	p.dial = func() (all []redis.UniversalClient) {
		for _, s := range p.servers {
			all = append(all, redis.NewClient(&redis.Options{Addr: s.addr}))
		}
		return all
	}
	return p, nil
}

func (p place) version() string { return p.servers[0].info()["redis_version"] }

// sample is one round of one contestant.
type sample struct {
	messages int
	took     time.Duration
	client   time.Duration // CPU of this process
	redis    counts        // of all servers together
}

func (s sample) rate() float64 { return float64(s.messages) / s.took.Seconds() }

// measure runs one round on empty servers.
func (p place) measure(messages int, round func() error) (sample, error) {
	result := sample{messages: messages}
	for _, s := range p.servers {
		if err := s.rdb.FlushAll(ctx).Err(); err != nil {
			return result, fmt.Errorf("empty %s: %w", s.addr, err)
		}
	}
	for _, s := range p.servers {
		result.redis.add(s.counts(), -1)
	}
	clientBefore, begin := clientCPU(), time.Now()
	err := round()
	result.took, result.client = time.Since(begin), clientCPU()-clientBefore
	for _, s := range p.servers {
		result.redis.add(s.counts(), 1)
	}
	return result, err
}
