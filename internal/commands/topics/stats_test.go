package topics

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
)

func TestTrend(t *testing.T) {
	t.Parallel()
	orders := inspector.Topic{Topic: message.Topic{Name: "orders", Slots: 4}}
	stats := func(read, waiting, dead int) inspector.Stats {
		return inspector.Stats{Topic: orders, Read: read, Counts: inspector.Counts{Waiting: waiting, Dead: dead, InFlight: 5, Retrying: 2 * dead}}
	}
	x, now := &trend{last: map[string]lookedAt{}}, time.Now()
	if c := x.since(stats(4, 1000, 7), now); c != nil {
		t.Errorf("at first: %+v", c)
	}
	c := x.since(stats(4, 400, 10), now.Add(5*time.Second))
	if c == nil || c.Waiting != -120 || c.Dead != 0.6 || c.Retrying != 1.2 || c.InFlight != 0 || time.Duration(c.Over) != 5*time.Second {
		t.Errorf("%+v", c)
	}
	// A slot that could not be read is no fall of the numbers, and its return no rise.
	for n, s := range []inspector.Stats{stats(3, 100, 0), stats(4, 400, 10)} {
		if c := x.since(s, now.Add(time.Duration(n+6)*time.Second)); c != nil {
			t.Errorf("%+v", c)
		}
	}
	if c := x.since(stats(4, 400, 10), now.Add(7*time.Second)); c != nil {
		t.Errorf("in no time: %+v", c)
	}
	if c := x.since(stats(4, 401, 10), now.Add(9*time.Second)); c == nil || c.Waiting != 0.5 {
		t.Errorf("%+v", c)
	}
	if c := (*trend)(nil).since(stats(4, 1, 1), now); c != nil {
		t.Errorf("nobody watches: %+v", c)
	}
}

func TestNoWorker(t *testing.T) {
	t.Parallel()
	var topics []string
	for n, says := range []string{
		1: "no worker: t1; does a program listen to it, in this namespace?",
		3: "no worker: t1, t2, t3; does a program listen to them, in this namespace?",
		4: "no worker: t1, t2, t3 and 1 more; does a program listen to them, in this namespace?",
	} {
		if topics = append(topics, fmt.Sprint("t", n)); says != "" {
			if got := noWorker(topics[1:]); got != says {
				t.Errorf("%s, want %s", got, says)
			}
		}
	}
}

// The text about workers that are not shown depends on what was asked, and on how the
// topic is shared.
func TestWhyWorkersAreNotSeen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		topic inspector.Topic
		zk    string
		says  string
	}{
		{inspector.Topic{}, "", "is shared by ZooKeeper: --zk shows its workers"},
		{inspector.Topic{}, "h:1", "is shared by ZooKeeper, which does not answer: rmq doctor says why"},
		{inspector.Topic{Foreign: true, Namespace: "shop"}, "", "is of namespace shop: --zk and --namespace shop show its workers"},
		{inspector.Topic{Foreign: true, Namespace: "shop"}, "h:1", "is of namespace shop: --namespace shop shows its workers"},
		{inspector.Topic{Foreign: true}, "", "is of no namespace: --zk, without --namespace, shows its workers"},
		{inspector.Topic{Foreign: true}, "h:1", "is of no namespace: without --namespace its workers are seen"},
	} {
		call := frame.New("rmq", frame.Journals{}, nil, nil, nil)
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		call.Flags(flags)
		must.Do(t, flags.Set("zk", c.zk))
		if says := unseen(call, c.topic); says != c.says {
			t.Errorf("%+v: %s, want %s", c, says, c.says)
		}
	}
}

// On a terminal an error stands on the page. Where it was printed beside, the page wiped it.
func TestWatchShowsErrorOnTerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := frame.New("rmq", frame.Journals{}, nil, &out, nil)
	c.Screen.Terminal, c.NoColor = true, true
	watching, cancel := context.WithCancel(await.Context(t))
	defer cancel()
	n := 0
	must.Do(t, again(watching, c, time.Millisecond, func() error {
		switch n++; n {
		case 2:
			return frame.Failed("it is away")
		case 3:
			cancel()
		}
		return nil
	}))
	pages := strings.Split(out.String(), "\x1b[2J")
	if len(pages) < 3 || !strings.HasSuffix(strings.TrimSuffix(pages[2], "\x1b[H"), "\n\nrmq: it is away\n") {
		t.Errorf("%q", pages)
	}
}
