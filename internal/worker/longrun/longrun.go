package longrun

import (
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/lifetime"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

// Config of a [Reporter].
type Config struct {
	Life     *lifetime.Lifetime
	Redis    redis.UniversalClient
	Schedule *schedule.Schedule
	Log      *zap.Logger
	Long     time.Duration // so long a handler must have run; see [Long]
}

// Topic is one whose handlers are looked at.
type Topic struct {
	Name, Qualified string
	Scheduled       *schedule.Topic

	// Runs returns what the handler of a slot runs, if it has run for some time.
	Runs func(x *schedule.Slot, now time.Time, atLeast time.Duration) (protocol.Running, bool)

	// Only for Run: what Redis has, as [protocol.Running] writes it, by what that is with the time of this machine; and when it
	// was written.
	noted map[string]string
	at    time.Time
}

// Reporter reports to Redis what is handled for long.
type Reporter struct {
	Config
	topics []*Topic
}

// Long is how long a handler must have run for people to see it. Looks are half of that apart.
const Long = 5 * time.Second

// renewal is how often Redis is reminded of what goes on, which it forgets after the time of three.
const renewal = 20 * time.Second

// New returns what looks at the handlers of topics.
func New(c Config, topics []*Topic) *Reporter { return &Reporter{c, topics} }

// Run looks until the schedule is closed: then handlers that are left ignore their context, and what is noted of them counts for
// some time.
func (r *Reporter) Run() {
	ticker := time.NewTicker(r.Long / 2)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			for _, t := range r.topics {
				r.look(t)
			}
		case <-r.Schedule.Done():
			for _, t := range r.topics {
				r.look(t)
			}
			return
		}
	}
}

// look notes what runs for long at a topic, if that has changed, or the note would soon count no more.
func (r *Reporter) look(t *Topic) {
	runs, same := map[string]protocol.Running{}, true
	for _, x := range t.Scheduled.Working() {
		if long, ok := t.Runs(x, time.Now(), r.Long); ok {
			text := long.String()
			runs[text] = long
			same = same && t.noted[text] != ""
		}
	}
	if same && len(runs) == len(t.noted) && (len(runs) == 0 || time.Since(t.at) < renewal) {
		return
	}
	if err := r.note(t, runs); err != nil && r.Life.Background.Err() == nil {
		cluster.NoteError(r.Life.Requests, r.Redis, err)
		r.Log.Debug("people cannot see in Redis what runs for long", zap.String("topic", t.Name), zap.Error(err))
	}
}

// note has Redis know what runs, and nothing else of this worker, nor of those that died.
func (r *Reporter) note(t *Topic, runs map[string]protocol.Running) error {
	ctx := r.Life.Requests
	server, _, err := cluster.MasterFor(ctx, r.Redis, protocol.RunningKey(t.Qualified))
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
		if noted[text] = t.noted[text]; noted[text] == "" {
			one.Since = now.Add(one.Since.Sub(here))
			noted[text] = one.String()
		}
		texts = append(texts, noted[text])
	}
	for text, was := range t.noted {
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
	t.noted, t.at = noted, time.Now()
	return nil
}
