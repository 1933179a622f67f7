package webtest

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/server/console"
	"github.com/slotmq/go-rmq/server/databases"
)

// onBoth runs a test on a Redis and on a Redis Cluster.
func onBoth(t *testing.T, test func(t *testing.T, rdb redis.UniversalClient)) {
	t.Run("Redis", func(t *testing.T) {
		t.Parallel()
		test(t, servertest.Redis(t).Client(t))
	})
	t.Run("Cluster", func(t *testing.T) {
		t.Parallel()
		test(t, servertest.Cluster(t, 3, 0).Client(t))
	})
}

// scene is a place where much goes on: topics of all kinds, with messages in each state, and workers that work.
type scene struct {
	t         *testing.T
	rdb       redis.UniversalClient
	journal   *journal.Journal
	client    *rmq.Client
	inspector *inspector.Inspector
	release   func() // lets the handler end that is stuck
}

// The topics of a scene.
var (
	orders  = rmq.Topic{Name: "orders", Kind: rmq.KindFixedTime, Slots: 16}              // something in each state
	prices  = rmq.Topic{Name: "prices", Kind: rmq.KindRangeMerge, Slots: 4, Notes: true} // merges
	mail    = rmq.Topic{Name: "mail", Kind: rmq.KindPriority, Slots: 4}                  // a part is paused
	reports = rmq.Topic{Name: "reports", Kind: rmq.KindFixedTime, Slots: 1}              // recurring messages, limited
	broken  = rmq.Topic{Name: "broken", Kind: rmq.KindFixedTime, Slots: 2}               // all fails
	lonely  = rmq.Topic{Name: "lonely", Kind: rmq.KindFixedTime, Slots: 2}               // no worker listens
	odd     = rmq.Topic{Name: `a&b <i>"c" ?#%`, Kind: rmq.KindFixedTime, Slots: 1}       // a name that a page must escape
)

var allTopics = []rmq.Topic{orders, prices, mail, reports, broken, lonely, odd}

const (
	taxDead, addressDead = 25, 3 // dead messages of topic orders, by their reason
	stuck                = "order that its handler does not finish"
	flaky                = "order of a shop that does not answer"
)

// newScene fills an empty Redis and returns when everything is as it should be.
func newScene(t *testing.T, rdb redis.UniversalClient) *scene {
	t.Helper()
	db, dialect, err := databases.Open("sqlite:" + filepath.Join(t.TempDir(), "journal.db"))
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, db.Close()) })
	j, err := journal.Open(db, dialect, journal.Config{Flow: journal.All, Wait: true})
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, j.Close(ctx)) })
	s := &scene{t: t, rdb: rdb, journal: j}
	s.inspector = inspectorOf(t, rdb)
	s.client, err = rmq.New(rmq.Config{Redis: rdb, Journal: j, Worker: "app7", Backoff: rmq.Schedule(time.Hour), Concurrency: 8})
	must.Do(t, err)
	end, release := context.WithCancel(ctx)
	s.release = release
	t.Cleanup(func() { release(); must.Do(t, s.client.Close(ctx)) })
	s.listen(end)
	s.send()
	must.Do(t, s.client.Start(ctx))
	s.awaitStats("what fails has failed", func(of inspector.Stats) bool {
		workers, err := s.inspector.Workers(ctx)
		must.Do(t, err)
		return of.Dead == taxDead+addressDead && of.Retrying == 1 && of.InFlight == 0 && len(workers) == 1 && !workers[0].Probing[broken.Name].IsZero()
	})
	s.put(orders, rmq.FixedTime{Content: stuck, At: time.Now()}) // last: what is in a batch with it waits for it
	s.awaitStats("a message is in flight", func(of inspector.Stats) bool { return of.InFlight == 1 })
	return s
}

func inspectorOf(t *testing.T, rdb redis.UniversalClient) *inspector.Inspector {
	t.Helper()
	i, err := inspector.New(rdb, inspector.Config{})
	must.Do(t, err)
	return i
}

