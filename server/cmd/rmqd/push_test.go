package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/rmq"
)

// hushes is a secret that signs, and must not be shown.
const hushes = "whsec_aHVzaGh1c2hodXNoaHVzaGh1c2hodXNo"

// aFile is the name of a new file with a text.
func aFile(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	write(t, name, text)
	return name
}

func write(t testing.TB, name, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(name, []byte(text), 0o600))
}

// posted is a request that a receiver has got.
type posted struct {
	http.Header
	body string
}

// receiver starts a server that answers 200, after hold, if that is given.
func receiver(t testing.TB, hold func(posted)) (url string, got chan posted) {
	t.Helper()
	got = make(chan posted, 10_000)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // what breaks off is seen by who asks for it
		p := posted{r.Header, string(body)}
		got <- p
		if hold != nil {
			hold(p)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

func nextOf(t testing.TB, got chan posted) posted {
	t.Helper()
	return await.Signal(t, "a request", got)
}

// put sends orders without a journal.
func (s *shop) put(contents ...string) {
	s.t.Helper()
	client, err := rmq.New(rmq.Config{Redis: s.rdb})
	must.Do(s.t, err)
	for _, c := range contents {
		_, err := client.Send(ctx, orders, rmq.Priority{Content: c, Priority: 100})
		must.Do(s.t, err)
	}
	must.Do(s.t, client.Close(ctx))
}

// output is one that several goroutines may write and read.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *output) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *output) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// awaitText returns when an output has a text.
func awaitText(t testing.TB, l *output, text string) {
	t.Helper()
	await.True(t, text, func() bool { return strings.Contains(l.String(), text) })
}

// Messages that are sent come to the URL, signed, and the journal knows that they are done. The end of the
// context is a clean end.
func TestPush(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	db := s.journal
	s.run(journal.Config{}, func(client *rmq.Client) {
		_, err := client.Send(ctx, orders, rmq.Priority{Content: "order 1", Priority: 100})
		must.Do(t, err)
	})
	url, got := receiver(t, nil)
	secret := aFile(t, hushes)
	for _, args := range [][]string{
		{"--topic", "orders", "--to", url + "/hush", "--secret-file", secret, "--allow-private", "--timeout", "5s", "--concurrency", "3"},
		{"--config", aFile(t, `{"targets": [{"topic": "orders", "url": "`+url+`/hush", "secret_files": ["`+secret+`"], "allow_private": true}]}`)},
	} {
		within, stop := context.WithCancel(ctx)
		errs, ended := &output{}, make(chan int, 1)
		go func() {
			all := append([]string{"push", "--redis", "redis://" + s.server.Addr(), "--journal", db}, args...)
			ended <- program.Run(within, all, strings.NewReader(""), io.Discard, errs)
		}()
		p := nextOf(t, got)
		if !strings.HasPrefix(p.body, "order ") || p.Get("Rmq-Topic") != "orders" || !strings.HasPrefix(p.Get("Webhook-Signature"), "v1,") {
			t.Errorf("got %q with %v", p.body, p.Header)
		}
		awaitText(t, errs, "sending orders to "+url)
		stop()
		if code := <-ended; code != 0 || strings.Contains(errs.String(), "hush") {
			t.Errorf("exit code %d: %s", code, errs)
		}
		s.text([]string{"send", "orders", "order 2", "--priority", "100"}) // for the second time
	}
	await.True(t, "the end is in the journal", func() bool {
		var x []struct{ Outcome string }
		_ = json.Unmarshal([]byte("["+strings.ReplaceAll(strings.TrimSpace(s.call("journal", "history", "orders", "order 1", "--json").out), "\n", ",")+"]"), &x)
		return len(x) > 0
	})
	s.text([]string{"journal", "history", "orders", "order 1"}, "done")
}

// Only checked: nothing is connected to, and it says what is right.
func TestPushIsChecked(t *testing.T) {
	t.Parallel()
	secret := aFile(t, hushes)
	r := call("push", "--redis", "redis://127.0.0.1:1", "--topic", "orders", "--to", "https://shop.example/hush", "--secret-file", secret, "--check")
	if r.code != 0 || r.out != "ok: orders to https://shop.example\n" || r.errs != "" {
		t.Errorf("%+v", r)
	}
	r = call("push", "--config", aFile(t, `{"targets": [{"topic": "orders", "url": "https://shop.example/hush", "secret_files": ["`+secret+`"]},
		{"topic": "mails", "url": "https://mail.example/hush", "secrets": ["`+hushes+`"]}]}`), "--check")
	if r.code != 0 || r.out != "ok: orders to https://shop.example\nok: mails to https://mail.example\n" {
		t.Errorf("%+v", r)
	}
}

// What a person may do wrong is answered in one line that says what to do, and shows no secret.
func TestPushMisused(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	s.run(journal.Config{}, func(client *rmq.Client) { s.work(client, "order 1") }) // a worker decides how the slots are shared
	secret, bad := aFile(t, hushes), aFile(t, "hush")
	one := func(more ...string) []string {
		return append([]string{"push", "--topic", "orders", "--to", "https://shop.example/hush", "--secret-file", secret}, more...)
	}
	for _, c := range []struct {
		code int
		args []string
		says string
	}{
		{2, words("push"), "--topic is missing, whose messages are sent on; or have targets in a file, by --config"},
		{2, words("push --topic orders"), "--to is missing"},
		{2, words("push --topic orders --to https://shop.example"), "--secret-file is missing"},
		{2, words("push --topic orders --to https://shop.example --secret-file " + bad), "--secret-file: line 1 of " + bad + " is no secret (not shown); it must be \"whsec_\" and 24"},
		{2, words("push --topic orders --to https://shop.example --secret-file none"), "--secret-file: open none: "},
		{2, words("push --topic orders --to shop.example/hush --secret-file " + secret), "--to is without https://"},
		{2, words("push --topic orders --to http://shop.example/hush --secret-file " + secret), "--to is http://shop.example; it must be https; or give --allow-http: then all on the way"},
		{2, words("push --topic orders --to shop.example:443/hush --secret-file " + secret), `--to is of the scheme "shop.example"; it must be https`},
		{2, words("push --topic orders --to https://127.0.0.1/hush --secret-file " + secret), "give --allow-private, if that is meant"},
		{2, words("push --topic a{b --to https://shop.example/hush --secret-file " + secret), `--topic is "a{b"`},
		{2, one("--timeout", "3x"), `--timeout is "3x", not a duration such as 90s`},
		{2, one("--timeout", "3h"), "--timeout is 3h0m0s; it must be 1ms to 1h"},
		{2, one("--concurrency", "x"), `--concurrency is "x", not a whole number`},
		{2, one("--concurrency", "-1"), "--concurrency is -1; it must be 1 to 10000"},
		{2, one("--allow", "10.0.0.1"), `--allow is "10.0.0.1", not addresses such as 10.1.0.0/16`},
		{2, one("--content-type", "a\nb"), "--content-type"},
		{2, one("--ca-file", secret), "--ca-file: " + secret + " is without a certificate"},
		{2, one("--config", "push.json"), "beside --config"},
		{2, one("more"), "too many arguments"},
		{2, words("push --config none.json"), "--config: open none.json: "},
		{2, words("push --config " + bad), "--config: " + bad + ": line 1: invalid character"},
		{2, append(one(), "--zk", "127.0.0.1:1"), "workers share topic orders by Redis: leave out --zk and RMQ_ZK"},
		{1, words("push --topic bills --to https://shop.example --secret-file " + secret), `no such topic: "bills"`},
		{1, words("push --topic bills --to https://shop.example --secret-file " + secret), "start the program that sends to it first, or send a message with rmqd send"},
		{1, append(one(), "--redis", "redis://127.0.0.1:1"), "Redis does not answer at 127.0.0.1:1"},
	} {
		s.fails(c.code, c.args, c.says)
	}
	must.Do(t, s.rdb.HSet(ctx, protocol.DefinitionKey("orders"), "sharing", "zookeeper").Err())
	s.fails(2, one(), "workers share topic orders by ZooKeeper: say where it is, by --zk or RMQ_ZK")
}

// The metrics and probes of a push show what became of the messages, and that it is
// ready.
func TestPushIsWatched(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	url, got := receiver(t, nil)
	s.put("order 1")
	errs, ended := newStderr(), make(chan int, 1)
	ctx, stop := context.WithCancel(ctx)
	go func() {
		ended <- program.Run(ctx, []string{"push", "--redis", "redis://" + s.server.Addr(), "--topic", "orders", "--to", url, "--secret-file", aFile(t, hushes), "--allow-private", "--metrics", "127.0.0.1:0", "--log", "json"},
			strings.NewReader(""), io.Discard, errs)
	}()
	var said struct{ Address string }
	must.Do(t, json.Unmarshal([]byte(errs.line(t, "metrics and probes")), &said))
	nextOf(t, got)
	ask := func(path string) (text string) {
		res, err := http.Get("http://" + said.Address + path)
		must.Do(t, err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		must.Do(t, err)
		return string(body)
	}
	await.True(t, "the message is counted", func() bool {
		return strings.Contains(ask("/metrics"), "rmq_gateway_messages_total{topic=\"orders\",what=\"finished\"} 1\n")
	})
	await.True(t, "it lives, and is ready", func() bool { return ask("/livez") == "ok\n" && ask("/readyz") == "ok\n" })
	http.DefaultClient.CloseIdleConnections()
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d: %s", code, errs)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	defer taken.Close()
	for args, says := range map[string]string{"9090": "it must be host:port", "127.0.0.1:1000000": "invalid port; is it an address of this machine", taken.Addr().String(): "another program listens there; try --metrics 127.0.0.1:"} {
		r := call("push", "--redis", "redis://"+s.server.Addr(), "--topic", "orders", "--to", url, "--secret-file", aFile(t, hushes), "--allow-private", "--metrics", args)
		if r.code == 0 || !strings.Contains(r.errs, says) {
			t.Errorf("%s: %d %s", args, r.code, r.errs)
		}
	}
	args := []string{"push", "--redis", "redis://" + s.server.Addr(), "--topic", "orders", "--to", url, "--secret-file", aFile(t, hushes), "--allow-private", "--namespace", "a{b"}
	failsWith(t, call(args...), 2, args, `rmqd: --namespace or RMQ_NAMESPACE is "a{b"`)
}
