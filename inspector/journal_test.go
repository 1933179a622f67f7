package inspector

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// told is a journal that keeps what it is told.
type told struct {
	mu    sync.Mutex
	lines []string
	at    time.Time // of the newest event
}

func (j *told) Ready() error { return nil }

func (j *told) Sent(all []*record.Sends, then func(error)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, s := range all {
		for _, x := range s.Items {
			number := fmt.Sprint(s.Number)
			if now := time.Now(); s.Number < now.UnixMicro() && s.Number > now.Add(-time.Hour).UnixMicro() {
				number = "the clock"
			}
			j.lines = append(j.lines, fmt.Sprintf("%s %s to %d at %s", s.Topic.Name, x.Content, x.Score, number))
		}
	}
	then(nil)
}

func (j *told) Observe(e *message.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.at = e.At
	for _, x := range e.Items {
		j.lines = append(j.lines, fmt.Sprintf("%s %s %s", e.Topic.Name, x.Content, x.What))
	}
}

func (j *told) want(t *testing.T, lines ...string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	slices.Sort(j.lines)
	if slices.Sort(lines); !slices.Equal(j.lines, lines) {
		t.Errorf("told %q, want %q", j.lines, lines)
	}
	j.lines = nil
}

// What a program changes by hand is told, and what it finds to be nowhere is not.
func TestJournalIsToldWhatIsChanged(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, _ *Inspector) {
		ctx, j := context.Background(), &told{}
		i := newInspector(t, rdb, Config{Journal: j})
		topic := define(t, rdb, topicOf(t, message.KindPriority, 1))
		send(t, rdb, topic, message.Priority{Content: "a", Priority: 20}, message.Priority{Content: "b", Priority: 20})
		rdb.HSet(ctx, protocol.KeysOf(topic.Name, 0).Meta, "batch", 7)
		for _, content := range []string{"a", "nowhere"} {
			_, _, err := i.Cancel(ctx, topic.Name, content, "")
			must.Do(t, err)
		}
		j.want(t, topic.Name+" a cancelled")
		_, err := i.Reschedule(ctx, topic.Name, "b", "", Move{Priority: 30})
		must.Do(t, err)
		j.want(t, topic.Name+" b to 30 at 7")

		died := time.UnixMilli(time.Now().Add(-time.Hour).UnixMilli())
		bury(t, rdb, topic, 0, 3, func(n int) (string, time.Time, string) {
			return fmt.Sprint("dead ", n), died.Add(time.Duration(n) * time.Second), whyOf(died, "500", "x")
		})
		_, err = i.Dead().Requeue(ctx, topic.Name, DeadQuery{Limit: 1}, RequeueOptions{})
		must.Do(t, err)
		j.want(t, topic.Name+" dead 0 to 500 at 7")
		_, _, err = i.Dead().Delete(ctx, topic.Name, DeadQuery{}, nil)
		must.Do(t, err)
		j.want(t, topic.Name+" dead 1 deleted", topic.Name+" dead 2 deleted")

		timed := topicOf(t, message.KindFixedTime, 1)
		timed.Name += "-timed"
		timed = define(t, rdb, timed)
		send(t, rdb, timed, message.FixedTime{Content: "c", In: time.Hour})
		at := time.UnixMilli(time.Now().Add(2 * time.Hour).UnixMilli())
		_, err = i.Reschedule(ctx, timed.Name, "c", "", Move{At: at})
		must.Do(t, err)
		j.want(t, fmt.Sprintf("%s c to %d at the clock", timed.Name, at.UnixMilli()))
	})
}

// commandTime is a hook that notes when Redis is given a command.
type commandTime struct{ at time.Time }

func (g *commandTime) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g *commandTime) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		g.at = time.Now()
		return next(ctx, cmd)
	}
}

func (g *commandTime) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		g.at = time.Now()
		return next(ctx, cmds)
	}
}

// The time of a cancel is that before its command: what is sent behind it is later.
func TestJournalIsToldWhenACancelBegan(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	rdb, cancels := server.Client(t), server.Client(t)
	var last commandTime
	cancels.AddHook(&last)
	j := &told{}
	i := newInspector(t, cancels, Config{Journal: j})
	topic := define(t, rdb, topicOf(t, message.KindFixedTime, 1))
	send(t, rdb, topic, message.FixedTime{Content: "c", In: time.Hour})
	removed, _, err := i.Cancel(context.Background(), topic.Name, "c", "")
	must.Do(t, err)
	if !removed || j.at.IsZero() || j.at.After(last.at) {
		t.Errorf("removed: %v; the cancel is of %v, its command of %v", removed, j.at, last.at)
	}
}
