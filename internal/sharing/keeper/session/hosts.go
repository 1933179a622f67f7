package session

import "sync"

// hosts is a zk.HostProvider that leaves names alone: they are resolved at each
// dial, since addresses change, and TLS wants the name. After a connection is lost
// the next server is tried at once; the library waits a second after each whole
// round without success.
type hosts struct {
	mu      sync.Mutex
	servers []string
	next    int
	tried   int // since there was a connection
}

func (h *hosts) Init(servers []string) error {
	h.servers = servers
	return nil
}

func (h *hosts) Len() int { return len(h.servers) }

func (h *hosts) Next() (server string, wait bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	server = h.servers[h.next]
	h.next = (h.next + 1) % len(h.servers)
	wait = h.tried > 0 && h.tried%len(h.servers) == 0
	h.tried++
	return server, wait
}

func (h *hosts) Connected() {
	h.mu.Lock()
	h.tried = 0
	h.mu.Unlock()
}
