package console

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
	"github.com/slotmq/go-rmq/server/console/internal/jobs"
	"github.com/slotmq/go-rmq/server/tokens"
)

// holder makes a token that may look at topics like one, in a file of its own.
func holder(t *testing.T, topics string) (file *tokens.File, path, token string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "tokens.json")
	var err error
	token, err = tokens.Add(path, tokens.Holder{Name: "ann", Rights: []tokens.Right{tokens.Look}, Topics: []string{topics}})
	must.Do(t, err)
	file, err = tokens.Open(path)
	must.Do(t, err)
	return file, path, token
}

// signIn signs in, and returns the cookie.
func signedIn(t *testing.T, at, token string) *http.Cookie {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.PostForm(at+"signin", url.Values{"token": {token}})
	must.Do(t, err)
	must.Do(t, res.Body.Close())
	cookies := res.Cookies()
	if len(cookies) != 1 || strings.Contains(cookies[0].Value, token) {
		t.Fatalf("%s %q", res.Status, cookies)
	}
	return cookies[0]
}

// as asks with a cookie.
func as(t *testing.T, cookie *http.Cookie, method, address string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	must.Do(t, err)
	req.AddCookie(cookie)
	res, err := http.DefaultClient.Do(req)
	must.Do(t, err)
	t.Cleanup(func() { res.Body.Close() })
	return res
}

// What goes wrong at topics that a token may not look at does not have their names on its pages.
func TestOthersTopicsAreNotNamed(t *testing.T) {
	t.Parallel()
	file, path, token := holder(t, "m*")
	all, err := tokens.Add(path, tokens.Holder{Name: "bob", Rights: []tokens.Right{tokens.Look}, Topics: []string{"*"}})
	must.Do(t, err)
	must.Do(t, file.Reread())
	_, s := open(t, nil)
	sendTo(t, s, "mails", "mail 1")
	rdb := s.Client(t)
	must.Do(t, rdb.Set(ctx, protocol.KeysOf("orders", 2).Store, "of a wrong type", 0).Err())
	must.Do(t, rdb.HSet(ctx, protocol.DefinitionKey("orders-broken"), "kind", "nonsense").Err())
	must.Do(t, rdb.SAdd(ctx, "rmq:topics", "orders-broken").Err())
	at := openAt(t, Config{Redis: rdb, Tokens: file})
	bob, ann := signedIn(t, at, all), signedIn(t, at, token)
	if res := as(t, bob, http.MethodGet, at+"doctor"); res.StatusCode != 200 {
		t.Error(res.Status)
	}
	for page, status := range map[string]int{"": 200, "workers": 200, "find?content=mai": 200, "doctor": 403, "topic?topic=orders": 403} {
		res := as(t, ann, http.MethodGet, at+page)
		if text := textOf(t, res.Body); res.StatusCode != status || strings.Contains(strings.ReplaceAll(text, "?topic=orders", ""), "orders") {
			t.Errorf("%q: %s %s", page, res.Status, text)
		} else if page == "" && (!strings.Contains(text, "a check of the servers fails") || strings.Contains(text, `href="doctor"`)) {
			t.Errorf("%q: %s", page, text)
		}
	}
	if text := textOf(t, as(t, bob, http.MethodGet, at).Body); !strings.Contains(text, "orders-broken") || !strings.Contains(text, "orders slot 2") {
		t.Errorf("who may look at all is not shown what is wrong: %s", text)
	}
}

// openAt serves a console of what is there.
func openAt(t *testing.T, cfg Config) (at string) {
	t.Helper()
	c, err := New(cfg)
	must.Do(t, err)
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	t.Cleanup(c.Close) // first
	return server.URL + "/"
}

