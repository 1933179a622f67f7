package policies

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/lifetime"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/servers/away"
	"github.com/slotmq/go-rmq/internal/servers/wait"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/upkeep/periodic"
)

var ctx = context.Background()

// heard is a limit that a worker hears of.
type heard struct {
	topic int
	protocol.Policy
}

// listen has the limits of two topics heard.
func listen(t *testing.T, rdb *redis.Client, period time.Duration) (p *Policies, news chan heard) {
	s := lifetime.New()
	news = make(chan heard, 100)
	log := zap.NewNop()
	p = New(Config{
		Needs: periodic.Needs{
			Life: s, Redis: rdb, Scripts: protocol.New(rdb), Log: log,
			Away: &away.Watch{Log: away.In(log), Redis: rdb, Ctx: s.Background, Go: func(look func()) bool { s.Go(look); return true }},
		},
		Topics: []string{"a", "b"}, Period: period,
		Changed: func(topic int, now protocol.Policy) { news <- heard{topic, now} },
	})
	p.Begin(ctx)
	s.Go(p.Run)
	t.Cleanup(func() {
		s.End(nil)
		s.Wait()
		p.End()
	})
	return p, news
}

func limit(t *testing.T, rdb *redis.Client, topic string, p protocol.Policy) {
	t.Helper()
	if _, err := byhand.Limit(ctx, rdb, topic, p); err != nil {
		t.Fatal(err)
	}
}

// next is what is heard next.
func next(t *testing.T, news chan heard, topic int, rate float64) {
	t.Helper()
	if got := await.Signal(t, "a limit", news); got.topic != topic || got.Rate != rate {
		t.Errorf("%+v is heard, not %g of topic %d", got, rate, topic)
	}
}

// Limits are known from the start on, are read again when a period is over, and heard of once.
func TestPeriod(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	limit(t, rdb, "a", protocol.Policy{Rate: 5, Left: time.Hour})
	_, news := listen(t, rdb, 20*time.Millisecond)
	if len(news) != 1 {
		t.Errorf("%d limits are known at the start", len(news))
	}
	next(t, news, 0, 5)
	limit(t, rdb, "a", protocol.Policy{Rate: 5, Left: 2 * time.Hour}) // the same, for longer
	limit(t, rdb, "b", protocol.Policy{Rate: 7, Left: time.Hour})
	next(t, news, 1, 7)
	limit(t, rdb, "a", protocol.Policy{})
	next(t, news, 0, 0)
}

// One that ends is over in time, though Redis is not asked.
func TestEnd(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	rdb := server.Client(t)
	limit(t, rdb, "a", protocol.Policy{Rate: 5, Left: 3 * time.Second})
	_, news := listen(t, rdb, time.Hour)
	next(t, news, 0, 5)
	next(t, news, 0, 0)
}

// A clock of Redis that is wrong neither makes a limit longer than it was at first, nor has it
// forgotten.
func TestClockOfRedisIsSet(t *testing.T) {
	t.Parallel()
	server, rdb := servertest.Memory(t)
	begun := time.UnixMilli(1_767_225_600_000)
	server.SetTime(begun)
	p, news := listen(t, rdb, time.Hour)
	limit(t, rdb, "a", protocol.Policy{Rate: 5, Left: time.Hour})
	read := func(at time.Duration) {
		t.Helper()
		server.SetTime(begun.Add(at))
		if failed := p.read(ctx, p.all()); failed != nil {
			t.Fatalf("%v could not be read", failed)
		}
	}
	read(0)
	next(t, news, 0, 5)
	first := p.held[0].last
	read(-time.Hour) // set back
	if got := p.held[0]; got.last != first || got.Left > time.Hour {
		t.Errorf("it holds for %v, until %v later than it said first", got.Left, got.last.Sub(first))
	}
	read(59 * time.Minute) // set forward: it ends as Redis says
	if got := p.held[0].Left; got > time.Minute {
		t.Errorf("it holds for %v", got)
	}
	read(2 * time.Hour)
	next(t, news, 0, 0)
	read(time.Minute) // that was wrong
	next(t, news, 0, 5)
	if got := p.held[0]; got.last != first || got.Left > 59*time.Minute {
		t.Errorf("it holds for %v, until %v later than it said first", got.Left, got.last.Sub(first))
	}
	limit(t, rdb, "a", protocol.Policy{Rate: 5, Left: time.Hour}) // the same once more
	read(time.Minute)
	if got := p.held[0].last; !got.After(first) || len(news) != 0 {
		t.Errorf("what was set again lasts %v longer, and %d are heard", got.Sub(first), len(news))
	}
}

