package cluster

import (
	"net"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Peers are clients of servers that a Cluster's answers name. The Cluster's own client
// has none for a server that is about to get its first hash slot. To learn of it, it
// would ask any server, perhaps one that hangs.
type Peers struct {
	mu      sync.Mutex
	clients map[string]*redis.Client
	closed  bool
}

// At returns a client of the server with an address, which is made like that of
// the server that gave it. It is nil if that cannot be done.
func (p *Peers) At(addr string, like redis.UniversalClient) redis.UniversalClient {
	one, ok := like.(*redis.Client)
	if !ok {
		return nil
	}
	options := optionsOf(one)
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil
	}
	if host == "" { // that of the server that named it
		host, _, _ = net.SplitHostPort(options.Addr)
	}
	options.Addr = net.JoinHostPort(host, port)
	options.NodeAddress = ""
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	if p.clients[options.Addr] == nil {
		if p.clients == nil {
			p.clients = map[string]*redis.Client{}
		}
		p.clients[options.Addr] = redis.NewClient(&options)
	}
	return p.clients[options.Addr]
}

// optionsOf returns a copy of a client's options. A client writes to its own options when it connects, so
// they are copied under its lock.
func optionsOf(c *redis.Client) redis.Options {
	read, write := c.Options().ReadTimeout, c.Options().WriteTimeout
	options := *c.WithTimeout(read).Options()
	options.ReadTimeout, options.WriteTimeout = read, write
	return options
}

// Close closes all of them.
func (p *Peers) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.clients {
		_ = c.Close()
	}
	clear(p.clients)
}