// A page that is open is not followed any more when its token does not count any more.
func TestStreamEndsWithItsToken(t *testing.T) {
	t.Parallel()
	file, path, token := holder(t, "*")
	at, _ := open(t, func(c *Config) { c.Tokens = file })
	cookie := signedIn(t, at, token)
	res := as(t, cookie, http.MethodGet, at+"live?page=topic&topic=orders")
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
	}
	must.Do(t, os.Remove(path))
	_, err := tokens.Add(path, tokens.Holder{Name: "bob", Rights: []tokens.Right{tokens.Look}, Topics: []string{"*"}})
	must.Do(t, err)
	must.Do(t, file.Reread())
	for lines.Scan() { // until the server ends it
	}
	must.Do(t, lines.Err())
	if res := as(t, cookie, http.MethodGet, at+"live?page=topic&topic=orders"); res.StatusCode != http.StatusUnauthorized {
		t.Error(res.Status)
	}
}

// Where contents are hidden, they cannot be guessed by choosing messages by a part of them.
func TestHiddenContentsAreNotChosenBy(t *testing.T) {
	t.Parallel()
	at, s := open(t, func(c *Config) { c.HideContents, c.Act = true, true })
	must.Do(t, s.Client(t).ZAdd(ctx, protocol.KeysOf("orders", 1).Dead, z("order 7", time.Now())).Err())
	for _, page := range []string{"dead", "messages", "requeue", "delete"} {
		if status, text := get(t, at+page+"?topic=orders&glob=order*"); status != 422 || !strings.Contains(text, "hides contents") {
			t.Errorf("%s: %d %s", page, status, text)
		}
		if status, text := get(t, at+page+"?topic=orders"); status != 200 || strings.Contains(text, `name="glob"`) || strings.Contains(text, "order 7") {
			t.Errorf("%s: %d %s", page, status, text)
		}
		if page == "requeue" || page == "delete" {
			res, err := http.PostForm(at+page, url.Values{"topic": {"orders"}, "glob": {"order*"}, "key": {jobs.NewKey()}, "number": {"1"}})
			must.Do(t, err)
			res.Body.Close()
			if res.StatusCode != 422 {
				t.Errorf("%s: %s", page, res.Status)
			}
		}
	}
}

// A stream looks once for the message that a hash names.
func TestStreamSearchesOnce(t *testing.T) {
	t.Parallel()
	s := servertest.Redis(t)
	sendTo(t, s, "mails", "mail 1")
	c, err := New(Config{Redis: s.Client(t), HideContents: true})
	must.Do(t, err)
	defer c.Close()
	for slot := range 4 {
		link := c.contents.Link("mails", inspector.Entry{Content: "mail 1", Slot: slot, State: inspector.Waiting})
		v := &visit{Console: c, ctx: ctx, r: httptest.NewRequest(http.MethodGet, "/"+link, nil)}
		first, err := contentOf(v)
		if err != nil {
			continue // it is in another slot
		}
		must.Do(t, s.Client(t).FlushAll(ctx).Err())
		if again, err := contentOf(v); err != nil || again != first || first != "mail 1" {
			t.Errorf("%q %v", again, err)
		}
		return
	}
	t.Error("it is nowhere")
}

// A request for only the head of an answer gets that, and not a stream or a whole export without its
// text.
func TestHead(t *testing.T) {
	t.Parallel()
	s := servertest.Redis(t)
	sendTo(t, s, "mails", "mail 1")
	must.Do(t, s.Client(t).ZAdd(ctx, protocol.KeysOf("mails", 1).Dead, z("mail 7", time.Now())).Err())
	c, err := New(Config{Redis: s.Client(t)})
	must.Do(t, err)
	defer c.Close()
	within := await.Context(t)
	for page, kind := range map[string]string{"": "text/html", "live?page=": "text/event-stream", "export?topic=mails": "application/jsonl"} {
		w := httptest.NewRecorder()
		c.ServeHTTP(w, httptest.NewRequestWithContext(within, http.MethodHead, "/"+page, nil))
		if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), kind) || w.Body.Len() > 0 {
			t.Errorf("%q: %d %v %s", page, w.Code, w.Header(), w.Body)
		}
	}
	must.Do(t, within.Err())
}

