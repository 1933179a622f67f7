package session

import (
	"sync"

	"github.com/go-zookeeper/zk"
)

// link announces each connection: the first one, and each one after an interruption.
type link struct {
	up chan struct{} // there was the first

	mu      sync.Mutex
	waiting map[chan struct{}]struct{}
}

func newLink() *link {
	return &link{up: make(chan struct{}), waiting: map[chan struct{}]struct{}{}}
}

// onEvent is called by the library, and must not wait or call it.
func (l *link) onEvent(e zk.Event) {
	if e.Type != zk.EventSession || e.State != zk.StateHasSession {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.up:
	default:
		close(l.up)
		return
	}
	for c := range l.waiting {
		select {
		case c <- struct{}{}:
		default: // it has not looked since the last time
		}
	}
}

// Reconnected returns a channel that gets a value after each return of the connection,
// until stop. A watch may have missed something then.
func (l *link) Reconnected() (signal <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting[c] = struct{}{}
	return c, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.waiting, c)
	}
}