// Whatever Redis says of a limit, it lasts no longer than was left when it was heard of first, by
// the clock of this process. Before that, what Redis says counts.
func TestNeverLongerThanHeardFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var got []string
		p := New(Config{Needs: periodic.Needs{Log: zap.NewNop(), Life: lifetime.New()}, Topics: []string{"mails"}, Period: time.Hour,
			Changed: func(_ int, p protocol.Policy) {
				got = append(got, fmt.Sprint(time.Since(begun).Minutes(), " min: ", p.Rate))
			}})
		defer p.Life.End(nil)
		defer p.End()
		says := func(at time.Duration, policy protocol.Policy) {
			wait.Sleep(ctx, time.Until(begun.Add(at)))
			p.set(0, policy)
		}
		said := func(at, left time.Duration) {
			says(at*time.Minute, protocol.Policy{Rate: 5, Left: left * time.Minute, Term: "x"})
		}
		none := func(at time.Duration) { says(at*time.Minute, protocol.Policy{}) }
		said(0, 60)
		none(10)
		said(15, 45)  // it was away, or Redis' clock ahead, for one look
		said(20, 10)  // until 30
		said(25, 600) // until 60, not longer
		said(65, 600) // is over
		none(70)
		said(75, 600)
		if want := "[0 min: 5 10 min: 0 15 min: 5 60 min: 0]"; fmt.Sprint(got) != want {
			t.Errorf("%v, not %s", got, want)
		}
	})
}

// Where no topic has a limit, many of them cost Redis one command.
func TestManyTopicsWithoutALimit(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	p, news := listen(t, rdb, time.Hour)
	calls := func(command string) string {
		_, stat, _ := strings.Cut(rdb.Info(ctx, "commandstats").Val(), "cmdstat_"+command+":calls=")
		n, _, _ := strings.Cut(stat, ",")
		return n
	}
	if all, each := calls("exists"), calls("evalsha"); all != "1" || each != "" {
		t.Errorf("%q commands for all of the topics, and %q for each", all, each)
	}
	limit(t, rdb, "b", protocol.Policy{Rate: 7, Left: time.Hour})
	p.read(ctx, p.all())
	next(t, news, 1, 7)
	limit(t, rdb, "b", protocol.Policy{})
	p.read(ctx, p.all())
	next(t, news, 1, 0)
}

// While Redis does not answer, what holds goes on; and when it does again, the rest is read.
func TestAway(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	rdb := server.Client(t, func(o *redis.Options) { o.MaxRetries, o.DialerRetries, o.ReadTimeout = -1, 1, 100*time.Millisecond })
	limit(t, server.Client(t), "a", protocol.Policy{Rate: 5, Left: time.Hour})
	p, news := listen(t, rdb, 20*time.Millisecond)
	next(t, news, 0, 5)
	server.Pause()
	if failed := p.read(ctx, p.all()); fmt.Sprint(failed) != "[0 1]" || len(news) != 0 {
		t.Errorf("%v could not be read, %d are heard", failed, len(news))
	}
	server.Resume()
	limit(t, server.Client(t), "b", protocol.Policy{Rate: 7, Left: time.Hour})
	next(t, news, 1, 7)
}

// A limit whose answer comes when the worker has ended is not held: its timer would keep all of the
// worker for as long as the limit lasts.
func TestNothingIsHeldAfterTheEnd(t *testing.T) {
	t.Parallel()
	p := New(Config{Needs: periodic.Needs{Log: zap.NewNop(), Life: lifetime.New()}, Topics: []string{"mails"}, Period: time.Hour,
		Changed: func(int, protocol.Policy) { t.Error("a limit is passed on") }})
	defer p.Life.End(nil)
	p.End()
	p.set(0, protocol.Policy{Rate: 1, Left: time.Hour})
	if p.held[0] != nil {
		t.Error("a limit is held")
	}
}
