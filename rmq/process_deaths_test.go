package rmq_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/hash"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/rmq"
)

// reportedKey is a list of the deaths that were reported: content and ms.
const reportedKey = "reported"

// noteDeath writes a death down, in some milliseconds, so that kills hit it.
func noteDeath(rdb redis.UniversalClient) func(context.Context, *rmq.Death) error {
	return func(ctx context.Context, d *rmq.Death) error {
		<-time.After(rand.N(3 * time.Millisecond))
		err := rdb.RPush(ctx, reportedKey, fmt.Sprintf("%s@%d", d.Content, d.At.UnixMilli())).Err()
		<-time.After(rand.N(3 * time.Millisecond))
		return err
	}
}

// Workers are killed fifty times, while messages die by failures, by verdicts and by those
// kills, and some of the dead are requeued. All that are dead in the end were reported.
func TestDeathsAreReportedOverKills(t *testing.T) {
	t.Parallel()
	const kills, workers = 50, 4
	ctx, draw := context.Background(), sharetest.Rand(t)
	jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindFixedTime, Slots: 16}
	c := newCluster(t, job{
		Topics: []rmq.Topic{jobs}, Lease: 2 * time.Second, Backoff: time.Millisecond, Timeout: 5 * time.Second,
		SafetyLook: 500 * time.Millisecond, ListensToDead: true, NoBreaker: true, // since nothing ever succeeds
	})
	look, err := inspector.New(c.rdb, inspector.Config{})
	noError(t, err)
	ps := c.run(workers)
	sent, requeued := 0, 0
	for n := range kills {
		var ms []rmq.Message
		for _, word := range []string{poison, hopeless, hopeless} {
			sent++
			ms = append(ms, rmq.FixedTime{Content: fmt.Sprintf("%d %s", sent, word), In: time.Millisecond})
		}
		c.send(jobs, ms...)
		// In its last delivery: it dies with its worker, or when its time is over.
		sent++
		last := fmt.Sprintf("%d %s", sent, hold)
		k, now := luascripts.KeysOf("jobs", hash.Slot(last, jobs.Slots)), time.Now().UnixMilli()
		noError(t, c.rdb.HSet(ctx, k.Why, last, fmt.Sprintf("16 %d %d - w00 the content asks for it", now, now)).Err())
		noError(t, c.rdb.ZAdd(ctx, k.Retry, redis.Z{Score: float64(now*100 + 1), Member: last}).Err())
		if n%5 == 4 {
			done, err := look.DeadRequeue(ctx, "jobs", inspector.DeadQuery{Limit: 3, Reason: "asks"}, inspector.RequeueOptions{})
			noError(t, err)
			requeued += done.Stored
		}
		<-time.After(time.Duration(draw.IntN(400)) * time.Millisecond)
		at := draw.IntN(len(ps))
		ps[at].Kill()
		ps[at] = c.warm()
		c.goAll(ps[at])
	}
	var dead map[string]string // content -> content and ms
	eventually(t, "all are dead", func() bool {
		dead = map[string]string{}
		for slot := range jobs.Slots {
			for _, z := range c.rdb.ZRangeWithScores(ctx, luascripts.KeysOf("jobs", slot).Dead, 0, -1).Val() {
				dead[z.Member.(string)] = fmt.Sprintf("%s@%.0f", z.Member, z.Score)
			}
		}
		return len(dead) == sent
	})
	missing := func() (all []string) {
		reported := c.rdb.LRange(ctx, reportedKey, 0, -1).Val()
		for _, d := range dead {
			if !slices.Contains(reported, d) {
				all = append(all, d)
			}
		}
		return all
	}
	eventually(t, "all deaths are reported", func() bool { return len(missing()) == 0 })
	byKill := 0
	for slot := range jobs.Slots {
		for _, why := range c.rdb.HVals(ctx, luascripts.KeysOf("jobs", slot).Why).Val() {
			if strings.Contains(why, "lease of its worker") {
				byKill++
			}
		}
	}
	reported := c.rdb.LLen(ctx, reportedKey).Val()
	t.Logf("%d kills: %d dead, %d of them by a kill, %d requeued before; reported %d times", kills, len(dead), byKill, requeued, reported)
	if byKill == 0 || requeued == 0 {
		t.Error("the test has not tried what it should")
	}
}
