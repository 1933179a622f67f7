package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/must"
)

// start is a service of some arguments; its address stands behind some words of its first line.
func start(t testing.TB, words, redis string, args ...string) *service {
	t.Helper()
	s := &service{TB: t, errs: newStderr()}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan int, 1)
	go func() {
		ended <- program.Run(ctx, append(args, "--listen", "127.0.0.1:0", "--redis", "redis://"+redis), strings.NewReader(""), io.Discard, s.errs)
	}()
	s.stop = sync.OnceValue(func() int { cancel(); return <-ended })
	t.Cleanup(func() { s.stop() })
	s.url, _, _ = strings.Cut(strings.TrimPrefix(s.errs.line(t, words+" "), words+" "), ",")
	return s
}

// page is the status and the text of a page, behind what it leads to.
func page(t testing.TB, client *http.Client, address string) (int, string) {
	t.Helper()
	res, err := client.Get(address)
	must.Do(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	must.Do(t, err)
	return res.StatusCode, string(text)
}

// The console alone, and beside the gateway.
func TestConsole(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	s.order("order 1")
	alone := start(t, "console at", s.server.Addr(), "console")
	beside := start(t, "console at", s.server.Addr(), "serve", "--console", "--console-act")
	for at, only := range map[string]bool{alone.url: true, beside.url: false} {
		status, text := page(t, http.DefaultClient, at)
		if status != 200 || !strings.Contains(text, "Is anything wrong?") || strings.Contains(text, "This page only looks") != only {
			t.Errorf("%s: %d %s", at, status, text)
		}
	}
	if lines := alone.errs.String() + beside.errs.String(); !strings.Contains(lines, "anyone who reaches this port may look at everything; ") ||
		strings.Count(lines, "anyone who reaches this port may do everything; ") != 2 {
		t.Errorf("the port of a console that only looks is said to do more, or others less: %s", lines)
	}
	if !strings.HasSuffix(beside.url, "/console/") {
		t.Error(beside.url)
	}
	// A stream keeps neither from ending.
	res, err := http.Get(alone.url + "live?page=")
	must.Do(t, err)
	defer res.Body.Close()
	for _, d := range []*service{alone, beside} {
		if code := d.stop(); code != 0 {
			t.Errorf("exit code %d: %s", code, d.errs)
		}
	}
}

// If no one has to sign in, a request with the name of another host is refused: that name may
// lead here for a moment.
func TestOnlyThisMachine(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	s.order("order 1")
	for words, args := range map[string][]string{"console at": {"console"}, "serving": {"serve"}} {
		d := start(t, words, s.server.Addr(), args...)
		for host, status := range map[string]int{"evil.example": 403, "evil.example:8080": 403, "localhost": 404, "127.0.0.1": 404, "[::1]:80": 404} {
			req, err := http.NewRequestWithContext(ctx, "GET", strings.TrimSuffix(d.url, "/")+"/nothing", nil)
			must.Do(t, err)
			req.Host = host
			res, err := http.DefaultClient.Do(req)
			must.Do(t, err)
			res.Body.Close()
			if res.StatusCode != status {
				t.Errorf("%s of %s: %d, not %d", host, words, res.StatusCode, status)
			}
		}
	}
}

// A refusal shows how to come in: people by a link, and programs by a name.
func TestWayIn(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	s.order("order 1")
	alone := start(t, "console at", s.server.Addr(), "console")
	beside := start(t, "console at", s.server.Addr(), "serve", "--console")
	safe := &endpoint{console: "/", cert: "cert.pem", at: &net.TCPAddr{IP: net.IPv4(127, 0, 1, 1), Port: 8081}}
	people := "this console is only for people on its own machine: open "
	const programs = `{"type":"urn:rmq:other-host","title":"The request names another host","status":403,"detail":"without --tokens this is only for programs on its own machine: ask for it as localhost or 127.0.0.1"}` + "\n"
	for address, want := range map[string]string{
		alone.url + "topic":                          people + strings.Replace(alone.url, "127.0.0.1", "localhost", 1) + ", or start it with --tokens, or with --user-header behind a proxy\n",
		beside.url + "topic":                         people + strings.Replace(beside.url, "127.0.0.1", "localhost", 1) + ", or start it with --tokens\n",
		strings.TrimSuffix(beside.url, "/console/"):  programs,
		strings.TrimSuffix(beside.url, "/") + "s":    programs,
		strings.TrimSuffix(beside.url, "/") + "?x=y": people + strings.Replace(beside.url, "127.0.0.1", "localhost", 1) + ", or start it with --tokens\n",
	} {
		req, err := http.NewRequestWithContext(ctx, "GET", address, nil)
		must.Do(t, err)
		req.Host = "queues.example"
		res, err := http.DefaultClient.Do(req)
		must.Do(t, err)
		text, err := io.ReadAll(res.Body)
		must.Do(t, err)
		res.Body.Close()
		if string(text) != want {
			t.Errorf("%s: %s\nnot %s", address, text, want)
		}
	}
	if text := safe.howToReach(); !strings.HasPrefix(text, people+"https://127.0.1.1:8081/, or") {
		t.Error(text)
	}
}

// People sign in with a token, and may do what it says.
func TestConsoleWithTokens(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	s.order("order 1")
	file := filepath.Join(t.TempDir(), "tokens.json")
	token := strings.TrimSpace(s.text([]string{"token", "ann", "--tokens", file, "--rights", "look", "--topics", "orders"}))
	d := start(t, "console at", s.server.Addr(), "console", "--tokens", file, "--act")
	jar, err := cookiejar.New(nil)
	must.Do(t, err)
	client := &http.Client{Jar: jar}
	if _, text := page(t, client, d.url); !strings.Contains(text, "<h1>Sign in</h1>") {
		t.Error(text)
	}
	for given, want := range map[string]string{"wrong": "This token is not known", token: "Is anything wrong?"} {
		res, err := client.PostForm(d.url+"signin", url.Values{"token": {given}})
		must.Do(t, err)
		text, err := io.ReadAll(res.Body)
		must.Do(t, err)
		res.Body.Close()
		if !strings.Contains(string(text), want) {
			t.Errorf("%s: %s", given, text)
		}
	}
	if status, text := page(t, client, d.url+"topic?topic=orders"); status != 200 || strings.Contains(text, "Change this topic") {
		t.Error(status, text)
	}
	if status, _ := page(t, client, d.url+"topic?topic=mails"); status != 403 {
		t.Error("a topic that the token does not name:", status)
	}
	res, err := client.PostForm(d.url+"pause", url.Values{"topic": {"orders"}})
	must.Do(t, err)
	res.Body.Close()
	if res.StatusCode != 403 {
		t.Error(res.Status)
	}
	if strings.Contains(d.errs.String(), token) {
		t.Error("the log has the token")
	}
}

// Behind a proxy who asks without a name is refused.
func TestConsoleBehindProxy(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	s.order("order 1")
	d := start(t, "console at", s.server.Addr(), "console", "--user-header", "X-Forwarded-User", "--act")
	if status, _ := page(t, http.DefaultClient, d.url); status != 403 {
		t.Error(status)
	}
	req, err := http.NewRequestWithContext(ctx, "POST", d.url+"pause", strings.NewReader("topic=orders&all=1"))
	must.Do(t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("X-Forwarded-User", "bob")
	res, err := http.DefaultClient.Do(req)
	must.Do(t, err)
	res.Body.Close()
	if res.StatusCode != 200 {
		t.Error(res.Status)
	}
	if line := d.errs.line(t, `pause`); !strings.Contains(line, "bob") || !strings.Contains(line, "orders") {
		t.Error(line)
	}
}

func TestConsoleRefuses(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	s.order("order 1")
	token := "which others reach, and without --tokens they may %s: make a token by rmqd token NAME --rights look,act --tokens tokens.json, " +
		"and give --tokens tokens.json; or give --user-header NAME, if a proxy in front signs people in; or give --listen 127.0.0.1:8099\n"
	s.fails(2, []string{"console", "--listen", ":8099"}, fmt.Sprintf(token, "look at everything"))
	s.fails(2, []string{"console", "--listen", ":8099", "--act"}, fmt.Sprintf(token, "do everything"))
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	defer taken.Close()
	at := taken.Addr().String()
	s.fails(1, []string{"console", "--listen", at}, "rmqd: listen at "+at+": another program listens there; try --listen "+nextPort(ctx, at)+"\n")
	for _, name := range []string{"X Y", "", "X:", "Ü", "X\n"} {
		s.fails(2, []string{"console", "--user-header", name}, "--user-header is ", ", not the name of a header, such as X-Forwarded-User: letters, digits and -")
	}
	s.fails(2, []string{"console", "--namespace", "a{b"}, `rmqd: --namespace or RMQ_NAMESPACE is "a{b"; it must be free of`)
	s.fails(2, []string{"console", "--zk", "h:1", "--zk-root", "x"}, "rmqd: --zk-root or RMQ_ZK_ROOT is ")
	s.fails(2, []string{"serve", "--console-act"}, "give --console, too")
	s.fails(2, []string{"console", "orders"}, "console")
	for given, meant := range map[string]string{"--act": "--console-act", "--title": "--console-title", "--console-hide-contents": "--hide-contents"} {
		s.fails(2, []string{"serve", "--console", given}, "unknown flag: "+given+"; did you mean "+meant+"? rmqd serve -h shows the flags\n")
	}
}

func TestBeside(t *testing.T) {
	t.Parallel()
	for at, want := range map[string]string{"127.0.0.1:8081": "127.0.0.1:8082", ":8081": ":8082", "[::1]:8081": "[::1]:8082", ":65535": ":65534", "localhost:http": "localhost:81"} {
		if got := nextPort(ctx, at); got != want {
			t.Errorf("%s: %s, not %s", at, got, want)
		}
	}
}

// Pages say which console it is. Those who sign in by a token do not see where Redis is.
func TestTitle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ given, tokens, want string }{
		{"", "", "localhost:6379"}, {"production", "", "production"}, {"", "tokens.json", ""}, {"production", "tokens.json", "production"},
	} {
		d := &endpoint{file: c.tokens}
		if got := d.titleOf(c.given, "localhost:6379"); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	s := newShop(t, "SQLite")
	s.order("order 1")
	start(t, "console at", s.server.Addr(), "console", "--title", "production")
	start(t, "console at", s.server.Addr(), "serve", "--console", "--console-title", "production")
}

// The help for tokens is for people, too.
func TestTokenHelp(t *testing.T) {
	t.Parallel()
	r := call("token", "-h")
	has(t, []string{"token", "-h"}, r.out, "rmqd serve", "rmqd console", "\n  rmqd token ann --tokens tokens.json --rights look,act\n", `(default "send,take,look")`)
}

// Each flag for the console is in the document about it.
func TestConsoleFlagsAreDescribed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/CONSOLE.md")
	must.Do(t, err)
	for _, name := range []string{"act", "hide-contents", "title", "user-header", "tokens", "console-act", "console-title"} {
		if !strings.Contains(string(text), "`--"+name+"`") && !strings.Contains(string(text), "`--"+name+" ") {
			t.Errorf("docs/CONSOLE.md lacks --%s", name)
		}
	}
}
