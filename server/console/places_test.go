package console

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/server/console/internal/jobs"
)

// Something is read for a few people at a time, whatever it costs; the others wait, and in the end get an answer
// that says so. Pages that are read once for all are shown all the same.
func TestAskingHasPlaces(t *testing.T) {
	t.Parallel()
	s := servertest.Redis(t)
	sendTo(t, s, "mails", "mail 1")
	c, err := New(Config{Redis: s.Client(t), Act: true})
	must.Do(t, err)
	defer c.Close()
	ask := func(within time.Duration, page string) int {
		c.answerWithin = within
		w := httptest.NewRecorder()
		c.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/"+page, nil))
		return w.Code
	}
	for _, places := range []chan struct{}{c.asking, c.exporting} {
		for range cap(places) {
			places <- struct{}{}
		}
	}
	pages := []string{"find?content=mail", "messages?topic=mails", "dead?topic=mails", "requeue?topic=mails", "delete?topic=mails",
		"message?topic=mails&content=mail+1", "topic?topic=mails&done=x", "doctor?done=look", "export?topic=mails"}
	for _, page := range pages {
		status := http.StatusGatewayTimeout // as long as a busy server takes up the time before a place is asked for
		for within := 10 * time.Millisecond; status == http.StatusGatewayTimeout && within < await.Patience; within *= 2 {
			status = ask(within, page)
		}
		if status != http.StatusServiceUnavailable {
			t.Errorf("%s: %d, with no place", page, status)
		}
	}
	for _, page := range []string{"topic?topic=mails", "workers"} {
		if status := ask(answerWithin, page); status != http.StatusOK {
			t.Errorf("%s: %d", page, status)
		}
	}
	<-c.asking
	<-c.exporting
	for _, page := range pages { // each gives its place back
		if status := ask(answerWithin, page); status != http.StatusOK {
			t.Errorf("%s: %d, with a place", page, status)
		}
	}
}

// An error with characters that forms change can be chosen, and what it chooses is requeued.
func TestGroupOfOddError(t *testing.T) {
	t.Parallel()
	at, s := open(t, func(c *Config) { c.Act = true })
	k, rdb := protocol.KeysOf("orders", 1), s.Client(t)
	for content, reason := range map[string]string{"odd": "no \x00 such\rthing 7", "plain": "no such thing"} {
		must.Do(t, rdb.ZAdd(ctx, k.Dead, z(content, time.Now())).Err())
		f := protocol.Failure{Attempts: 17, First: time.Now(), Last: time.Now(), Priority: 500, Worker: "w", Reason: reason}
		must.Do(t, rdb.HSet(ctx, k.Why, content, f.String()).Err())
	}
	_, text := get(t, at+"dead?topic=orders")
	_, link, _ := strings.Cut(text, `href="dead?group64=`)
	link, _, _ = strings.Cut(link, `"`)
	_, text = get(t, at+"dead?group64="+strings.ReplaceAll(link, "&amp;", "&"))
	group, _, _ := strings.Cut(link, "&")
	if !strings.Contains(text, "1 dead message that fits") || !strings.Contains(text, `name="group64" value="`+group+`"`) {
		t.Fatal(text)
	}
	res, err := http.PostForm(at+"requeue", url.Values{"topic": {"orders"}, "group64": {group}, "key": {jobs.NewKey()}})
	must.Do(t, err)
	defer res.Body.Close()
	if text := textOf(t, res.Body); res.StatusCode != 200 || !strings.Contains(text, "Requeue 1 dead message") {
		t.Fatal(res.Status, text)
	}
	await.True(t, "the one with the odd error is requeued", func() bool { return rdb.ZScore(ctx, k.Dead, "odd").Err() == redis.Nil })
	must.Do(t, rdb.ZScore(ctx, k.Dead, "plain").Err())
}

// Only who has signed in here can sign out here: others have been signed in by a proxy.
func TestSignOutIsForTokens(t *testing.T) {
	t.Parallel()
	at, _ := open(t, func(c *Config) { c.Who = func(*http.Request) string { return "ann \u202e" } })
	if _, text := get(t, at); strings.Contains(text, "Sign out") || !strings.Contains(text, "ann") || strings.Contains(text, "\u202e") {
		t.Error(text)
	}
	file, _, token := holder(t, "*")
	at, _ = open(t, func(c *Config) { c.Tokens = file })
	cookie := signedIn(t, at, token)
	if text := textOf(t, as(t, cookie, http.MethodGet, at).Body); !strings.Contains(text, "Sign out") {
		t.Error(text)
	}
}
