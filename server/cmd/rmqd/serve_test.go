package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/rmq"
)

// errors of a service, which a test reads while they are written.
type stderr struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func newStderr() *stderr { return &stderr{more: make(chan struct{}, 1)} }

func (s *stderr) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
	return s.text.Write(text)
}

func (s *stderr) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// line waits until there is a line with some words, and returns it.
func (s *stderr) line(t testing.TB, words string) string {
	t.Helper()
	for {
		for line := range strings.Lines(s.String()) {
			if strings.Contains(line, words) && strings.HasSuffix(line, "\n") {
				return line
			}
		}
		await.Signal(t, fmt.Sprintf("a line with %q behind:\n%s", words, s), s.more)
	}
}

// service is an rmqd that serves.
type service struct {
	testing.TB
	errs *stderr
	url  string
	stop func() int // returns the exit code
}

func serve(t testing.TB, redis string, args ...string) *service {
	t.Helper()
	s := &service{TB: t, errs: newStderr()}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan int, 1)
	go func() {
		if redis != "" {
			args = append(args, "--redis", "redis://"+redis)
		}
		ended <- program.Run(ctx, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...), strings.NewReader(""), io.Discard, s.errs)
	}()
	s.stop = sync.OnceValue(func() int { cancel(); return <-ended })
	t.Cleanup(func() { s.stop() })
	s.url, _, _ = strings.Cut(strings.TrimPrefix(s.errs.line(t, "serving "), "serving "), ",")
	return s
}

// post asks, and returns the status and the answer.
func (s *service) post(client *http.Client, token, path, body string) (int, map[string]any) {
	s.Helper()
	req, err := http.NewRequestWithContext(ctx, "POST", s.url+path, strings.NewReader(body))
	must.Do(s, err)
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := client.Do(req)
	must.Do(s, err)
	defer res.Body.Close()
	answer := map[string]any{}
	if res.StatusCode != http.StatusNoContent {
		must.Do(s, json.NewDecoder(res.Body).Decode(&answer))
	}
	return res.StatusCode, answer
}

// A service that ends gives back what it has not given out, and lets those who wait go.
func TestServeEnds(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	s.order("order 1")
	s.run(journal.Config{}, func(client *rmq.Client) { s.due(client, "mail 1") })
	d := serve(t, s.server.Addr())
	status, held := d.post(http.DefaultClient, "", "/v1/take", `{"topics":["orders"],"wait":"20s","ttr":"1h"}`)
	if status != 200 {
		t.Fatal(status, held)
	}
	waits := make(chan int)
	go func() {
		status, _ := d.post(http.DefaultClient, "", "/v1/take", `{"topics":["mails"],"wait":"60s"}`)
		waits <- status
	}()
	await.True(t, "the taker is known", func() bool { return s.rdb.Exists(ctx, protocol.TakersKey("mails")).Val() == 1 })
	if code := d.stop(); code != 0 {
		t.Errorf("exit code %d: %s", code, d.errs)
	}
	if status := <-waits; status != 503 {
		t.Error(status)
	}
	// Another one finishes what this one had given out.
	other := serve(t, s.server.Addr())
	if status, x := other.post(http.DefaultClient, "", "/v1/finish", `{"receipt":"`+held["receipt"].(string)+`"}`); status != 200 || x["counted"] != true {
		t.Error(status, x)
	}
	if strings.Contains(d.errs.String()+other.errs.String(), held["receipt"].(string)) {
		t.Error("the log has a receipt")
	}
}

