package gateway

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/server/tokens"
)

func withSDMQ(cfg *Config) { cfg.SDMQ = true }

// at is a path with one parameter.
func at(path, name, value string) string { return path + "?" + name + "=" + url.QueryEscape(value) }

func TestSDMQ(t *testing.T) {
	t.Parallel()
	s := newSite(t, withSDMQ)
	push := func(job map[string]any) string { return s.ask(200, "POST", "/push", job)["data"].(string) }
	id := push(map[string]any{"topic": "ces", "body": "{ffff}", "delay": 56600, "id": "20", "status": 0, "subtopic": "", "ttl": 12})
	other := push(map[string]any{"topic": "ces", "body": "{ffff}", "delay": 56600, "id": "21"})
	if id == other {
		t.Error("two jobs of different ids are one")
	}
	want[any](t, "nothing yet", s.ask(200, "GET", "/get/ces", nil)["data"], nil)
	want[any](t, "waiting", s.ask(200, "GET", "/v1/topics/ces", nil)["waiting"], 2.0)
	want[any](t, "deleted", s.ask(200, "GET", at("/delete", "jobId", other), nil)["success"], true)
	s.ask(200, "GET", at("/delete", "jobId", other), nil)
	want[any](t, "waiting", s.ask(200, "GET", "/v1/topics/ces", nil)["waiting"], 1.0)

	push(map[string]any{"topic": "ces", "body": "{ffff}", "delay": 1000, "createTime": 1700000000000, "id": "20"}) // it merges, and is due now
	var got map[string]any
	await.True(t, "it is given out", func() bool { // its wake-up may come behind the answer of /push
		data, is := s.ask(200, "GET", "/get/ces?ttr=1m", nil)["data"].(map[string]any)
		got = data
		return is
	})
	if got["id"] != "20" || got["body"] != "{ffff}" || got["topic"] != "ces" || got["jobId"] != id || got["attempt"] != 1.0 {
		t.Error(got)
	}
	done := at("/finish", "jobId", got["receipt"].(string))
	s.ask(200, "GET", done, nil)
	want[any](t, "done twice", s.ask(409, "GET", done, nil)["success"], false)
	want[any](t, "waiting", s.ask(200, "GET", "/v1/topics/ces", nil)["waiting"], 0.0)

	// A body alone is the content of the message, for workers of any kind.
	push(map[string]any{"topic": "ces", "body": "plain"})
	held := s.ask(200, "POST", "/v1/take", map[string]any{"topics": []string{"ces"}, "wait": "20s"})
	want(t, "content", contentOf(t, held["messages"].([]any)[0].(map[string]any)), "plain")
}

// What a listener in Go would find too late is refused, alone and among others.
func TestTooLate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	mails := message.Topic{Name: "mails", Kind: message.KindFixedTime, Slots: 2}
	c, err := consumer.New(s.rdb, consumer.Config{})
	must.Do(t, err)
	must.Do(t, c.Listen(mails, consumer.ListenerFunc(func(context.Context, *consumer.Delivery) error { return nil }), consumer.ListenOptions{MaxLate: time.Minute}))
	await.Nil(t, "start", func() error { return c.Start(ctx) })
	t.Cleanup(func() { must.Do(t, c.Close(await.CleanupContext(t))) })
	past := map[string]any{"content": "past", "at": "2020-01-31T15:04:05Z"}
	if p := s.ask(422, "POST", "/v1/topics/mails/messages", past); p["field"] != "at" || !strings.Contains(p["limit"].(string), "at most 1m0s") {
		t.Error(p)
	}
	all := s.ask(200, "POST", "/v1/topics/mails/messages", map[string]any{"messages": []any{map[string]any{"content": "soon", "in": "1ms"}, past, map[string]any{"content": "too", "in": "1ms"}}})
	if all["stored"] != 2.0 || all["failed"] != 1.0 {
		t.Error(all)
	}
}

