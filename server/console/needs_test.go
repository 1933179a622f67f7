package console

import (
	"bufio"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/inspector/doctor"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/server/console/internal/jobs"
)

// A handler that has run for longer than it may needs someone, on the first page and on that of its topic.
func TestHandlersNeedSomeone(t *testing.T) {
	t.Parallel()
	running := func(ran time.Duration) inspector.Running {
		return inspector.Running{Topic: "orders", Since: time.Now().Add(-ran), Timeout: time.Minute, Count: 1}
	}
	workers := []inspector.Worker{{ID: "w1", Running: []inspector.Running{running(30 * time.Second), running(12 * time.Minute), running(2 * time.Minute)}}, {ID: "w2"}}
	s := inspector.Stats{Topic: inspector.Topic{}}
	s.Topic.Name = "orders"
	needs := needsOf(s, workers)
	if len(needs) != 1 || needs[0].Level != doctor.Fail || !strings.Contains(needs[0].Text, "2 handlers running longer than the Timeout of the topic, the longest for 12m") {
		t.Errorf("%+v", needs)
	}
	if s.Topic.Name = "mails"; needsOf(s, workers) != nil {
		t.Errorf("another topic: %+v", needsOf(s, workers))
	}
}

// A worker that vanished just now is on the first page, and no longer after a while.
func TestVanishedWorkersAreNamed(t *testing.T) {
	t.Parallel()
	at, s := open(t, nil)
	must.Do(t, s.Client(t).HSet(ctx, protocol.DefinitionKey("orders"), "sharing", "redis").Err())
	gone := func(worker string, ago time.Duration) {
		t.Helper()
		must.Do(t, s.Client(t).ZAdd(ctx, protocol.GoneKey("orders"), z(worker, time.Now().Add(-ago))).Err())
	}
	gone("app1-1-2", vanishedFor+time.Minute)
	if _, text := get(t, at+"?done=look"); strings.Contains(text, "vanished") {
		t.Error(text)
	}
	gone("app2-1-2", 2*time.Minute)
	gone("app3-1-2", 3*time.Minute)
	said := regexp.MustCompile(`worker app2-1-2 vanished about 2m(\d+s)? ago: it was not closed, and 1 more`)
	if _, text := get(t, at+"?done=look"); !said.MatchString(text) {
		t.Error(text)
	}
}

// A job that goes on is on the pages where people look for it, and each page says which console it is.
func TestJobsCanBeFoundAgain(t *testing.T) {
	t.Parallel()
	at, s := open(t, func(c *Config) { c.Act, c.Title = true, "production" })
	for n := range 5 {
		must.Do(t, s.Client(t).ZAdd(ctx, protocol.KeysOf("orders", n).Dead, z("m", time.Now())).Err())
	}
	key := jobs.NewKey()
	res, err := http.PostForm(at+"requeue", url.Values{"topic": {"orders"}, "rate": {"6/m"}, "priority": {"50"}, "key": {key}})
	must.Do(t, err)
	if text := textOf(t, res.Body); !strings.Contains(text, "Requeue 5 dead messages") || !strings.Contains(text, "<progress") {
		t.Fatal(text)
	}
	for _, page := range []string{"", "topic?topic=orders", "dead?topic=orders"} {
		_, text := get(t, at+page)
		if !strings.Contains(text, "A requeue is under way at orders: ") || !strings.Contains(text, " of 5") || !strings.Contains(text, "job?topic=orders&amp;id="+key) {
			t.Errorf("%q: %s", page, text)
		}
		if !strings.Contains(text, "· production · RMQ</title>") || !strings.Contains(text, `RMQ <span class="quiet">production</span>`) {
			t.Errorf("%q does not say which console it is: %s", page, text)
		}
	}
	_, err = http.PostForm(at+"stop", url.Values{"topic": {"orders"}, "id": {key}})
	must.Do(t, err)
	await.True(t, "it is stopped", func() bool {
		_, text := get(t, at)
		return !strings.Contains(text, "under way")
	})
}

// Nothing is cancelled by one press of a button.
func TestCancelAsks(t *testing.T) {
	t.Parallel()
	at, s := open(t, func(c *Config) { c.Act = true })
	form := url.Values{"topic": {"orders"}, "base64": {"b3JkZXIgMQ=="}}
	res, err := http.PostForm(at+"cancel", form)
	must.Do(t, err)
	if text := textOf(t, res.Body); res.StatusCode != 422 || !strings.Contains(text, "tick the box") {
		t.Error(res.Status, text)
	}
	i, err := inspector.New(s.Client(t), inspector.Config{})
	must.Do(t, err)
	if found, err := i.Explain(ctx, "orders", "order 1", ""); len(found) != 1 || err != nil {
		t.Fatal(found, err)
	}
	form.Set("sure", "1")
	res, err = http.PostForm(at+"cancel", form)
	must.Do(t, err)
	text := textOf(t, res.Body)
	if !strings.Contains(text, "The message is cancelled") || strings.Contains(text, "never sent") {
		t.Error(text)
	}
	stream := regexp.MustCompile(`data-stream="([^"]*)"`).FindStringSubmatch(text)
	res, err = http.Get(at + html.UnescapeString(stream[1]))
	must.Do(t, err)
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "data:") {
	}
	if strings.Contains(lines.Text(), "never sent") {
		t.Errorf("a moment later the page says: %s", lines.Text())
	}
	if found, err := i.Explain(ctx, "orders", "order 1", ""); len(found) != 0 || err != nil {
		t.Error(found, err)
	}
}