// awaitStats waits until topic orders is as it should be.
func (s *scene) awaitStats(what string, is func(inspector.Stats) bool) {
	s.t.Helper()
	var last inspector.Stats
	so := false
	defer func() {
		if !so {
			s.t.Logf("%s: the last that was seen is %+v", what, last)
		}
	}()
	await.True(s.t, what, func() bool {
		var err error
		last, err = s.inspector.Stats(ctx, orders.Name)
		must.Do(s.t, err)
		so = is(last)
		return so
	})
}

// listen lets workers work at all topics but one.
func (s *scene) listen(end context.Context) {
	handle := rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		var n int
		switch {
		case d.Content == stuck:
			<-end.Done()
		case d.Content == flaky:
			return errors.New("shop 17 answers 503: try again")
		case d.Topic.Name == broken.Name:
			return errors.New("dial tcp 10.0.0.7:5432: connection refused")
		case strings.HasPrefix(d.Content, "tax "):
			_, _ = fmt.Sscanf(d.Content, "tax %d", &n) // it is one of ours
			return rmq.Dead(fmt.Errorf("no such tax code %d", n))
		case strings.HasPrefix(d.Content, "address "):
			return rmq.Dead(errors.New("the address has no street"))
		}
		return nil
	})
	for _, topic := range allTopics {
		if topic != lonely {
			must.Do(s.t, s.client.Listen(topic, handle, rmq.ListenOptions{NoBreaker: topic == orders}))
		}
	}
}

func (s *scene) send() {
	past := time.Now().Add(-2 * time.Minute)
	for i := range taxDead {
		s.put(orders, rmq.FixedTime{Content: fmt.Sprintf("tax %d", i), At: past})
	}
	for i := range addressDead {
		s.put(orders, rmq.FixedTime{Content: fmt.Sprintf("address %d", i), At: past})
	}
	s.put(orders, rmq.FixedTime{Content: flaky, At: past})
	for i, in := range []time.Duration{30 * time.Minute, 5 * time.Hour, 48 * time.Hour} {
		for n := range 10 * (i + 1) {
			s.put(orders, rmq.FixedTime{Content: fmt.Sprintf("order %d-%d", i, n), In: in})
		}
	}
	for range 3 {
		s.put(prices, rmq.RangeMerge{Content: "price of item 5", Range: time.Hour})
	}
	for i := range 20 {
		s.put(mail, rmq.Priority{Content: fmt.Sprintf("mail %d", i), Priority: int64(20 + i)})
	}
	must.Do(s.t, second(s.inspector.Pause(ctx, mail.Name, []int{1, 2})))
	for i := range 120 {
		s.put(broken, rmq.FixedTime{Content: fmt.Sprintf("row %d", i), At: past})
	}
	s.put(lonely, rmq.FixedTime{Content: "who hears me?", At: past})
	s.put(odd, rmq.FixedTime{Content: "odd", In: time.Hour})
	must.Do(s.t, s.client.Every(ctx, reports, rmq.Recurring{Name: "nightly", Content: "report of the night", Cron: "0 3 * * *", Zone: "Europe/Berlin"}))
	must.Do(s.t, s.client.Every(ctx, reports, rmq.Recurring{Name: "every minute", Content: "report of the minute", Delay: time.Minute, Period: time.Minute, Repeat: 1000}))
	must.Do(s.t, s.inspector.Limit(ctx, reports.Name, inspector.Policy{Rate: 5, For: time.Hour}))
}

func second[T any](_ T, err error) error { return err }

func (s *scene) put(topic rmq.Topic, m rmq.Message) {
	s.t.Helper()
	must.Do(s.t, second(s.client.Send(ctx, topic, m)))
}

// console serves a console, which may do anything unless it is adjusted, and returns its address, with a / at the end.
func (s *scene) console(adjust ...func(*console.Config)) string {
	s.t.Helper()
	cfg := console.Config{Redis: s.rdb, Journal: s.journal, Act: true}
	for _, f := range adjust {
		f(&cfg)
	}
	c, err := console.New(cfg)
	must.Do(s.t, err)
	srv := httptest.NewServer(c)
	s.t.Cleanup(func() { c.Close(); srv.Close() })
	return srv.URL + "/"
}
