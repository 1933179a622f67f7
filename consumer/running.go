package consumer

import (
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
)

// running shows people, by way of Redis, which messages are handled for long, and since when. A batch in flight does not
// say which of its messages its handler has: to note that for each would cost more than many a message does. So a goroutine of its
// own looks now and then. Handlers know nothing of it, and those that end before have cost nothing.
type running struct {
	*crew
	rdb  redis.UniversalClient
	log  *zap.Logger
	long time.Duration // so long a handler must have run

	// Only for run: what Redis has, as [protocol.Running] writes it, by what that is with the time of this machine; and when it
	// was written.
	noted map[*topic]map[string]string
	at    map[*topic]time.Time
}

// longRun is how long a handler must have run for people to see it. Looks are half of that apart.
const longRun = 5 * time.Second

func newRunning(c *Consumer, w *crew) *running {
	return &running{crew: w, rdb: c.rdb, log: c.log, long: c.longRun, noted: map[*topic]map[string]string{}, at: map[*topic]time.Time{}}
}

// run looks until the schedule is closed: then handlers that are left ignore their context, and what is noted of them counts for
// some time.
func (r *running) run() {
	ticker := time.NewTicker(r.long / 2)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			for _, t := range r.topics {
				r.look(t)
			}
		case <-r.schedule.Done():
			for _, t := range r.topics {
				r.look(t)
			}
			return
		}
	}
}

// look notes what runs for long at a topic, if that has changed, or the note would soon count no more.
func (r *running) look(t *topic) {
	runs, same := map[string]protocol.Running{}, true
	for _, x := range t.scheduled.Working() {
		if long, ok := asSlot(x).watchdog.long(time.Now(), r.long); ok {
			text := long.String()
			runs[text] = long
			same = same && r.noted[t][text] != ""
		}
	}
	if same && len(runs) == len(r.noted[t]) && (len(runs) == 0 || time.Since(r.at[t]) < renewal) {
		return
	}
	if err := r.note(t, runs); err != nil && r.life.Background.Err() == nil {
		cluster.NoteError(r.life.Requests, r.rdb, err)
		r.log.Debug("people cannot see in Redis what runs for long", zap.String("topic", t.Name), zap.Error(err))
	}
}

// note has Redis know what runs, and nothing else of this worker, nor of those that died.
func (r *running) note(t *topic, runs map[string]protocol.Running) error {
	ctx := r.life.Requests
	server, _, err := cluster.MasterFor(ctx, r.rdb, protocol.RunningKey(t.Qualified))
	if err != nil {
		return err
	}
	clock, first := protocol.RunningFirst(ctx, t.Qualified)
	here := time.Now()
	script.ExecOnce(ctx, server, clock, first)
	if err := errors.Join(clock.Err(), first.Err()); err != nil {
		return err
	}
	noted, now := map[string]string{}, clock.Val()
	var texts, over []string
	for text, one := range runs {
		if noted[text] = r.noted[t][text]; noted[text] == "" {
			one.Since = now.Add(one.Since.Sub(here))
			noted[text] = one.String()
		}
		texts = append(texts, noted[text])
	}
	for text, was := range r.noted[t] {
		if noted[text] == "" {
			over = append(over, was)
		}
	}
	for _, z := range first.Val() {
		if text, _ := z.Member.(string); z.Score < float64(now.UnixMilli()) && !slices.Contains(texts, text) {
			over = append(over, text)
		}
	}
	cmds := protocol.NoteRunningCmds(ctx, t.Qualified, texts, over, now, 3*renewal)
	script.ExecOnce(ctx, server, cmds...)
	for _, cmd := range cmds {
		if err := cmd.Err(); err != nil {
			return err
		}
	}
	r.noted[t], r.at[t] = noted, time.Now()
	return nil
}

// long returns what the handler of the batch runs, if it has run for some time. When it began is by the clock of this machine.
func (m *watchdog) long(now time.Time, atLeast time.Duration) (r protocol.Running, ok bool) {
	contents := m.runs(now, atLeast, &r)
	if len(contents) == 0 {
		return r, false
	}
	r.NoteContents(contents)
	return r, true
}

// runs returns the contents that the handler runs, for long.
func (m *watchdog) runs(now time.Time, atLeast time.Duration, r *protocol.Running) (contents []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.watched
	if b == nil || m.running(now) < atLeast {
		return nil
	}
	*r = protocol.Running{Slot: b.slot.Index, Worker: b.id, Since: m.started, Timeout: b.opts.Timeout, Fence: b.fence}
	switch {
	case b.opts.Parallel:
		r.Since = b.begun
		for i, cancel := range m.each {
			if cancel != nil {
				contents = append(contents, b.contents[i])
			}
		}
	case m.current >= 0:
		contents = b.contents[m.current:max(m.current+1, m.behind)]
	}
	return contents
}
