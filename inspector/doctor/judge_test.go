package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/redisinfo"
	"github.com/slotmq/go-rmq/internal/sharing/keeper"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// want expects of a check its level, and words in its detail.
func want(t testing.TB, c Check, level Level, words string) {
	t.Helper()
	if c.Level != level || (c.Level == OK) != (c.Advice == "") || c.Detail == "" || !strings.Contains(c.Detail, words) {
		t.Errorf("%+v, want %s %q", c, level, words)
	}
}

// A check is one line each, whatever the ids in it are made of: terminals and programs read it.
func TestCheckIsOneLine(t *testing.T) {
	t.Parallel()
	got := check("role", []finding{{level: Fail, detail: "a\xff\xffb\nc\x1b", advice: "d\r\ne", command: "f"}})
	if want := (Check{Name: "role", Level: Fail, Detail: "a\ufffdb; c\ufffd", Advice: "d; e", Command: "f"}); got != want {
		t.Errorf("%+q, not %+q", got, want)
	}
}

func TestJudgements(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		by    func(redisinfo.Info) finding
		info  string
		level Level
		says  string
	}{
		{version, "redis_version:6.0.16", Fail, "Redis 6.0.16"},
		{version, "redis_version:6.2.0", OK, "Redis 6.2.0"},
		{version, "x:y", OK, "does not say"},
		{role, "x:y", OK, "does not say"},
		{role, "role:master", OK, "a master"},
		{role, "role:slave", Fail, "read-only"},
		{memory, "x:y", OK, "does not say"},
		{replicas, "x:y", OK, "does not say"},
		{eviction, "x:y", OK, "does not say"},
		{persistence, "x:y", OK, "does not say"},
		{persistence, "loading:1\naof_enabled:1", Fail, "loading"},
		{persistence, "aof_enabled:1\naof_last_write_status:err", Fail, "last write"},
		{persistence, "aof_enabled:1\naof_last_write_status:ok\naof_last_bgrewrite_status:err", Warn, "rewrite"},
		{persistence, "aof_enabled:0\nrdb_last_bgsave_status:err", Warn, "snapshot went wrong"},
		{persistence, "aof_enabled:0\nrdb_last_bgsave_status:ok", Warn, "no append-only file"},
		{persistence, "aof_enabled:1\naof_last_write_status:ok", OK, "written well"},
		{memory, "used_memory:79\nmaxmemory:100", OK, "79 B used, 79% of maxmemory"},
		{memory, "used_memory:80\nmaxmemory:100", Warn, "80%"},
		{memory, "used_memory:100\nmaxmemory:100", Fail, "sends are refused"},
		{memory, "used_memory:1610612736\nmaxmemory:0\ntotal_system_memory:17179869184", OK, "1.5 GiB used, 9% of the machine's memory"},
		{memory, "used_memory:2048", OK, "2.0 KiB used"},
		{replicas, "connected_slaves:0", Warn, "none"},
		{replicas, "connected_slaves:1\nslave0:ip=10.0.0.1,port=6379,state=online,offset=1,lag=1", OK, "1 in sync"},
		{replicas, "connected_slaves:2\nslave0:ip=10.0.0.1,port=6379,state=online,offset=1,lag=1\nslave1:ip=10.0.0.2,port=6379,state=wait_bgsave,offset=0,lag=0", Warn, "10.0.0.2:6379 is not in sync (wait_bgsave)"},
		{replicas, "connected_slaves:1\nslave0:ip=10.0.0.1,port=6379,state=online,offset=1,lag=11", Warn, "last heard of 11s ago"},
	} {
		if f := c.by(redisinfo.Parse(c.info)); f.level != c.level || !strings.Contains(f.detail, c.says) {
			t.Errorf("%q: %+v, want %s %q", c.info, f, c.level, c.says)
		}
	}
	near := &doctor{}
	want(t, near.connection([]server{{ping: time.Millisecond}, {ping: 5 * time.Millisecond}}), OK, "2 masters answer in 5ms")
	want(t, near.connection([]server{{ping: 51 * time.Millisecond}}), Warn, "answers in 51ms")
	servers := []server{{addr: "a:1", ahead: -400 * time.Millisecond}, {addr: "b:2", ahead: 400 * time.Millisecond}}
	want(t, clocks(servers), Warn, "the clocks of a:1 and b:2 are 800ms apart")
	servers[0].doubt, servers[1].doubt = 200*time.Millisecond, 200*time.Millisecond
	want(t, clocks(servers), OK, "at most 400ms from this machine's")
	want(t, clocks([]server{{ahead: -600 * time.Microsecond}}), OK, "less than 1ms from this machine's")
	many := make([]finding, 7)
	for n := range many {
		many[n] = warn(fmt.Sprint("thing ", n), "do")
	}
	if c := check("x", append(many, ok("fine"), fail("worst", "mend"))); c.Detail != "worst; thing 0; thing 1; thing 2; thing 3; and 3 more" || c.Level != Fail || c.Advice != "mend" {
		t.Errorf("%+v", c)
	}
}

