package webhook

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
)

// wire is a server that speaks to each connection as a function does, once a request has come.
func wire(t testing.TB, speak func(net.Conn)) (url string) {
	t.Helper()
	x, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	var all sync.WaitGroup
	t.Cleanup(func() { x.Close(); all.Wait() }) // the listener has closed its connections then
	all.Go(func() {
		for {
			c, err := x.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				if q, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					_, _ = io.Copy(io.Discard, q.Body) // what breaks off is no matter here
					speak(c)
				}
			})
		}
	})
	return "http://" + x.Addr().String()
}

// says writes a text, and then the connection is closed.
func says(text string) func(net.Conn) {
	return func(c net.Conn) { _, _ = io.WriteString(c, text) }
}

// thenHangs writes a text, and nothing else until the other side has closed the connection.
func thenHangs(text string) func(net.Conn) {
	return func(c net.Conn) {
		_, _ = io.WriteString(c, text)
		_, _ = io.Copy(io.Discard, c)
	}
}

// drips writes a text, and then a byte now and then, until the other side has closed the connection.
func drips(text string) func(net.Conn) {
	return func(c net.Conn) {
		for _, err := io.WriteString(c, text); err == nil; _, err = io.WriteString(c, "x") {
			pause := time.NewTimer(10 * time.Millisecond)
			<-pause.C
		}
	}
}

// pours writes a text, and then as much as the other side takes.
func pours(text, more string) func(net.Conn) {
	return func(c net.Conn) {
		for _, err := io.WriteString(c, text); err == nil; _, err = io.WriteString(c, more) {
		}
	}
}

func resets(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }

// short is for a target that is given up, and long for any other one: a stall of the machine does not end it.
func short(t *Target) { t.Timeout = 10 * time.Second }

func long(t *Target) { t.Timeout = await.Patience }

// A target that misbehaves holds nothing up and takes no memory, and the log says what it did. All messages
// may have arrived, so all are failures.
func TestFaultyTargets(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	many := strings.Repeat("x", 64<<10)
	for name, c := range map[string]struct {
		speak func(net.Conn)
		words string
	}{
		"never answers":                {thenHangs(""), "no answer: it took longer than 10s"},
		"head never ends":              {thenHangs(ok), "no answer: it took longer than 10s"},
		"head drips":                   {drips(ok + "A: "), "no answer: it took longer than 10s"},
		"body drips":                   {drips(ok + "Content-Length: 4000\r\n\r\n"), "answered 200 OK: x"},
		"body is promised, and hangs":  {thenHangs(ok + "Content-Length: 4000\r\n\r\nhello"), "answered 200 OK: hello; its body broke off: it took longer than 10s"},
		"body is shorter than it says": {says(ok + "Content-Length: 4000\r\n\r\nhello"), "hello; its body broke off: the connection was closed before the end"},
		"chunks break off":             {says(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), "hello; its body broke off: the connection was closed before the end"},
		"chunks are none":              {says(ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\nhello"), "its body broke off"},
		"closes":                       {says(""), "no answer: the connection was closed"},
		"resets":                       {resets, "no answer: "},
		"resets in the body":           {func(c net.Conn) { says(ok + "Content-Length: 9\r\n\r\n")(c); resets(c) }, ""},
		"garbage":                      {says("SSH-2.0-OpenSSH_9.2\r\n"), "no answer: "},
		"endless head":                 {pours(ok+"A: ", many), "no answer: "},
		"two lengths":                  {says(ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"), "no answer: "},
		"length is none":               {says(ok + "Content-Length: -5\r\n\r\nhello"), "no answer: "},
		"switches protocols":           {thenHangs("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"), "answered 101"},
		"goes on and on":               {pours("", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"), "no answer: "},
		"endless body of a 500":        {pours("HTTP/1.1 500 x\r\n\r\nsorry\n", many), "answered 500 Internal Server Error: sorry"},
		"a status of its own":          {says("HTTP/1.1 500 hu\x1bsh\r\nContent-Length: 0\r\n\r\n"), "answered 500 Internal Server Error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := long
			if strings.Contains(c.words, "10s") || strings.Contains(name, "drips") {
				timeout = short
			}
			l, _ := listenerTo(t, wire(t, c.speak), timeout)
			became(t, l, message.Failed, c.words)
		})
	}
	// What a 200 has too much of is no fault.
	for name, speak := range map[string]func(net.Conn){
		"body is longer than it says": says(ok + "Content-Length: 5\r\n\r\nhello and more"),
		"endless body":                pours(ok+"\r\n", many),
		"endless chunks":              pours(ok+"Transfer-Encoding: chunked\r\n\r\n", "10000\r\n"+many+"\r\n"),
		"large length, and it hangs":  thenHangs(ok + "Content-Length: 999999999999\r\n\r\n" + many),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := long
			if strings.Contains(name, "hangs") {
				timeout = short
			}
			l, _ := listenerTo(t, wire(t, speak), timeout)
			became(t, l, message.Done)
		})
	}
}

// However much a target answers, little of it is held.
func TestLargeAnswersTakeNoMemory(t *testing.T) {
	const size = 64 << 20
	many := strings.Repeat("x", 1<<20)
	r := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(size))
		for range size / len(many) {
			if _, err := io.WriteString(w, many); err != nil {
				return
			}
		}
	}))
	defer r.Close()
	l, _ := listenerTo(t, r.URL)
	became(t, l, message.Done)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	became(t, l, message.Done)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > size/16 {
		t.Errorf("an answer of %d bytes took %d bytes of memory", size, took)
	}
}

