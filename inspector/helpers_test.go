package inspector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

var ctx = context.Background()

// binary is a content that breaks whatever takes contents for text.
const binary = "a\x00b\r\n\xff\xfe {3} \"q\" \x1b[31m'é\u202e"

// onEach runs a test on a Redis and on a Cluster that it has for itself. The inspector has another
// client than the test, one that is [bounded].
func onEach(t *testing.T, test func(t *testing.T, rdb redis.UniversalClient, i *Inspector)) {
	t.Helper()
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		s := servertest.LentRedis(t)
		test(t, s.Client(t), newInspector(t, bounded(t, s.Client(t)), Config{}))
	})
	t.Run("cluster", func(t *testing.T) {
		c := servertest.LentCluster(t)
		test(t, c.Client(t), newInspector(t, bounded(t, c.Client(t)), Config{}))
	})
}

func newInspector(t testing.TB, rdb redis.UniversalClient, cfg Config) *Inspector {
	t.Helper()
	i, err := New(rdb, cfg)
	must.Do(t, err)
	return i
}

// topicOf is a topic with a name of the test's own.
func topicOf(t testing.TB, kind message.Kind, slots int) message.Topic {
	return message.Topic{Name: strings.NewReplacer("/", "-", " ", "-").Replace(t.Name()), Kind: kind, Slots: slots}
}

// define writes the topic's definition.
func define(t testing.TB, rdb redis.UniversalClient, topic message.Topic) message.Topic {
	t.Helper()
	topic.Slots = cmp.Or(topic.Slots, limits.DefaultSlots)
	_, errs := protocol.New(rdb).Define(ctx, []string{topic.Name}, []protocol.Definition{{
		Kind: topic.Kind.String(), Slots: topic.Slots, Literal: topic.Literal, Notes: topic.Notes, Layout: protocol.Layout,
	}})
	must.Do(t, errs[0])
	await.True(t, "it is in the list of topics", func() bool { // which a busy machine may do behind the answer
		return rdb.SIsMember(ctx, protocol.TopicsKey, topic.Name).Val()
	})
	return topic
}

// send sends as a program would.
func send(t testing.TB, rdb redis.UniversalClient, topic message.Topic, ms ...message.Message) {
	t.Helper()
	p, err := producer.New(rdb, producer.Config{})
	must.Do(t, err)
	_, err = p.SendBatch(ctx, topic, ms)
	must.Do(t, err)
	must.Do(t, p.Close(ctx))
}

// work starts a worker with one listener. It is closed with the test.
func work(t testing.TB, rdb redis.UniversalClient, cfg consumer.Config, topic message.Topic, l consumer.ListenerFunc) *consumer.Consumer {
	t.Helper()
	c, err := consumer.New(rdb, cfg)
	must.Do(t, err)
	must.Do(t, c.Listen(topic, l, consumer.ListenOptions{}))
	await.Nil(t, "start", func() error { return c.Start(ctx) })
	t.Cleanup(func() { must.Do(t, c.Close(await.CleanupContext(t))) })
	return c
}

// fill adds n members to a sorted set, many at once.
func fill(t testing.TB, rdb redis.UniversalClient, key string, n int, of func(i int) redis.Z) {
	t.Helper()
	const most = 1000
	for first := 0; first < n; first += 50 * most {
		pipe := rdb.Pipeline()
		for from := first; from < min(n, first+50*most); from += most {
			var zs []redis.Z
			for i := from; i < min(n, from+most); i++ {
				zs = append(zs, of(i))
			}
			pipe.ZAdd(ctx, key, zs...)
		}
		_, err := pipe.Exec(ctx)
		must.Do(t, err)
	}
}

// wantError checks that err is one line, wraps target unless that is nil, and names all
// the words.
func wantError(t testing.TB, err, target error, words ...string) {
	t.Helper()
	if err == nil || target != nil && !errors.Is(err, target) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got error %v, want one line of %v", err, target)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("got error %q, want it to name %q", err, w)
		}
	}
}

// bounded adds a hook that fails the test when a call asks for, or brings, more elements
// than the people who run the server would like, or goes through all keys.
func bounded[C redis.UniversalClient](t testing.TB, rdb C) C {
	rdb.AddHook(bounds{t})
	return rdb
}

const (
	mostElements = 500
	mostCalls    = 200 // in a pipeline
)

// bounds is the hook.
type bounds struct{ t testing.TB }

func (b bounds) DialHook(next redis.DialHook) redis.DialHook { return next }

func (b bounds) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		b.look(cmd)
		return err
	}
}

func (b bounds) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if len(cmds) > mostCalls {
			b.t.Errorf("%d calls in a pipeline", len(cmds))
		}
		for _, cmd := range cmds {
			b.look(cmd)
		}
		return err
	}
}

func (b bounds) look(cmd redis.Cmder) {
	if slices.Contains([]string{"keys", "scan", "smembers", "hgetall", "hkeys", "hvals"}, cmd.Name()) {
		b.t.Errorf("%s may have any number of elements", cmd.Name())
		return
	}
	if n := len(cmd.Args()); n > 2*mostElements+20 { // each with a score or time
		b.t.Errorf("%s: %d arguments", cmd.Name(), n)
	}
	if n := elements(cmd); n > mostElements {
		b.t.Errorf("%s: %d elements in the reply", cmd.Name(), n)
	}
}

// elements counts those in a reply.
func elements(cmd redis.Cmder) int {
	switch cmd := cmd.(type) {
	case *redis.StringSliceCmd:
		return len(cmd.Val())
	case script.Once:
		return len(cmd.Val())
	case *redis.ZSliceCmd:
		return len(cmd.Val())
	case *redis.ScanCmd:
		page, _ := cmd.Val()
		return len(page)
	case *redis.SliceCmd:
		n := 0
		for i, part := range cmd.Val() {
			list, _ := part.([]any)
			each := map[int]int{2: 2, 4: 6}[i] // audit.lua has two and six texts for each
			n = max(n, len(list)/max(1, each))
		}
		return max(n, len(cmd.Val()))
	case *redis.Cmd:
		list, _ := cmd.Val().([]any)
		return len(list)
	case *redis.FloatSliceCmd:
		return len(cmd.Val())
	case *redis.IntSliceCmd:
		return len(cmd.Val())
	case *redis.BoolSliceCmd:
		return len(cmd.Val())
	case *redis.StringCmd, *redis.IntCmd, *redis.StatusCmd, *redis.FloatCmd, *redis.TimeCmd, *redis.BoolCmd,
		*redis.MapStringInterfaceCmd: // the last is of HELLO
		return 1
	}
	panic(fmt.Sprintf("how many elements has a %T?", cmd))
}

// each collects what is gone through, and the error that ends it.
func each[E any](entries iter.Seq2[E, error]) (all []E, err error) {
	for e, err := range entries {
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
	return all, nil
}