func TestServeWithTokensAndTLS(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	s.order("order 1")
	file := filepath.Join(t.TempDir(), "tokens.json")
	token := strings.TrimSpace(s.text([]string{"token", "worker", "--tokens", file, "--rights", "look, take", "--topics", "mails, orders"}))
	cert, key, roots := servertest.Certificate(t)
	d := serve(t, s.server.Addr(), "--listen", ":0", "--tokens", file, "--tls-cert", cert, "--tls-key", key)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(d.url, "https://"))
	must.Do(t, err)
	d.url = "https://127.0.0.1:" + port
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	take := `{"topics":["orders"],"wait":"20s"}`
	if status, _ := d.post(client, "", "/v1/take", take); status != 401 {
		t.Error(status)
	}
	if status, held := d.post(client, token, "/v1/take", take); status != 200 {
		t.Error(status, held)
	}
	must.Do(t, os.WriteFile(file, []byte("{"), 0o600))
	must.Do(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
	d.errs.line(t, "the tokens stay as they were")
	if status, _ := d.post(client, token, "/v1/take", `{"topics":["orders"]}`); status != 204 {
		t.Error(status)
	}
	must.Do(t, os.Remove(file))
	fresh := strings.TrimSpace(s.text([]string{"token", "worker", "--tokens", file}))
	must.Do(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
	d.errs.line(t, "the tokens were read again")
	if status, _ := d.post(client, token, "/v1/take", take); status != 401 {
		t.Error("the old token counts:", status)
	}
	if status, _ := d.post(client, fresh, "/v1/take", `{"topics":["orders"]}`); status != 204 {
		t.Error(status)
	}
	for _, secret := range []string{token, fresh} {
		if strings.Contains(d.errs.String(), secret) {
			t.Error("the log has a token")
		}
	}
}

func TestServeRefuses(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	s.order("order 1")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	defer taken.Close()
	wrong := filepath.Join(t.TempDir(), "tokens.json")
	must.Do(t, os.WriteFile(wrong, []byte(`{"tokens":[]}`), 0o600))
	for _, c := range []struct {
		code int
		args string
		says string
	}{
		{2, "--listen :0", "which others reach, and without --tokens they may do everything: make a token by rmqd token NAME"},
		{2, "--listen 0.0.0.0:0", "without --tokens"},
		{2, "--listen [::]:0", "without --tokens"},
		{2, "--listen nowhere.invalid:0", "without --tokens"},
		{2, "--listen 8080", `--listen is "8080"; it must be host:port`},
		{1, "--listen " + taken.Addr().String(), "rmqd: listen at " + taken.Addr().String() + ": another program listens there; try --listen " + nextPort(ctx, taken.Addr().String()) + "\n"},
		{1, "--listen 127.0.0.1:1000000", "; is it an address of this machine, and may you listen at this port?"},
		{2, "--tokens " + wrong, "it has no tokens, so no one may do anything"},
		{2, "--tokens nothing.json", "nothing.json: no such file or directory; rmqd token NAME --tokens nothing.json makes it"},
		{2, "--console-title x", "give --console, too"},
		{2, "--namespace a{b", `rmqd: --namespace or RMQ_NAMESPACE is "a{b"; it must be free of`},
		{2, "--zk x", `rmqd: --zk or RMQ_ZK is "x"; it must be one host:port for each server; a path belongs into --zk-root`},
		{2, "--tls-cert x", "give both --tls-cert and --tls-key"},
		{2, "--tls-cert x --tls-key y", "--tls-cert and --tls-key: open x"},
		{2, "--max-body 1", "--max-body is 1; it must be from 1 KiB to 1 GiB"},
		{2, "--max-content 100000000", "--max-content is 100000000; it must be 1 to 67108864"},
		{2, "--log xml", `--log is "xml", not text or json`},
		{2, "orders", "serve"},
	} {
		s.fails(c.code, append([]string{"serve"}, words(c.args)...), c.says)
	}
	args := []string{"serve", "--redis", "redis://127.0.0.1:1"}
	failsWith(t, call(args...), 1, args, "Redis does not answer at 127.0.0.1:1")
	s.fails(2, []string{"token"}, "NAME")
	s.fails(1, []string{"token", "x", "--tokens", filepath.Join(t.TempDir(), "t.json"), "--rights", "all"}, `rights has "all"; it must be one of`)
}

// order sends an order.
func (s *shop) order(content string) {
	s.t.Helper()
	s.run(journal.Config{}, func(client *rmq.Client) {
		_, err := client.Send(ctx, orders, rmq.Priority{Content: content, Priority: 500})
		must.Do(s.t, err)
	})
}