func TestJudgementsOfZooKeeper(t *testing.T) {
	t.Parallel()
	w := keeper.WorkerView{ID: "w1"}
	for _, c := range []struct {
		view   keeper.View
		shared int
		level  Level
		says   string
	}{
		{keeper.View{}, 0, OK, "no worker has been there yet"},
		{keeper.View{}, 2, Fail, "no worker has been there, and 2 topics are shared"},
		{keeper.View{Tree: "T"}, 1, OK, "no workers"},
		{keeper.View{Tree: "T", Workers: []keeper.WorkerView{w}}, 1, Warn, "1 worker, and none of them is coordinator"},
		{keeper.View{Tree: "T", Workers: []keeper.WorkerView{w, w}, Coordinator: "w1"}, 1, OK, "2 workers, coordinator w1"},
		{keeper.View{Tree: "T", Workers: []keeper.WorkerView{{ID: "w2", Err: errors.New("no JSON")}}, Coordinator: "w1"}, 1, Warn, "worker w2: no JSON"},
		{keeper.View{Tree: "T", Topics: []keeper.TopicView{{Name: "orders", Err: errors.New("no JSON")}}}, 1, Warn, "topic orders: no JSON"},
	} {
		want(t, check("zookeeper", seenIn(c.view, c.shared)), c.level, c.says)
	}
	literal := ask.Stored{Topic: ask.Topic{Topic: message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 1, Literal: true}, Sharing: "zookeeper"}, Tree: "T"}
	seen := keeper.TopicView{Name: "orders", Kind: "priority", Slots: 1, Literal: true}
	view := func(t keeper.TopicView) keeper.View {
		return keeper.View{Tree: "T", Topics: []keeper.TopicView{{Name: "mails"}, t}}
	}
	if found := agrees(literal, view(seen)); found != nil {
		t.Errorf("%+v", found)
	}
	seen.Literal = false
	want(t, check("x", agrees(literal, view(seen))), Fail, "literal priority with 1 slot in Redis, and priority with 1 slot in ZooKeeper")
}

// Whoever has no time is told what was not looked at.
func TestNoTimeLeft(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	checks := (&doctor{}).messages(over, []ask.Stored{{Topic: ask.Topic{Topic: message.Topic{Name: "orders", Slots: 1}}}}, nil)
	want(t, checks[0], Fail, "1 topic")
}

// Older programs did not say whose a topic is. Then no command is told, which might be for another path.
func TestTopicsOfNobodyKnowsWhom(t *testing.T) {
	t.Parallel()
	ctx, rdb := t.Context(), servertest.Redis(t).Client(t)
	for name, namespace := range map[string]string{"orders": "", "a:orders": "a", "a:b:orders": "a:b", "a:plain": ""} {
		_, errs := protocol.New(rdb).Define(ctx, []string{name}, []protocol.Definition{{
			Kind: "priority", Slots: 1, Layout: protocol.Layout, Sharing: "zookeeper", Tree: "T", Namespace: namespace,
		}})
		must.Do(t, errs[0])
	}
	must.Do(t, rdb.HDel(ctx, protocol.DefinitionKey("a:orders"), "namespace").Err())
	must.Do(t, rdb.HDel(ctx, protocol.DefinitionKey("orders"), "namespace").Err())
	all, err := (&ask.Ground{Redis: rdb}).Defined(ctx)
	must.Do(t, err)
	for _, d := range all {
		found := agrees(d, keeper.View{})
		switch {
		case d.Foreign && found != nil, !d.Foreign && len(found) != 1:
			t.Errorf("%+v: %+v", d, found)
		case d.Name == "a:orders" && (found[0].command != "" || !strings.HasPrefix(found[0].advice, "if it is of a namespace, give its --namespace; else ")):
			t.Errorf("%+v", found)
		case d.Name == "orders" && !strings.HasPrefix(found[0].command, "create "):
			t.Errorf("%+v", found)
		}
	}
}
