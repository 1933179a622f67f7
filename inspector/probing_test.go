package inspector

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/doctor"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
)

// lag makes a topic of two slots whose messages have long been due, and whose worker, w1, takes
// none. note writes that a worker probes there.
func lag(t testing.TB, rdb redis.UniversalClient, name string) (note func(worker string, since time.Time)) {
	t.Helper()
	topic := define(t, rdb, message.Topic{Name: name, Kind: message.KindFixedTime, Slots: 2})
	must.Do(t, rdb.HSet(ctx, protocol.DefinitionKey(name), "sharing", "redis").Err())
	must.Do(t, rdb.SAdd(ctx, protocol.TopicsKey, name).Err())
	zadd(t, rdb, protocol.WorkersKey(name), "w1", time.Now().Add(time.Hour).UnixMilli())
	for slot := range topic.Slots {
		zadd(t, rdb, protocol.StoreKey(name, slot), "due", time.Now().Add(-time.Hour).UnixMilli())
		zadd(t, rdb, protocol.StoreKey(name, slot), "due, too", time.Now().Add(-time.Minute).UnixMilli())
	}
	return func(worker string, since time.Time) {
		t.Helper()
		must.Do(t, rdb.HSet(ctx, protocol.ProbingKey(name), worker, since.UnixMilli()).Err())
	}
}

// The doctor says why a worker takes little, where that is known, instead of naming each slot.
func TestDoctorKnowsWhyLittleIsTaken(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		since := time.Now().Add(-time.Hour)
		probes := lag(t, rdb, "orders")
		wantCheck(t, i.Doctor(ctx), "slots", doctor.Warn, "topic orders slot 0: 2 due", "topic orders slot 1: 2 due", "its worker w1 takes none")
		probes("gone", since)
		wantCheck(t, i.Doctor(ctx), "slots", doctor.Warn, "topic orders slot 0: 2 due", "its worker w1 takes none")
		probes("w1", since)
		is := func(level doctor.Level, detail string) {
			t.Helper()
			for _, c := range i.Doctor(ctx) {
				if c.Name == "slots" && (c.Level != level || c.Detail != detail) {
					t.Errorf("%+v, want %q", c, detail)
				}
			}
		}
		is(doctor.Warn, "topic orders: its worker w1 only probes since "+since.Format(time.DateTime)+": what its handlers need is away")
		must.Do(t, rdb.Del(ctx, protocol.ProbingKey("orders")).Err())
		must.Do(t, i.Limit(ctx, "orders", Policy{Rate: 1, For: time.Hour}))
		is(doctor.OK, "none stands still")
	})
}
