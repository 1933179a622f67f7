package console

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
	"github.com/slotmq/go-rmq/server/console/internal/jobs"
	"github.com/slotmq/go-rmq/slots"
)

// A part that is away does not hide the rest.

// While ZooKeeper is away, pages have what Redis has, and say what is missing.
func TestZooKeeperIsAway(t *testing.T) {
	t.Parallel()
	_, s := open(t, nil)
	at := openAt(t, Config{Redis: s.Client(t), Slots: slots.ZooKeeper(slots.ZooKeeperConfig{Servers: []string{servertest.Nobody(t)}})})
	for _, page := range []string{"", "topic?topic=orders", "workers"} {
		status, text := get(t, at+page)
		if status != 200 || page != "topic?topic=orders" && !strings.Contains(text, "who works: ") || page == "" && !strings.Contains(text, ">orders</a>") {
			t.Errorf("%q: %d %s", page, status, text)
		}
	}
}

// One topic that this Redis user may not read hides no other one, and who may look at others only learns nothing of it.
func TestOneTopicCannotBeRead(t *testing.T) {
	t.Parallel()
	s := servertest.Redis(t)
	sendTo(t, s, "mails", "mail 1")
	sendTo(t, s, "secret", "x 1")
	must.Do(t, s.Client(t).Do(ctx, "acl", "setuser", "some", "on", ">pw", "~rmq:*", "~*mails*", "&*", "+@all").Err())
	rdb := s.Client(t, func(o *redis.Options) { o.Username, o.Password = "some", "pw" })
	file, _, token := holder(t, "m*")
	all, limited := openAt(t, Config{Redis: rdb}), openAt(t, Config{Redis: rdb, Tokens: file})
	cookie := signedIn(t, limited, token)
	for _, page := range []string{"", "topic?topic=mails", "workers"} {
		status, text := get(t, all+page)
		if status != 200 || page == "" && (!strings.Contains(text, "could not be read") || !strings.Contains(text, "secret")) {
			t.Errorf("%q: %d %s", page, status, text)
		}
		res := as(t, cookie, http.MethodGet, limited+page)
		if text := textOf(t, res.Body); res.StatusCode != 200 || strings.Contains(text, "secret") {
			t.Errorf("%q with a token for others: %s %s", page, res.Status, text)
		}
	}
}

// The page of a topic shows the slots that can be read, whichever master of a Cluster is
// away.
func TestAMasterIsAway(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 3, 0)
	rdb := cluster.Client(t)
	p, err := producer.New(rdb, producer.Config{})
	must.Do(t, err)
	topic := message.Topic{Name: "orders", Kind: message.KindFixedTime, Slots: 16}
	for n := range 16 {
		_, err := p.Send(ctx, topic, message.FixedTime{Content: strings.Repeat("x", n+1), In: time.Hour})
		must.Do(t, err)
	}
	must.Do(t, p.Close(ctx))
	away := cluster.MasterOf(t, protocol.KeysOf("orders", 0).Store)
	if away == cluster.MasterOf(t, protocol.DefinitionKey("orders")) || away == cluster.MasterOf(t, "rmq:topics") {
		t.Fatal("that of slot 0 has the definitions, too: choose another name")
	}
	away.Kill()
	at := openAt(t, Config{Redis: rdb})
	if status, text := get(t, at+"topic?topic=orders"); status != 200 || !strings.Contains(text, "could not be read") || !strings.Contains(text, "10 minutes to 1 hour") {
		t.Errorf("%d %s", status, text)
	}
}

// What Redis says behind an outage is shown soon: the outage has cost it nothing.
func TestSoonAfterAnOutage(t *testing.T) {
	t.Parallel()
	at, s := open(t, nil)
	for _, page := range []string{"", "doctor"} {
		get(t, at+page)
	}
	s.Kill()
	await.True(t, "the doctor sees it", func() bool {
		_, text := get(t, at+"doctor")
		return strings.Contains(text, "check failed")
	})
	s.Restart(t)
	back := time.Now()
	await.True(t, "the doctor sees that it is back", func() bool {
		_, text := get(t, at+"doctor")
		return !strings.Contains(text, "failed")
	})
	await.True(t, "so does the first page", func() bool {
		_, text := get(t, at)
		return !strings.Contains(text, "connection:") && !strings.Contains(text, "Redis does not answer")
	})
	t.Log("seen", time.Since(back).Round(time.Millisecond), "after the restart")
}

// Close waits for streams. They end even while Redis does not answer, and nothing begins after
// Close.
func TestCloseWaitsForStreams(t *testing.T) {
	t.Parallel()
	s := servertest.Redis(t)
	sendTo(t, s, "mails", "mail 1")
	c, err := New(Config{Redis: s.Client(t), Act: true})
	must.Do(t, err)
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	at := server.URL + "/"
	var streams sync.WaitGroup
	for _, page := range []string{"", "topic&topic=mails", "message&topic=mails&content=mail+1"} {
		streams.Go(func() {
			res, err := http.Get(at + "live?page=" + page)
			if err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		})
	}
	await.True(t, "all streams are open", func() bool { return len(c.streams) == 3 })
	s.Pause()
	defer s.Resume()
	closed := make(chan int, 1)
	go func() {
		c.Close()
		closed <- len(c.streams)
	}()
	if open := await.Signal(t, "Close ends while Redis does not answer", closed); open > 0 {
		t.Errorf("%d streams are open behind Close", open)
	}
	streams.Wait()
	if status, text := get(t, at+"live?page="); status != 503 || !strings.Contains(text, "being closed") {
		t.Error(status, text)
	}
	if err := begin(&visit{Console: c, ctx: context.Background()}, &jobs.Job{ID: jobs.NewKey()}, nil); err != errClosing {
		t.Errorf("a job behind Close: %v", err)
	}
}
