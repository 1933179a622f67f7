package gateway

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
	"github.com/slotmq/go-rmq/server/tokens"
)

// dial connects to the gateway, for what http.Client does not do.
func (s *site) dial() *net.TCPConn {
	s.Helper()
	conn, err := new(net.Dialer).DialContext(await.Context(s), "tcp", strings.TrimPrefix(s.url, "http://"))
	must.Do(s, err)
	s.Cleanup(func() { _ = conn.Close() })
	must.Do(s, conn.SetDeadline(time.Now().Add(await.Patience)))
	return conn.(*net.TCPConn)
}

// A body that does not come keeps no connection, whoever asks: not even where it is not read.
func TestMissingBodies(t *testing.T) {
	t.Parallel()
	s, _ := guarded(t, map[string]tokens.Holder{"shop": {Rights: []tokens.Right{tokens.Take}, Topics: []string{"*"}}})
	s.bodyWithin = 100 * time.Millisecond
	open := newSite(t)
	open.bodyWithin = 100 * time.Millisecond
	for request, want := range map[string]int{"POST /v1/take": 401, "GET /livez": 200, "GET /other": 404, "POST /v1/finish": 400} {
		conn := s.dial()
		if want == 400 { // the body is read, and does not come whole
			conn = open.dial()
		}
		_, err := io.WriteString(conn, request+" HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"r")
		must.Do(t, err)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		must.Do(t, err)
		if res.StatusCode != want || !res.Close {
			t.Errorf("%s: %d, and the connection is closed: %t", request, res.StatusCode, res.Close)
		}
		must.Do(t, res.Body.Close())
	}
}

// A client that does not read the answers is cut off.
func TestUnreadAnswers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.readWithin = 100 * time.Millisecond
	conn := s.dial()
	requests := strings.Repeat("GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n", 1000)
	var err error
	for err == nil {
		_, err = io.WriteString(conn, requests)
	}
	if late, is := err.(net.Error); is && late.Timeout() {
		t.Error("the connection lives on")
	}
}

// Lines of a stream may be far apart, with HTTP/2 as well, where a deadline ends an answer also while nothing is written.
func TestLinesFarApart(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ask(201, "PUT", "/v1/topics/orders", map[string]any{"kind": "priority", "slots": 1})
	s.readWithin = 3 * time.Second // a machine that stands still for so long is no use to anybody
	server := httptest.NewUnstartedServer(s.Gateway)
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	r, w := io.Pipe()
	defer w.Close()
	req, err := http.NewRequestWithContext(await.Context(t), "POST", server.URL+"/v1/topics/orders/messages", r)
	must.Do(t, err)
	req.Header.Set("Content-Type", request.Stream)
	answered := make(chan *http.Response)
	go func() {
		defer close(answered)
		res, err := server.Client().Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		answered <- res
	}()
	await.Silence(t, "an answer to nothing", answered, s.readWithin+s.readWithin/4)
	_, err = io.WriteString(w, `{"content":"a","priority":20}`+"\n")
	must.Do(t, err)
	res := await.Signal(t, "the answer begins", answered)
	if res == nil {
		return
	}
	defer res.Body.Close()
	lines := make(chan string)
	go func() {
		defer close(lines)
		for answers := bufio.NewScanner(res.Body); answers.Scan(); {
			lines <- answers.Text()
		}
	}()
	for n := range 2 {
		if n > 0 {
			await.Silence(t, "an answer to nothing", lines, s.readWithin+s.readWithin/4)
			_, err = io.WriteString(w, `{"content":"b","priority":20}`+"\n")
			must.Do(t, err)
		}
		if line := await.Signal(t, "an answer", lines); !strings.Contains(line, `"stored"`) || res.ProtoMajor != 2 {
			t.Fatal(res.Proto, line)
		}
	}
	must.Do(t, w.Close())
	if line, more := <-lines; more {
		t.Error(line)
	}
}

// A stream that ends early leaves nothing behind: what is left of it is no request.
func TestRestOfStream(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(cfg *Config) { cfg.MaxBody = 1 << 10 })
	s.ask(201, "PUT", "/v1/topics/orders", map[string]any{"kind": "priority", "slots": 1})
	for _, size := range []int{2 << 10, 100 << 10, 1 << 20} {
		conn := s.dial()
		go func() {
			_, _ = io.WriteString(conn, "POST /v1/topics/orders/messages HTTP/1.1\r\nHost: x\r\nContent-Type: "+request.Stream+"\r\nContent-Length: "+strconv.Itoa(size)+"\r\n\r\n"+
				strings.Repeat("x", size)+"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
		}()
		answers := bufio.NewReader(conn)
		res, err := http.ReadResponse(answers, nil)
		must.Do(t, err)
		text, err := io.ReadAll(res.Body)
		if err != nil || !strings.Contains(string(text), "the line is longer than 1024 bytes") || !res.Close {
			t.Errorf("%d bytes: %v %s, and the connection is closed: %t", size, err, text, res.Close)
		}
		_, err = answers.ReadByte()
		if late, is := err.(net.Error); err == nil || is && late.Timeout() {
			t.Errorf("%d bytes: something comes behind it: %v", size, err)
		}
	}
}