func TestSDMQWrongly(t *testing.T) {
	t.Parallel()
	s := newSite(t, withSDMQ)
	s.send(orders, message.Priority{Content: "1", Priority: 500})
	for path, words := range map[string]string{
		"/delete": "jobId", "/delete?jobId=20": "that /push has answered", "/delete?jobId=a%3A*": "that /push has answered", "/finish?jobId=20": "the receipt", "/reStore?expire=1": "true or false",
		"/reStoreJob?jobId=": "that /push", "/get/orders?ttr=x": "a duration",
	} {
		if p := s.wrong(422, "GET", path, nil); p["success"] != false || p["code"] != 422.0 || !strings.Contains(p["message"].(string), words) {
			t.Errorf("%s: %v", path, p)
		}
	}
	for _, body := range []map[string]any{{"body": "x"}, {"topic": "a", "body": "x", "delay": -1}, {"topic": "a", "body": "x", "delay": int64(1) << 60}, {"topic": "a", "body": "x", "createTime": -5}, {"topic": "a"}, {"topic": "a{", "body": "x"}} {
		if p := s.wrong(422, "POST", "/push", body); p["success"] != false {
			t.Errorf("%v: %v", body, p)
		}
	}
	s.wrong(409, "POST", "/push", map[string]any{"topic": "orders", "body": "x"}) // which has priorities
	s.wrong(404, "GET", "/get/other", nil)
	s.ask(409, "GET", "/reStore", nil) // no journal
	s.ask(409, "GET", at("/reStoreJob", "jobId", jobID("orders", "1")), nil)
	off := siteOn(t, s.rdb)
	off.wrong(404, "POST", "/push", map[string]any{"topic": "a", "body": "x"})
}

func TestSDMQRights(t *testing.T) {
	t.Parallel()
	s, of := guarded(t, map[string]tokens.Holder{
		"send": {Rights: []tokens.Right{tokens.Send}, Topics: []string{"ces"}},
		"act":  {Rights: []tokens.Right{tokens.Act, tokens.Take}, Topics: []string{"ces"}},
	}, withSDMQ)
	s.wrong(401, "POST", "/push", map[string]any{"topic": "ces", "body": "x"})
	s.token = of["send"]
	s.ask(200, "POST", "/push", map[string]any{"topic": "ces", "body": "x"})
	s.wrong(403, "POST", "/push", map[string]any{"topic": "bills", "body": "x"})
	s.wrong(403, "GET", at("/delete", "jobId", jobID("bills", "x")), nil)
	s.wrong(403, "GET", "/get/ces", nil)
	s.token = of["act"]
	s.wrong(403, "GET", "/reStore", nil)
	s.wrong(403, "GET", at("/reStoreJob", "jobId", jobID("bills", "x")), nil)
	s.wrong(403, "GET", "/get/bills", nil)
}

func FuzzJobID(f *testing.F) {
	f.Add("ces", "{ffff}", "20", "key")
	f.Add("a:b", "\xff", "", "")
	f.Add("a", `{"id":"1","body":"x"}`, "", "")
	f.Fuzz(func(t *testing.T, topic, body, id, key string) {
		j := job{ID: id, BizKey: key, Body: body}
		content := j.content()
		back, text, is := parseJobID(jobID(topic, content))
		if topic != "" && content != "" && (!is || back != topic || text != content) {
			t.Errorf("%q %q: %q %q %v", topic, content, back, text, is)
		}
		jobOf(text)
		parseJobID(body)
	})
}

// HEAD is answered without a body, so a job that it took would be lost to who asks.
func TestSDMQHead(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(cfg *Config) { cfg.SDMQ = true })
	s.ask(200, "POST", "/push", map[string]any{"topic": "jobs", "body": "a", "delay": 1})
	for _, path := range []string{"/get/jobs", "/delete?jobId=" + jobID("jobs", "a"), "/finish?jobId=x", "/reStore", "/reStoreJob?jobId=x"} {
		req, err := http.NewRequestWithContext(await.Context(t), "HEAD", s.url+path, nil)
		must.Do(t, err)
		res, err := http.DefaultClient.Do(req)
		must.Do(t, err)
		must.Do(t, res.Body.Close())
		if res.StatusCode != 405 || res.Header.Get("Allow") != "GET" {
			t.Errorf("%s: %d, allowed is %q", path, res.StatusCode, res.Header.Get("Allow"))
		}
	}
}
