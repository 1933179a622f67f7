package watchdog

import (
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// Long returns what the handler of the batch runs, if it has run for some time. When it began is by the clock of this machine.
func (m *Watchdog) Long(now time.Time, atLeast time.Duration) (r protocol.Running, ok bool) {
	contents := m.runs(now, atLeast, &r)
	if len(contents) == 0 {
		return r, false
	}
	r.NoteContents(contents)
	return r, true
}

// runs returns the contents that the handler runs, for long.
func (m *Watchdog) runs(now time.Time, atLeast time.Duration, r *protocol.Running) (contents []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.batch
	if b == nil || m.running(now) < atLeast {
		return nil
	}
	*r = protocol.Running{Slot: b.Slot.Index, Worker: b.ID, Since: m.started, Timeout: b.Timeout, Fence: b.Fence}
	switch {
	case b.Parallel:
		r.Since = b.Begun
		for i, cancel := range m.each {
			if cancel != nil {
				contents = append(contents, b.Contents[i])
			}
		}
	case m.current >= 0:
		contents = b.Contents[m.current:max(m.current+1, m.behind)]
	}
	return contents
}
