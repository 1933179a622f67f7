package rmq_test

import (
	"context"
	"testing"

	"github.com/slotmq/go-rmq/internal/servers/redisinfo"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
)

// Whatever release of Redis the tests are given, a worker starts on it, or says in a
// clear line that it is too old. ./test.sh -servers gives them several.
func TestReleaseOfRedis(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rdb := servertest.Redis(t).Client(t)
	told, err := redisinfo.Ask(ctx, rdb)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rmq.New(rmq.Config{Redis: rdb})
	if err != nil {
		t.Fatal(err)
	}
	orders := rmq.Topic{Name: "orders", Kind: rmq.KindPriority}
	if err := client.Listen(orders, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error { return nil }), rmq.ListenOptions{}); err != nil {
		t.Fatal(err)
	}
	err = client.Start(ctx)
	switch tooOld := "Redis is of version " + told["redis_version"] + "; RMQ needs 7.0 or newer, or 6.2, on which it was not run"; {
	case told["redis_version"] == "":
		t.Error("the server does not tell its version")
	case told.AtLeast(6, 2) && err != nil:
		t.Errorf("on %s: %v", told["redis_version"], err)
	case !told.AtLeast(6, 2) && (err == nil || err.Error() != "start: "+tooOld):
		t.Errorf("%v, want %s", err, tooOld)
	}
	if n := rdb.Exists(ctx, "rmq:def{orders}").Val(); !told.AtLeast(6, 2) && n != 0 {
		t.Error("something was stored on a server that is too old")
	}
	if err := client.Close(ctx); err != nil {
		t.Error(err)
	}
}
