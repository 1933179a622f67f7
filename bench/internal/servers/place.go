package servers

import (
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Place is where messages are stored: one server, or several that do not know
// each other.
type Place struct {
	Servers []*Server
	Dial    func() []redis.UniversalClient // new ones, which share the work
}

// Apart is a place of n servers that do not know each other. They are given more
// arguments for redis-server.
func (f *Fleet) Apart(n int, args ...string) (p Place, err error) {
	for range n {
		s, err := f.start(args...)
		if err != nil {
			return Place{}, err
		}
		p.Servers = append(p.Servers, s)
	}
	p.Dial = func() (all []redis.UniversalClient) {
		for _, s := range p.Servers {
			all = append(all, redis.NewClient(&redis.Options{Addr: s.Addr}))
		}
		return all
	}
	return p, nil
}

// Address is what [At] finds a place by that is one server.
func (p Place) Address() string { return p.Servers[0].Addr }

// At is the place of one server that another process has started.
func At(addr string) Place {
	return Place{
		Servers: []*Server{{Addr: addr, Rdb: redis.NewClient(&redis.Options{Addr: addr})}},
		Dial: func() []redis.UniversalClient {
			return []redis.UniversalClient{redis.NewClient(&redis.Options{Addr: addr})}
		},
	}
}

// Empty removes whatever is stored.
func (p Place) Empty() error {
	for _, s := range p.Servers {
		if err := s.Rdb.FlushAll(ctx).Err(); err != nil {
			return fmt.Errorf("empty %s: %w", s.Addr, err)
		}
	}
	return nil
}

// Memory is how many bytes the servers use for what they store.
func (p Place) Memory() (bytes int64) {
	for _, s := range p.Servers {
		bytes += s.Memory()
	}
	return bytes
}
