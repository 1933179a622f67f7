package console

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/server/console/internal/jobs"
)

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`)

// fieldsIn are the hidden fields of a page.
func fieldsIn(text string) url.Values {
	form := url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(text, -1) {
		form.Add(m[1], m[2])
	}
	return form
}

// A form does what it said: what became old enough since is not meant.
func TestFormsMeanWhatTheySaid(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"requeue", "delete"} {
		at, s := open(t, func(c *Config) { c.Act = true })
		rdb := s.Client(t)
		k := protocol.KeysOf("orders", 1)
		must.Do(t, rdb.ZAdd(ctx, k.Dead, z("old", time.Now().Add(-10*time.Minute))).Err())
		_, text := get(t, at+page+"?topic=orders&older=1m")
		if !strings.Contains(text, " 1 dead message") {
			t.Fatal(text)
		}
		form := fieldsIn(text)
		before, err := strconv.ParseInt(form.Get("before"), 10, 64)
		must.Do(t, err)
		young := time.UnixMilli(before + 1) // not quite old enough then
		must.Do(t, rdb.ZAdd(ctx, k.Dead, z("young", young)).Err())
		await.True(t, "it is old enough", func() bool { return rdb.Time(ctx).Val().Sub(young) > time.Minute+100*time.Millisecond })
		form.Set("number", "1")
		form.Set("priority", "50")
		res, err := http.PostForm(at+page, form)
		must.Do(t, err)
		if text := textOf(t, res.Body); !strings.Contains(text, " 1 dead message") || !strings.Contains(text, "dead for longer than 1m") {
			t.Errorf("%s: %s", page, text)
		}
		await.True(t, page+" ends", func() bool { return rdb.ZCard(ctx, k.Dead).Val() == 1 })
		must.Do(t, rdb.ZScore(ctx, k.Dead, "young").Err())
	}
}

// Two that were chosen are two, also where an equal content died in the slot of the other one.
func TestPicksArePairs(t *testing.T) {
	t.Parallel()
	at, s := open(t, func(c *Config) { c.Act = true })
	rdb := s.Client(t)
	hour := time.Now().Add(-time.Hour)
	must.Do(t, rdb.ZAdd(ctx, protocol.KeysOf("orders", 1).Dead, z("A", hour)).Err())
	must.Do(t, rdb.ZAdd(ctx, protocol.KeysOf("orders", 2).Dead, z("B", hour.Add(10*time.Minute)), z("A", hour.Add(5*time.Minute))).Err())
	_, text := get(t, at+"dead?topic=orders")
	q := url.Values{"topic": {"orders"}}
	for _, m := range regexp.MustCompile(`value="((\d+)\.\d+\.[0-9a-f]+)" aria-label="Choose ([^"]*)"`).FindAllStringSubmatch(text, -1) {
		if m[2]+m[3] == "1A" || m[2]+m[3] == "2B" {
			q.Add("pick", m[1])
		}
	}
	if _, text := get(t, at+"delete?"+q.Encode()); !strings.Contains(text, "Delete 2 dead messages for ever?") {
		t.Errorf("%v: %s", q, text)
	}
	if _, text := get(t, at+"delete?reason=none&"+q.Encode()); !strings.Contains(text, "None of these messages is dead any more") {
		t.Errorf("a filter beside what was chosen is lost: %s", text)
	}
	if _, text := get(t, at+"delete?newer=1m&"+q.Encode()); !strings.Contains(text, "Delete 2 dead messages for ever?") {
		t.Errorf("what was chosen is too old by now: %s", text)
	}
}

// What cannot be read is refused: a filter that is lost would mean all messages.
func TestTornForms(t *testing.T) {
	t.Parallel()
	at, s := open(t, func(c *Config) { c.Act = true })
	k := protocol.KeysOf("orders", 1)
	must.Do(t, s.Client(t).ZAdd(ctx, k.Dead, z("m", time.Now())).Err())
	res, err := http.Post(at+"requeue", "application/x-www-form-urlencoded", strings.NewReader("topic=orders&reason=100%&key="+jobs.NewKey()+"&priority=50"))
	must.Do(t, err)
	if text := textOf(t, res.Body); res.StatusCode != 422 || !strings.Contains(text, "The form is incomplete") {
		t.Error(res.Status, text)
	}
	res, err = http.Post(at+"requeue", "application/x-www-form-urlencoded", strings.NewReader("topic=orders&reason="+strings.Repeat("x", mostForm)))
	must.Do(t, err)
	if text := textOf(t, res.Body); res.StatusCode != 413 || !strings.Contains(text, "too long") {
		t.Error(res.Status, text)
	}
	if status, text := get(t, at+"dead?topic=orders&reason=a;b"); status != 400 || !strings.Contains(text, "The address cannot be read") {
		t.Error(status, text)
	}
	if status, text := get(t, at+"requeue?topic=orders&newer=1m&before=1700000000000"); status != 422 || !strings.Contains(text, "The form is incomplete") {
		t.Error(status, text)
	}
	if n := s.Client(t).ZCard(ctx, k.Dead).Val(); n != 1 {
		t.Errorf("%d are dead", n)
	}
}

// A mistake in a form is shown beside the form, with all that was written.
func TestMistakesKeepTheForm(t *testing.T) {
	t.Parallel()
	at, s := open(t, func(c *Config) { c.Act = true })
	must.Do(t, s.Client(t).ZAdd(ctx, protocol.KeysOf("orders", 1).Dead, z("m", time.Now()), z("n", time.Now())).Err())
	res, err := http.PostForm(at+"requeue", url.Values{"topic": {"orders"}, "reason": {""}, "rate": {"quick"}, "priority": {"3"}, "key": {jobs.NewKey()}})
	must.Do(t, err)
	if text := textOf(t, res.Body); !strings.Contains(text, "Requeue 2 dead messages?") || !strings.Contains(text, "A rate is written as") || !strings.Contains(text, `value="quick"`) || !strings.Contains(text, `value="3"`) {
		t.Error(text)
	}
	_, text := get(t, at+"dead?topic=orders&older=abc&slots=1")
	if !strings.Contains(text, "How long a message is dead is written as") || !strings.Contains(text, `value="abc"`) || !strings.Contains(text, `name="slots" value="1"`) {
		t.Error(text)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at+"pause", strings.NewReader("topic=orders&slots=abc"))
	must.Do(t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Referer", at+"topic?topic=orders&slot=7")
	res, err = http.DefaultClient.Do(req)
	must.Do(t, err)
	if text := textOf(t, res.Body); res.StatusCode != 422 || !strings.Contains(text, "That cannot be done") || !strings.Contains(text, `href="topic?topic=orders&amp;slot=7">Back`) {
		t.Error(text)
	}
}
