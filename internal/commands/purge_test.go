package commands

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// stocked fills the topic orders: 1,200 wait in two slots, 2 before their retries, 1 dead, 1 in flight.
func stocked(t *testing.T, rdb redis.UniversalClient) {
	t.Helper()
	orders := rangeMerge("orders")
	orders.Slots = 2
	bury(t, rdb, orders, 1, func(int) deadOne { return deadOne{content: "dies", died: time.Now().Add(-time.Hour)} })
	soon := float64(time.Now().Add(time.Hour).UnixMilli())
	for slot := range 2 {
		k := protocol.KeysOf("orders", slot)
		var zs []redis.Z
		for i := range 600 {
			zs = append(zs, redis.Z{Member: fmt.Sprint("waits ", i), Score: soon})
		}
		must.Do(t, rdb.ZAdd(ctx, k.Store, zs...).Err())
		must.Do(t, rdb.ZAdd(ctx, k.Retry, redis.Z{Member: "retries", Score: soon*100 + 16}).Err())
	}
	must.Do(t, rdb.ZAdd(ctx, protocol.KeysOf("orders", 0).Prepare, redis.Z{Member: "flies", Score: float64(time.Now().Unix()*1000 + 16)}).Err())
}

func TestPurge(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		waiting := func() int { return int(s.objects(t, "stats", "orders")[0]["waiting"].(float64)) }
		stocked(t, s.rdb)
		if got := s.text(t, "purge", "orders", "--dry-run"); got != "orders has 1,200 waiting, 2 retrying, 1 dead\n" || waiting() != 1200 {
			t.Error(got)
		}
		if got := s.text(t, "purge", "orders", "--dry-run", "--state", "waiting,dead", "--slot", "0"); !strings.HasPrefix(got, "orders has 600 waiting, ") || !strings.HasSuffix(got, " in slots 0\n") {
			t.Error(got)
		}
		wantJSON(t, s.objects(t, "purge", "orders", "--dry-run")[0], `{"dead":1,"retrying":2,"topic":"orders","waiting":1200,"would_delete":1203}`)
		for _, no := range []string{"", "y\n", "yes\n", "1202\n", "12030\n"} {
			r := s.answered(no, "purge", "orders")
			if r.code != 1 || r.out != "orders has 1,200 waiting, 2 retrying, 1 dead\n" || r.errs != "delete 1,203 messages of orders for ever? Type 1203: rmq: nothing was changed\n" || waiting() != 1200 {
				t.Errorf("%q: %+v", no, r)
			}
		}
		if r := s.answered("1,203\n", "purge", "orders"); r.code != 0 || !strings.HasSuffix(r.out, "deleted 1,203 messages of orders: 1,200 waiting, 2 retrying, 1 dead\n") {
			t.Errorf("%+v", r)
		}
		if got := s.text(t, "purge", "orders", "--yes"); got != "no message of orders is meant; nothing to delete\n" {
			t.Error(got)
		}
		if in := s.objects(t, "stats", "orders")[0]["in_flight"].(float64); in != 1 {
			t.Errorf("%v in flight", in)
		}
		stocked(t, s.rdb)
		if r := s.answered("1200\n", "purge", "orders", "--state", "waiting", "--rate", "100000/s"); r.code != 0 || !strings.Contains(r.errs, "for ever, at 100000/s (1s)? Type 1200: ") || waiting() != 0 {
			t.Errorf("%+v", r)
		}
		wantJSON(t, s.objects(t, "purge", "orders", "--yes")[0], `{"dead":1,"retrying":2,"topic":"orders","waiting":0}`)
		s.refused(t, 2, `--state is "in-flight"; it must be waiting, retrying or dead`, "purge", "orders", "--state", "in-flight")
		s.refused(t, 2, "slot is 7", "purge", "orders", "--slot", "7", "--yes")
	})
}

// A purge that is interrupted says how to go on.
func TestPurgeGoesOn(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	s := at{server.Client(t), "redis://" + proxy.Addr()}
	stocked(t, s.rdb)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	calls := 0
	proxy.OnRequest(func(request []byte) bool {
		if strings.Contains(string(request), "seen{") {
			calls++
		}
		if calls == 3 { // the first one sends the script itself
			cancel()
		}
		return true
	})
	var out, errs bytes.Buffer
	code := program.Run(ctx, []string{"--redis", s.url, "purge", "orders", "--state", "waiting", "--slot", "0,1", "--yes"}, strings.NewReader(""), &out, &errs)
	if want := "rmq: interrupted; 600 of 1,200 deleted; go on with: rmq purge orders --redis=" + s.url + " --slot=0-1 --state=waiting --yes\n"; code != 130 || errs.String() != want {
		t.Errorf("%d, %s, not %s", code, errs.String(), want)
	}
	if left := s.rdb.ZCard(t.Context(), "orders_0").Val() + s.rdb.ZCard(t.Context(), "orders_1").Val(); left != 600 {
		t.Errorf("%d left", left)
	}
}
