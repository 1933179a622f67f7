package kills

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
	"github.com/slotmq/go-rmq/internal/testing/system/workers"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/slots"
)

// Workers are killed, by night fifty times, while messages die by failures, by verdicts and by those
// kills, and some of the dead are requeued. All that are dead in the end were reported.
func TestDeathsAreReportedOverKills(t *testing.T) {
	t.Parallel()
	kills := night.Times(8, 50)
	ctx, draw := t.Context(), sharetest.Rand(t)
	jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindFixedTime, Slots: 16}
	c := workers.New(t, workers.Job{
		Topics: []rmq.Topic{jobs}, Lease: 3 * time.Second, Backoff: time.Millisecond, Timeout: 10 * time.Second,
		SafetyLook: 500 * time.Millisecond, ListensToDead: true, NoBreaker: true, // since nothing ever succeeds
	})
	look, err := inspector.New(c.Redis, inspector.Config{})
	must.Do(t, err)
	ps := c.Work(4)
	sent, requeued := 0, 0
	for n := range kills {
		var ms []rmq.Message
		for _, word := range []string{workers.Poison, workers.Hopeless, workers.Hopeless} {
			sent++
			ms = append(ms, rmq.FixedTime{Content: fmt.Sprintf("%d %s", sent, word), In: time.Millisecond})
		}
		c.Send(jobs, ms...)
		// In its last delivery: it dies with its worker, or when its time is over.
		sent++
		last := fmt.Sprintf("%d %s", sent, workers.Hold)
		k, now := protocol.KeysOf("jobs", slots.Of(last, jobs.Slots)), time.Now().UnixMilli()
		must.Do(t, c.Redis.HSet(ctx, k.Why, last, fmt.Sprintf("16 %d %d - w00 the content asks for it", now, now)).Err())
		must.Do(t, c.Redis.ZAdd(ctx, k.Retry, redis.Z{Score: float64(now*100 + 1), Member: last}).Err())
		if n%4 == 3 {
			done, err := look.Dead().Requeue(ctx, "jobs", inspector.DeadQuery{Limit: 3, Reason: "asks"}, inspector.RequeueOptions{})
			must.Do(t, err)
			requeued += done.Stored
		}
		more, at := c.Count[proctest.Start]+draw.IntN(12), draw.IntN(len(ps))
		c.Await("some of it is handled", func() bool { return c.Count[proctest.Start] >= more })
		if n%2 == 0 { // or chance might spare all of those
			c.Await("the last delivery begins", func() bool {
				at = slices.IndexFunc(ps, func(p *proctest.Process) bool { return c.Runs(p.Name, last) })
				return at >= 0
			})
		}
		ps[at].Kill()
		ps[at] = c.Warm()
		c.GoAll(ps[at])
	}
	var dead map[string]string // content -> content and ms
	await.True(t, "all are dead", func() bool {
		dead = map[string]string{}
		for slot := range jobs.Slots {
			for _, z := range c.Redis.ZRangeWithScores(ctx, protocol.KeysOf("jobs", slot).Dead, 0, -1).Val() {
				dead[z.Member.(string)] = fmt.Sprintf("%s@%.0f", z.Member, z.Score)
			}
		}
		return len(dead) == sent
	})
	missing := func() (all []string) {
		reported := c.Redis.LRange(ctx, workers.ReportedKey, 0, -1).Val()
		for _, d := range dead {
			if !slices.Contains(reported, d) {
				all = append(all, d)
			}
		}
		return all
	}
	await.True(t, "all deaths are reported", func() bool { return len(missing()) == 0 })
	byKill := 0
	for slot := range jobs.Slots {
		for _, why := range c.Redis.HVals(ctx, protocol.KeysOf("jobs", slot).Why).Val() {
			if strings.Contains(why, "lease of its worker") {
				byKill++
			}
		}
	}
	reported := c.Redis.LLen(ctx, workers.ReportedKey).Val()
	t.Logf("%d kills: %d dead, %d of them by a kill, %d requeued before; reported %d times", kills, len(dead), byKill, requeued, reported)
	if byKill == 0 || requeued == 0 {
		t.Error("the test has not tried what it should")
	}
}