// A request that meets a connection closed by the target is sent again over another one, at once and unchanged.
func TestConnectionsThatWereClosed(t *testing.T) {
	t.Parallel()
	r := receive(t, nil)
	l, _ := listenerTo(t, r.URL)
	for range 50 {
		became(t, l, message.Done)
		r.CloseClientConnections()
	}
	first := r.next(t)
	for len(r.got) > 0 {
		if q := r.next(t); q.Get("Webhook-Id") != first.Get("Webhook-Id") {
			t.Errorf("one delivery has the ids %q and %q", first.Get("Webhook-Id"), q.Get("Webhook-Id"))
		}
	}
}

// A target that cannot be reached is no fault of the messages: nothing is spent, and it is left alone for a while.
// It is logged once, and again when it is back.
func TestUnreachableTargets(t *testing.T) {
	t.Parallel()
	secure := newReceiver(nil)
	secure.StartTLS()
	defer secure.Close()
	plain := receive(t, nil)
	for name, c := range map[string]struct {
		url   string
		words string
	}{
		"nothing listens":         {"http://localhost:1", "refused"},
		"no such name":            {"https://no-such-host.invalid", "no-such-host.invalid"},
		"its own certificate":     {secure.URL, "certificate"},
		"TLS where there is none": {strings.Replace(plain.URL, "http:", "https:", 1), "it does not speak TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			l, logs := listenerTo(t, c.url)
			begun := time.Now()
			became(t, l, message.HandedBack, l.shown+": no connection: ", c.words)
			if rest, most := l.brake.rest(begun), time.Since(begun)+firstPause; rest < firstPause || rest > most {
				t.Errorf("it is left alone for %v", rest)
			}
			l.brake.unreachable(begun.Add(time.Hour)) // however busy the machine is
			became(t, l, message.HandedBack, "takes nothing at present")
			lines := logs.FilterMessageSnippet("cannot be reached").All()
			if len(lines) != 1 || !strings.Contains(fmt.Sprint(lines[0].ContextMap()), c.words) {
				t.Errorf("the log has %v", lines)
			}
		})
	}
	l, logs := listenerTo(t, secure.URL, func(t *Target) { t.Roots = secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs })
	l.brake.unreachable(time.Now().Add(-time.Minute))
	became(t, l, message.Done)
	if logs.FilterMessageSnippet("can be reached again").Len() != 1 {
		t.Errorf("the log has %v", logs.All())
	}
}

// A TLS certificate of another name is refused, and the words say so.
func TestCertificateOfAnotherName(t *testing.T) {
	t.Parallel()
	secure := newReceiver(nil)
	secure.StartTLS()
	defer secure.Close()
	_, port, err := net.SplitHostPort(secure.Listener.Addr().String())
	must.Do(t, err)
	l, _ := listenerTo(t, "https://localhost:"+port, func(t *Target) { t.Roots = secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs })
	became(t, l, message.HandedBack, "certificate is valid for", "not localhost")
	if len(secure.got) > 0 {
		t.Error("a request was sent")
	}
}

// With a proxy, it is the proxy that connects: addresses are its affair. The environment names none.
func TestProxy(t *testing.T) {
	r := receive(t, nil)
	through := make(chan string, 2)
	proxy := receive(t, func(_ http.ResponseWriter, q *http.Request) { through <- q.URL.String() })
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	l, _ := listenerTo(t, r.URL)
	became(t, l, message.Done)
	if len(through) > 0 || len(r.got) != 1 || l.transport.Proxy != nil { // which would not be used for this machine itself
		t.Error("the environment's proxy was used")
	}
	l, _ = listenerTo(t, "http://10.255.255.1/hooks", func(t *Target) { t.Proxy, t.AllowHTTP, t.AllowPrivate = proxy.URL, true, false })
	became(t, l, message.Done)
	if got := <-through; got != "http://10.255.255.1/hooks" {
		t.Errorf("the proxy was asked for %s", got)
	}
}
