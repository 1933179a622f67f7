package poll

import "sync"

// topics are those that somebody takes from, by name.
type topics struct {
	mu  sync.Mutex
	all map[string]*topic
}

// get returns a topic. The first to ask for it opens it.
func (x *topics) get(p *process, name string) *topic {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.all[name]
	if t == nil {
		t = newTopic(p, name)
		x.all[name] = t
		go t.open()
	}
	return t
}

// opened returns a topic if it is open; nil otherwise.
func (x *topics) opened(name string) *topic {
	x.mu.Lock()
	defer x.mu.Unlock()
	if t := x.all[name]; t != nil && t.works.Load() {
		return t
	}
	return nil
}

// forget takes out a topic that is closed, or could not be opened.
func (x *topics) forget(t *topic) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.all, t.name)
	close(t.closed)
}
