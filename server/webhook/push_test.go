package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
)

// verify checks the signature of a request as a receiver would that knows one secret.
func verify(t testing.TB, q request, secret string) {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	must.Do(t, err)
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", q.Get("webhook-id"), q.Get("webhook-timestamp"), q.body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	if !slices.Contains(strings.Split(q.Get("webhook-signature"), " "), want) {
		t.Errorf("no signature of %q is %s", q.Get("webhook-signature"), want)
	}
	at, err := strconv.ParseInt(q.Get("webhook-timestamp"), 10, 64)
	if age := time.Since(time.Unix(at, 0)); err != nil || age < -time.Second || age > await.Patience {
		t.Errorf("it was sent %v ago: %v", age, err)
	}
}

// A message goes through Redis to its target as it is, whatever it holds, with all that a receiver needs.
func TestMessagesArrive(t *testing.T) {
	t.Parallel()
	large := make([]byte, 256<<10)
	for i := range large {
		large[i] = byte(rand.Uint32())
	}
	for _, content := range []string{"order 4711", `{"order":4711}`, "a\r\nHost: evil\r\n\r\n\x00\xff", string(large)} {
		r := receive(t, nil)
		o := open(t, r.URL+"/hooks?shop=1", func(c *Config) {
			c.Targets[0].ContentType = "application/json"
			c.Targets[0].Headers = map[string]string{"Authorization": "Bearer 7"}
		})
		o.send(t, content)
		q := r.next(t)
		verify(t, q, secret)
		if q.body != content || q.path != "/hooks?shop=1" {
			t.Errorf("%s got %d bytes", q.path, len(q.body))
		}
		for name, want := range map[string]string{
			"Content-Type": "application/json", "Authorization": "Bearer 7", "Content-Length": fmt.Sprint(len(content)), "User-Agent": "rmq-webhook",
			"Rmq-Topic": o.topic.Name, "Rmq-Attempt": "1", "Rmq-Last-Error": "", "Accept-Encoding": "", "Idempotency-Key": "", "Transfer-Encoding": "",
		} {
			if got := q.Get(name); got != want {
				t.Errorf("%s is %q and not %q", name, got, want)
			}
		}
		if begin := fmt.Sprintf("%s_%s_%s_", o.topic.Name, q.Get("Rmq-Slot"), q.Get("Rmq-Fence")); !strings.HasPrefix(q.Get("Webhook-Id"), begin) {
			t.Errorf("the id is %q and does not begin with %q", q.Get("Webhook-Id"), begin)
		}
		o.await(t, message.Done, 1)
	}
}

// Each delivery has an id of its own, also those that were taken together, and the fences of a slot only grow.
// One message of a slot is under way at a time.
func TestIDsAndOrder(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	under, most := 0, 0
	r := receive(t, func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		under++
		most = max(most, under)
		mu.Unlock()
		mu.Lock()
		under--
		mu.Unlock()
	})
	o := prepare(t, r.URL, oneSlot)
	all := numbered(200)
	o.send(t, all...)
	o.start(t)
	o.await(t, message.Done, len(all))
	ids, fences, fence := map[string]bool{}, map[int64]bool{}, int64(0)
	for _, content := range all {
		q := r.next(t)
		if q.body != content {
			t.Fatalf("got %q before %q", q.body, content)
		}
		ids[q.Get("Webhook-Id")] = true
		now, err := strconv.ParseInt(q.Get("Rmq-Fence"), 10, 64)
		if fences[now] = true; err != nil || now < fence {
			t.Fatalf("the fence is %d after %d", now, fence)
		}
		fence = now
	}
	if len(ids) != len(all) || most != 1 {
		t.Errorf("%d ids of %d deliveries, %d at once", len(ids), len(all), most)
	}
	if len(fences) == len(all) {
		t.Errorf("no two messages were taken together, so nothing is proved")
	}
}