// People who may look at some topics learn no names of others.
func TestTokensLearnNoNames(t *testing.T) {
	t.Parallel()
	file, _, token := holder(t, "m*")
	_, s := open(t, nil) // has topic orders
	sendTo(t, s, "mails", "mail 1")
	at := openAt(t, Config{Redis: s.Client(t), Tokens: file})
	cookie := signedIn(t, at, token)
	for _, page := range []string{"topic?topic=mailsx", "message?topic=mx&content=a", "find?topic=mx&content=a", "dead?topic=mx", "messages?topic=mx", "recurring?topic=mx", "export?topic=mx",
		"messages", "dead", "recurring", "message?content=x", "live?page=topic&topic=mailsx"} {
		ends, cancel := context.WithCancel(ctx)
		req, err := http.NewRequestWithContext(ends, http.MethodGet, at+page, nil)
		must.Do(t, err)
		req.AddCookie(cookie)
		res, err := http.DefaultClient.Do(req)
		must.Do(t, err)
		text := ""
		if strings.HasPrefix(page, "live") { // the first event
			for lines := bufio.NewScanner(res.Body); lines.Scan() && !strings.HasPrefix(text, "data"); {
				text = lines.Text()
			}
		} else {
			text = textOf(t, res.Body)
		}
		cancel()
		res.Body.Close()
		if strings.Contains(text, "orders") || !strings.Contains(text, "o such topic") {
			t.Errorf("%s: %s %s", page, res.Status, text)
		}
	}
}

// Where contents are hidden, pages have nothing that would reveal one.
func TestHiddenContentsCannotBeGuessed(t *testing.T) {
	t.Parallel()
	s := servertest.Redis(t)
	rdb := s.Client(t)
	p, err := producer.New(rdb, producer.Config{})
	must.Do(t, err)
	const content = "order 4711"
	_, err = p.Send(ctx, message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 4, Notes: true},
		message.Priority{Content: content, Priority: 500, Headers: map[string]string{"customer": "Mrs Smith"}})
	must.Do(t, err)
	must.Do(t, p.Close(ctx))
	must.Do(t, rdb.ZAdd(ctx, protocol.KeysOf("orders", 1).Dead, z(content, time.Now())).Err())
	at := openAt(t, Config{Redis: rdb, HideContents: true, Act: true})
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
	for _, page := range []string{"dead?topic=orders", "messages?topic=orders", "message?topic=orders&content=order+4711", "requeue?topic=orders"} {
		_, text := get(t, at+page)
		if strings.Contains(text, content) || strings.Contains(text, hash[:8]) || strings.Contains(text, "Mrs Smith") {
			t.Errorf("%s: %s", page, text)
		}
		if strings.HasPrefix(page, "message?") && !strings.Contains(text, "customer: hidden") {
			t.Errorf("the names of headers are not shown: %s", text)
		}
	}
	_, text := get(t, at+"dead?topic=orders")
	link := regexp.MustCompile(`href="(message\?[^"]*hash=[^"]*)"`).FindStringSubmatch(text)
	if link == nil {
		t.Fatal(text)
	}
	if status, text := get(t, at+html.UnescapeString(link[1])); status != 200 || !strings.Contains(text, "In slot") {
		t.Errorf("a link does not lead to its message: %d %s", status, text)
	}
}

// Streams look for a message by its hash only where few others do.
func TestStreamsTakePlaces(t *testing.T) {
	t.Parallel()
	s := servertest.Redis(t)
	sendTo(t, s, "mails", "mail 1")
	c, err := New(Config{Redis: s.Client(t), HideContents: true})
	must.Do(t, err)
	c.answerWithin = 100 * time.Millisecond
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	t.Cleanup(c.Close) // first
	for range cap(c.asking) {
		c.asking <- struct{}{}
	}
	q := url.Values{"page": {"message"}, "topic": {"mails"}, "hash": {strings.Repeat("0", 64)}, "slot": {"1"}}
	res, err := http.Get(server.URL + "/live?" + q.Encode())
	must.Do(t, err)
	defer res.Body.Close()
	if text := textOf(t, res.Body); strings.Contains(text, "data:") { // it ends, and the browser comes back
		t.Error(text)
	}
	<-c.asking
	c.answerWithin = answerWithin // this one is answered, however long it takes
	res, err = http.Get(server.URL + "/live?" + q.Encode())
	must.Do(t, err)
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "data:") {
	}
	if !strings.Contains(lines.Text(), "not among the first") {
		t.Error(lines.Text())
	}
}
