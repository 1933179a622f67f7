package journaltest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
	"github.com/slotmq/go-rmq/message"
)

// Restores are killed at random points, two at a time, and run again until they end. Meanwhile messages are
// handled. In the end each message is where it is to be, once, and live copies have not changed.
func TestRestoreKilledAndRepeated(t *testing.T) {
	t.Parallel()
	seed := uint64(sharetest.Seed(t))
	eachDrawn(t, func(t *testing.T, p *place) {
		kills, messages := night.Times(3, 20), night.Times(1500, 30_000)
		srv := servertest.SharedRedis(t)
		k := &killing{newNight(t, p, srv.Client(t), message.KindPriority, true), rand.New(rand.NewPCG(seed, 0)), map[string]float64{}, map[string]string{}}
		k.fill(messages)
		dir := proctest.New(t)
		start := func(n int) *proctest.Process {
			name := fmt.Sprintf("restore-%d", n)
			w := dir.Start(name, lossJob{Loss: "restore", Dir: dir.Path, Name: name, URL: p.url, Redis: srv.Addr(), Rate: float64(messages)})
			dir.AwaitKind(name, proctest.Warm)
			return w
		}
		pages := messages / min(500, messages/10) // of each restore, at least
		for round := range kills / 2 {
			both := []*proctest.Process{start(2 * round), start(2*round + 1)}
			for _, w := range both {
				w.Go()
			}
			for _, w := range both {
				seen, point := 0, 1+k.IntN(pages)
				dir.Await("pages are written", func() bool {
					seen = 0
					for _, e := range dir.Events() {
						if e.Worker == w.Name && (e.Kind == pageDone || e.Kind == proctest.Done) {
							seen++
						}
					}
					return seen >= point || dir.Saw(w.Name, proctest.Done)
				})
				w.Kill()
			}
			k.unchanged("killed")
			k.handle()
		}
		last := []*proctest.Process{start(kills), start(kills + 1)}
		for _, w := range last {
			w.Go()
		}
		for _, w := range last {
			dir.AwaitKind(w.Name, proctest.Done)
			w.Kill()
		}
		k.complete()
	})
}

// killing is a night in which restores are killed.
type killing struct {
	*nightly
	*rand.Rand
	owed map[string]float64 // what is to wait, and how
	live map[string]string  // what was there: the place of each content
}

// fill reports messages that are owed, dead, and over; some have a live copy, with another priority.
func (k *killing) fill(messages int) {
	k.Helper()
	keys := k.keys()
	must.Do(k, k.rdb.HSet(ctx, keys.Meta, "batch", 3, "holder", "somebody").Err())
	var items []record.SentItem
	var done, dead []string
	pipe := k.rdb.Pipeline()
	for i := range messages {
		content, score := fmt.Sprintf("order %d", i), int64(20+k.IntN(1000))
		items = append(items, record.SentItem{Content: content, Score: score})
		switch i % 20 {
		case 0:
			done = append(done, content)
		case 1:
			dead = append(dead, content)
			k.live[content] = "to be dead"
		case 2, 3, 4:
			key := []string{keys.Store, keys.Prepare, keys.Retry}[i%20-2]
			pipe.ZAdd(ctx, key, redis.Z{Score: 4242, Member: content})
			k.live[content] = key
		default:
			k.owed[content] = float64(score)
		}
	}
	_, err := pipe.Exec(ctx)
	must.Do(k, err)
	k.sent(5, time.Now(), items...)
	k.ended(message.Done, 6, "", done...)
	k.ended(message.Died, 6, "x", dead...)
}

// handle handles some of what waits, and reports it to the journal.
func (k *killing) handle() {
	k.Helper()
	var some []string
	for content := range maps.Keys(k.owed) {
		if len(some) < 100 && k.rdb.ZRem(ctx, k.keys().Store, content).Val() == 1 {
			some = append(some, content)
			delete(k.owed, content)
		}
	}
	k.ended(message.Done, time.Now().UnixMicro(), "", some...)
}

// unchanged looks at the live copies, and that nothing is in two places or waits otherwise than it should.
func (k *killing) unchanged(when string) (waiting, dead int) {
	k.Helper()
	keys := k.keys()
	place := map[string]string{}
	for _, key := range []string{keys.Store, keys.Prepare, keys.Retry, keys.Dead} {
		all, err := k.rdb.ZRangeWithScores(ctx, key, 0, -1).Result()
		must.Do(k, err)
		for _, z := range all {
			content := fmt.Sprint(z.Member)
			if place[content] != "" {
				k.Errorf("%s: %s is in %s and in %s", when, content, place[content], key)
			}
			place[content] = key
			score, owed := k.owed[content]
			live := k.live[content]
			switch {
			case owed && key == keys.Store && z.Score == score:
				waiting++
			case live == "to be dead" && key == keys.Dead:
				dead++
			case live != key || z.Score != 4242:
				k.Errorf("%s: %s is in %s with %v", when, content, key, z.Score)
			}
		}
	}
	for content, key := range k.live {
		if key != "to be dead" && place[content] != key {
			k.Errorf("%s: %s is in %q, not in %s", when, content, place[content], key)
		}
	}
	return waiting, dead
}

// complete also looks whether all is there.
func (k *killing) complete() {
	k.Helper()
	waiting, dead := k.unchanged("in the end")
	if died := len(k.live) / 4; waiting != len(k.owed) || dead != died {
		k.Errorf("%d of %d wait, %d of %d are dead", waiting, len(k.owed), dead, died)
	}
	if meta := k.rdb.HGet(ctx, k.keys().Meta, "batch").Val(); meta != "3" { // a batch is in flight
		k.Errorf("the number is %s", meta)
	}
	if other, err := k.rdb.Exists(ctx, protocol.StoreKey(k.topic.Name, 0)).Result(); err != nil || other != 0 {
		k.Errorf("slot 0 has something, %v", err)
	}
}