// What a message or its failure says can set no header, and end none.
func TestHeadersOfMessages(t *testing.T) {
	t.Parallel()
	fail := true
	r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		if fail {
			fail = false
			w.WriteHeader(500)
			_, _ = w.Write([]byte("100% broken\r\nRmq-Dead: 1\r\n" + strings.Repeat("é", 500)))
		}
	})
	o := open(t, r.URL, func(c *Config) {
		c.Targets[0].Topic.Name = "Bücher. 1%"
		c.Targets[0].Topic.Name += fmt.Sprint(topics.Add(1))
		c.Targets[0].Topic.Notes = true
		c.Targets[0].Headers = map[string]string{"Authorization": "Bearer 7"}
	})
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	_, err := o.sender.Send(ctx, o.topic, rmq.Priority{Content: "x", Priority: 100, Headers: map[string]string{
		"traceparent": trace, "tracestate": "a=1", "Traceparent": "other", "shop": "Rome", "Shop": "Oslo", "Host": "evil", "content-length": "1", "Authorization": "evil",
		"webhook-id": "evil", "Rmq-Fence": "0", "a b\r\nX: y": "1\r\n2", "Ü": "Zoë 100%",
	}})
	must.Do(t, err)
	first, second := r.next(t), r.next(t)
	for _, q := range []request{first, second} {
		verify(t, q, secret)
		for name, want := range map[string][]string{
			"Traceparent": {trace}, "Tracestate": {"a=1"}, "Rmq-Header-Traceparent": {"other"}, "Rmq-Header-Shop": {"Oslo", "Rome"},
			"Rmq-Header-Host": {"evil"}, "Rmq-Header-Content-Length": {"1"}, "Rmq-Header-Authorization": {"evil"}, "Authorization": {"Bearer 7"},
			"Rmq-Header-Webhook-Id": {"evil"}, "Rmq-Header-Rmq-Fence": {"0"}, "Rmq-Header-A%20b%0d%0ax%3a%20y": {"1%0D%0A2"},
			"Rmq-Header-%C3%9c": {"Zo%C3%AB 100%25"}, "Content-Length": {"1"},
		} {
			if got := q.Values(name); !slices.Equal(got, want) {
				t.Errorf("%s is %q and not %q", name, got, want)
			}
		}
		if got := q.Get("Rmq-Topic"); !strings.HasPrefix(got, "B%C3%BCcher. 1%25") || strings.ContainsAny(q.Get("Webhook-Id"), ". ") {
			t.Errorf("the topic is %q, the id %q", got, q.Get("Webhook-Id"))
		}
	}
	if got := second.Get("Rmq-Last-Error"); second.Get("Rmq-Attempt") != "2" || got != r.URL+" answered 500 Internal Server Error: 100%25 broken" {
		t.Errorf("attempt %s was told of %q", second.Get("Rmq-Attempt"), got)
	}
	if got := printable(shorten(strings.Repeat("é", 500)+"\n", longestError), ""); len(got) > 3*longestError+3 {
		t.Errorf("%d bytes of an error", len(got))
	}
}

// Secrets change while the work goes on.
func TestSecretsChange(t *testing.T) {
	t.Parallel()
	r := receive(t, nil)
	o := open(t, r.URL)
	o.send(t, "a")
	verify(t, r.next(t), secret)
	must.Do(t, o.SetSecrets(o.topic.Name, []string{exampleSecret, secret}))
	o.send(t, "b")
	q := r.next(t)
	verify(t, q, secret)
	verify(t, q, exampleSecret)
	must.Do(t, o.SetSecrets(o.topic.Name, []string{exampleSecret}))
	o.send(t, "c")
	if q = r.next(t); strings.Contains(q.Get("Webhook-Signature"), " ") {
		t.Errorf("signed by %q", q.Get("Webhook-Signature"))
	}
	verify(t, q, exampleSecret)
}

// A target can make a message die; the reason is where people look for it.
func TestTargetSaysDead(t *testing.T) {
	t.Parallel()
	r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusGone)
		_, _ = w.Write([]byte("no such order"))
	})
	o := open(t, r.URL)
	o.send(t, "a")
	dead := o.await(t, message.Died, 1)
	if want := r.URL + " answered 410 Gone: no such order"; dead[0].Reason != want || dead[0].Attempt != 1 {
		t.Errorf("attempt %d died: %q", dead[0].Attempt, dead[0].Reason)
	}
	x, err := o.sender.Explain(ctx, o.topic, "a", "")
	must.Do(t, err)
	if len(x) != 1 || x[0].Dead == nil || x[0].Failure == nil || x[0].Failure.Reason != dead[0].Reason {
		t.Errorf("got %+v", x)
	}
}

// Close waits for the answers that it can wait for, and cuts off the others: their messages go back, and the
// next worker has their first delivery.
func TestCloseGivesBack(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	r := receive(t, func(_ http.ResponseWriter, q *http.Request) {
		select {
		case <-hang:
		case <-q.Context().Done():
		}
	})
	o := open(t, r.URL)
	o.send(t, numbered(5)...)
	for range 5 {
		r.next(t)
	}
	at, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_ = o.Close(at) // what it says of its context is of package rmq
	o.await(t, message.HandedBack, 5)
	close(hang)
	o.start(t)
	for range 5 {
		if q := r.next(t); q.Get("Rmq-Attempt") != "1" {
			t.Errorf("%s is at attempt %s", q.body, q.Get("Rmq-Attempt"))
		}
	}
	o.await(t, message.Done, 5)
	if n := len(o.of(message.Failed)); n > 0 {
		t.Errorf("%d deliveries were spent", n)
	}
}
