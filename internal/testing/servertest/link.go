package servertest

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// link is one connection through a Proxy: its two halves.
type link struct {
	proxy          *Proxy
	client, server net.Conn
	once           sync.Once
	done           chan struct{} // closed when the link has ended
	loss           atomic.Pointer[loss]
}

// pump forwards pieces that pass until either half ends, and then ends both.
func (l *link) pump(to, from net.Conn, pass func(b []byte) bool) {
	defer l.close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && l.wait() && pass(buf[:n]) {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// wait holds a piece back while the proxy delays or is frozen, and reports whether
// the link still lives.
func (l *link) wait() bool {
	p := l.proxy
	p.mu.Lock()
	delay := p.delay
	p.mu.Unlock()
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-l.done:
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.frozen && !l.ended() {
		p.change.Wait()
	}
	return !l.ended()
}

// request decides about a piece from the client.
func (l *link) request(b []byte) (forward bool) {
	p := l.proxy
	p.mu.Lock()
	hook := p.hook
	if p.loss != nil && p.loss.meant(b) {
		// Marked before the request is forwarded, so that no reply can overtake it.
		l.loss.Store(p.loss)
		p.loss = nil
	}
	p.mu.Unlock()
	return hook == nil || hook(b) // without the lock: the hook may call the proxy
}

// reply decides about a piece from the server. That it exists proves that the
// request was executed; cutting any earlier would leave that open.
func (l *link) reply([]byte) (forward bool) {
	if loss := l.loss.Load(); loss != nil {
		l.reset()
		close(loss.done)
		return false
	}
	p := l.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.mute
}

// close ends the link the way its halves end: with what was sent delivered.
func (l *link) close() { l.end(func(c net.Conn) { c.Close() }) }

// reset ends the link like a cut network: what is under way is lost.
func (l *link) reset() { l.end(reset) }

func (l *link) end(how func(net.Conn)) {
	l.once.Do(func() {
		how(l.client)
		how(l.server)
		p := l.proxy
		p.mu.Lock()
		delete(p.links, l)
		close(l.done)
		p.mu.Unlock()
		p.change.Broadcast() // a pump may wait for the thaw
	})
}

func (l *link) ended() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// reset closes c with RST instead of FIN.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // only fails when it is closed already
	}
	c.Close()
}

// loss is one reply that is to be lost.
type loss struct {
	words [][]byte
	done  chan struct{}
}

func newLoss(words []string) *loss {
	l := &loss{done: make(chan struct{})}
	for _, w := range words {
		l.words = append(l.words, bytes.ToLower([]byte(w)))
	}
	return l
}

// meant reports whether b is the request in question.
func (l *loss) meant(b []byte) bool {
	b = bytes.ToLower(b)
	if len(l.words) == 0 {
		return !bytes.Contains(b, []byte("\r\nhello\r\n")) && !bytes.Contains(b, []byte("\r\nclient\r\n"))
	}
	for _, w := range l.words {
		if !bytes.Contains(b, w) {
			return false
		}
	}
	return true
}
