package watchdog

import (
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// Long returns what the handler of the batch runs, if it has run for some time. When it began is by the clock of this machine.
func (m *Watchdog) Long(now time.Time, atLeast time.Duration) (r protocol.Running, ok bool) {
	m.mu.Lock()
	b := m.batch
	if b == nil || b.running(now) < atLeast {
		m.mu.Unlock()
		return r, false
	}
	r = protocol.Running{Slot: b.Slot.Index, Worker: b.ID, Since: b.started, Timeout: b.Timeout, Fence: b.Fence}
	if b.Parallel {
		r.Since = b.Begun
	}
	contents := m.handled(b)
	m.mu.Unlock()
	if len(contents) == 0 {
		return r, false
	}
	r.NoteContents(contents)
	return r, true
}

// handled are the contents that handlers have now.
func (c *cancels) handled(b *Batch) (contents []string) {
	switch {
	case b.Parallel:
		for i, cancel := range c.each {
			if cancel != nil {
				contents = append(contents, b.Contents[i])
			}
		}
	case c.current >= 0:
		contents = b.Contents[c.current:max(c.current+1, c.behind)]
	}
	return contents
}
