package rmq

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// logged is what a log got: JSON, an object in each line.
type logged struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

func (l *logged) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// lines returns the lines with a text, or all if that is empty.
func (l *logged) lines(t *testing.T, msg string) (lines []map[string]any) {
	t.Helper()
	for line := range strings.Lines(l.text()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if msg == "" || m["msg"] == msg {
			lines = append(lines, m)
		}
	}
	return lines
}

// says returns when a line with a text is there.
func (l *logged) says(t *testing.T, msg string) {
	t.Helper()
	await.True(t, fmt.Sprintf("the log says %q", msg), func() bool { return len(l.lines(t, msg)) > 0 })
}

// logger writes there what is of a level or above.
func (l *logged) logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: level}))
}

// toDefault makes a log the slog.Default until the test ends. Such a test is not parallel.
func toDefault(t *testing.T) *logged {
	l, before := &logged{}, slog.Default()
	slog.SetDefault(l.logger(slog.LevelDebug))
	t.Cleanup(func() { slog.SetDefault(before) })
	return l
}

// station is a client that sends to itself all the time.
type station struct {
	failed atomic.Int64 // sends
	*Client
	handled chan string
	end     func()
}

func newStation(t *testing.T, rdb redis.UniversalClient, log *slog.Logger) *station {
	t.Helper()
	client, err := New(Config{Redis: rdb, Slog: log, SafetyLook: 100 * time.Millisecond, Lease: 3 * time.Second})
	must.Do(t, err)
	s := &station{Client: client, handled: make(chan string)}
	topics := []Topic{{Name: "many", Kind: KindPriority, Slots: 64}, {Name: "few", Kind: KindRangeMerge, Slots: 8}}
	ctx, cancel := context.WithCancel(context.Background())
	for _, topic := range topics {
		must.Do(t, client.Listen(topic, ListenerFunc(func(_ context.Context, d *Delivery) error {
			select {
			case s.handled <- d.Content:
			default:
			}
			return nil
		}), ListenOptions{}))
	}
	must.Do(t, client.Start(ctx))
	var sending sync.WaitGroup
	for _, topic := range topics {
		sending.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				var m Message = Priority{Content: fmt.Sprint("p-", i), Priority: 100}
				if topic.Kind == KindRangeMerge {
					m = RangeMerge{Content: fmt.Sprint("r-", i), Range: time.Millisecond}
				}
				if _, err := client.Send(ctx, topic, m); err != nil {
					s.failed.Add(1)
				}
				next := time.NewTimer(time.Millisecond)
				<-next.C
			}
		})
	}
	s.end = sync.OnceFunc(func() {
		cancel()
		sending.Wait()
		if err := client.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(s.end)
	return s
}

// flows returns when messages are handled.
func (s *station) flows(t *testing.T) {
	t.Helper()
	for range 100 {
		await.Signal(t, "something is handled", s.handled)
	}
}

// fails returns when some more sends have failed.
func (s *station) fails(t *testing.T, n int64) {
	t.Helper()
	begun := s.failed.Load()
	await.True(t, "sends fail", func() bool { return s.failed.Load() >= begun+n })
}

// A server that goes and comes back is logged in two lines, and that it comes back empty in a third one, in the log
// that a program has without asking for one: not by each slot, topic, look or send, and not again while it lasts.
func TestAwayIsSaidOnce(t *testing.T) { // not in parallel: there is one slog.Default
	server := servertest.Redis(t)
	l := toDefault(t)
	s := newStation(t, server.Client(t), nil)
	s.flows(t)
	server.Kill()
	l.says(t, "Redis is away")
	s.fails(t, 2) // each is tried for seconds, and turns and looks meanwhile
	server.Restart(t)
	l.says(t, "Redis answers again")
	s.flows(t)
	s.end()
	wantLines(t, l, server.Addr(), "Redis is away", "Redis answers again", forgotten)
}

// The same of one master of a Cluster, whose place another one takes much later.
func TestAwayMasterIsSaidOnce(t *testing.T) {
	t.Parallel()
	c := servertest.Cluster(t, 3, 1)
	l := &logged{}
	s := newStation(t, c.Client(t), l.logger(slog.LevelWarn))
	s.flows(t)
	master := c.MasterOf(t, "many_0")
	configureBut(t, c, master, "cluster-replica-no-failover", "yes")
	master.Kill()
	l.says(t, "Redis is away")
	s.fails(t, 2)
	configureBut(t, c, master, "cluster-replica-no-failover", "no")
	l.says(t, "Redis answers again")
	s.flows(t)
	s.end()
	wantLines(t, l, master.Addr(), "Redis is away", "Redis answers again")
	for _, line := range l.lines(t, "Redis answers again") {
		if at := line["in its place"]; line["server"] == master.Addr() && at != c.MasterOf(t, "many_0").Addr() {
			t.Errorf("in its place is %v", at)
		}
	}
}

func configureBut(t *testing.T, c *servertest.RedisCluster, but *servertest.Server, name, value string) {
	t.Helper()
	for _, s := range c.Nodes() {
		if s != but {
			must.Do(t, s.Client(t).ConfigSet(context.Background(), name, value).Err())
		}
	}
}

const forgotten = "Redis has forgotten what it knew: it came back empty, or older"

// wantLines fails unless the log has these lines of a server, in any order, and no other. A replica may have been behind
// the master whose place it takes, and while that goes on another master may be late, too.
func wantLines(t *testing.T, l *logged, addr string, lines ...string) {
	t.Helper()
	var got, want []string
	for _, m := range l.lines(t, "") {
		late := m["server"] != addr && slices.Contains(lines, fmt.Sprint(m["msg"]))
		if !late && (m["msg"] != forgotten || slices.Contains(lines, forgotten)) {
			got = append(got, fmt.Sprint(m["level"], ": ", m["msg"], ", ", m["server"]))
		}
	}
	for _, line := range lines {
		want = append(want, fmt.Sprint("WARN: ", line, ", ", addr))
	}
	if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("the log says\n%s", l.text())
	}
}
