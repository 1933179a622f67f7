package servertest

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Proxy stands between clients and a server and breaks the network on demand. It
// forwards TCP in pieces as they come in; for a client that waits for each reply
// (every go-redis connection does) a piece is a request or a reply, except that
// large ones come in several. A ZooKeeper client does not wait: a piece may hold
// several of its requests, pings among them.
//
// All methods may be called at any time and from any goroutine.
type Proxy struct {
	target   string
	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex
	change *sync.Cond // frozen, or a link's end
	links  map[*link]struct{}
	kept   []net.Conn // halves of links, see CutClients
	cut    bool
	frozen bool
	mute   bool
	delay  time.Duration
	hook   func(b []byte) (forward bool)
	loss   *loss // the next reply to lose
}

// NewProxy starts a proxy in front of target, a host:port, and stops it with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{target: target, listener: listener, links: map[*link]struct{}{}}
	p.change = sync.NewCond(&p.mu)
	p.running.Go(p.accept)
	t.Cleanup(func() {
		p.listener.Close()
		p.Cut()
		p.set(p.endKept)
		p.running.Wait()
	})
	return p
}

// Addr is where clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Client is a client that goes through the proxy, closed with the test.
func (p *Proxy) Client(t testing.TB, adjust ...func(*redis.Options)) *redis.Client {
	t.Helper()
	return newClient(t, p.Addr(), "", adjust)
}

// Cut resets every connection, and each new one as soon as it is made, until Mend.
// (The port stays taken, so a client sees a reset where a dead host would refuse;
// Server.Kill gives the refusal.)
func (p *Proxy) Cut() {
	p.mu.Lock()
	p.cut = true
	links := make([]*link, 0, len(p.links))
	for l := range p.links {
		links = append(links, l)
	}
	p.mu.Unlock()
	for _, l := range links {
		l.reset()
	}
}

// CutClients is Cut for the clients only: to the server it looks as if they were
// silent. It has not been told that they are gone.
func (p *Proxy) CutClients() {
	p.mu.Lock()
	p.cut = true
	links := make([]*link, 0, len(p.links))
	for l := range p.links {
		links = append(links, l)
		p.kept = append(p.kept, l.server)
	}
	p.mu.Unlock()
	for _, l := range links {
		l.end(func(c net.Conn) {
			if c == l.client {
				reset(c)
			}
		})
	}
}

// Mend lets new connections through again.
func (p *Proxy) Mend() {
	p.set(func() {
		p.cut = false
		p.endKept()
	})
}

// endKept is called with mu held.
func (p *Proxy) endKept() {
	for _, c := range p.kept {
		c.Close()
	}
	p.kept = nil
}

// Freeze stops forwarding both ways and closes nothing: the network is a black
// hole. What is sent meanwhile arrives after Thaw.
func (p *Proxy) Freeze() { p.set(func() { p.frozen = true }) }

// Thaw ends Freeze.
func (p *Proxy) Thaw() { p.set(func() { p.frozen = false }) }

// DropReplies decides whether replies are swallowed while requests still arrive.
func (p *Proxy) DropReplies(drop bool) { p.set(func() { p.mute = drop }) }

// Delay holds every piece back for d, in each direction.
func (p *Proxy) Delay(d time.Duration) { p.set(func() { p.delay = d }) }

// OnRequest calls hook with each piece a client sends; one for which it answers
// false is swallowed. The hook may be called on several goroutines, may call the
// proxy, and must not keep the bytes. Nil removes it.
func (p *Proxy) OnRequest(hook func(b []byte) (forward bool)) { p.set(func() { p.hook = hook }) }

// LoseNextReply lets the next request reach the server and be executed there, and
// resets its connection when the reply is about to come back. The returned channel
// is closed when that has happened.
//
// The next request is the next whose bytes contain all words, whatever their case
// (a ZooKeeper request contains its path); without words, the next which is not part
// of go-redis' opening of a connection.
func (p *Proxy) LoseNextReply(words ...string) (lost <-chan struct{}) {
	loss := newLoss(words)
	p.set(func() { p.loss = loss })
	return loss.done
}

func (p *Proxy) set(f func()) {
	p.mu.Lock()
	f()
	p.mu.Unlock()
	p.change.Broadcast()
}

// accept serves connections until the listener is closed.
func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(client) })
	}
}

// serve makes the second half of a connection and forwards until either half ends.
func (p *Proxy) serve(client net.Conn) {
	server, err := net.DialTimeout("tcp", p.target, 5*time.Second)
	if err != nil {
		reset(client)
		return
	}
	l := &link{proxy: p, client: client, server: server, done: make(chan struct{})}
	p.mu.Lock()
	refused := p.cut
	if !refused {
		p.links[l] = struct{}{}
	}
	p.mu.Unlock()
	if refused {
		l.reset()
		return
	}
	p.running.Go(func() { l.pump(server, client, l.request) })
	l.pump(client, server, l.reply)
}
