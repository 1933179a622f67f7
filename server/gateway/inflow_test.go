package gateway

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
)

// pipe is a stream to which lines are written while its answers are read.
type pipe struct {
	*site
	to   *io.PipeWriter
	from *bufio.Scanner
	res  *http.Response
}

func (s *site) inflow(topic string) *pipe {
	s.Helper()
	r, w := io.Pipe()
	return s.inflowOf(topic, r, w)
}

func (s *site) inflowOf(topic string, body io.Reader, to *io.PipeWriter) *pipe {
	s.Helper()
	req, err := http.NewRequestWithContext(await.Context(s), "POST", s.url+"/v1/topics/"+topic+"/messages", body)
	must.Do(s, err)
	req.Header.Set("Content-Type", request.Stream)
	p := &pipe{site: s, to: to}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		p.res, err = http.DefaultClient.Do(req)
	}()
	if to != nil { // the answer begins with that of the first group
		_, _ = io.WriteString(to, `{"content":"first","priority":20}`+"\n")
	}
	<-answered
	must.Do(s, err)
	s.Cleanup(func() {
		if p.res.Body.Close(); to != nil {
			to.CloseWithError(io.ErrClosedPipe)
		}
	})
	p.from = bufio.NewScanner(p.res.Body)
	if to != nil {
		p.next(1, "", "") // the second stream of a topic merges it
	}
	return p
}

// write writes a line that is as in openapi.json.
func (p *pipe) write(line string) {
	p.Helper()
	checkLine(p, p.messageLine(), []byte(line))
	p.wrong(line)
}

// wrong writes any line.
func (p *pipe) wrong(line string) {
	p.Helper()
	_, err := io.WriteString(p.to, line+"\n")
	must.Do(p, err)
}

// read reads an answer, which is as in openapi.json; nil: there is no further one.
func (p *pipe) read() map[string]any {
	p.Helper()
	if !p.from.Scan() {
		must.Do(p, p.from.Err())
		return nil
	}
	checkLine(p, p.answerLine(), p.from.Bytes())
	var v map[string]any
	must.Do(p, json.Unmarshal(p.from.Bytes(), &v))
	return v
}

// post posts a body, and returns the status and the answer.
func (s *site) post(t testing.TB, path, kind string, body []byte) (int, string) {
	t.Helper()
	res, err := http.Post(s.url+path, kind, bytes.NewReader(body))
	must.Do(t, err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	must.Do(t, err)
	return res.StatusCode, string(answer)
}

// next is the next answer: about a line, with an outcome, or a problem of a field or with some words.
func (p *pipe) next(line int, outcome, words string) map[string]any {
	p.Helper()
	v := p.read()
	problem, failed := v["error"].(map[string]any)
	if v["line"] != float64(line) || outcome != "" && v["outcome"] != outcome || failed != (words != "") || failed && !strings.Contains(problem["detail"].(string), words) {
		p.Fatalf("%v, want line %d: %s %s", v, line, outcome, words)
	}
	return v
}

func TestStream(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(cfg *Config) { cfg.MaxBody = 100 << 10 })
	s.wrong(404, "POST", "/v1/topics/orders/messages", "{}\n", map[string]string{"Content-Type": request.Stream})
	s.ask(201, "PUT", "/v1/topics/orders", map[string]any{"kind": "priority", "slots": 4})

	// Each line is answered while the next one does not come.
	p := s.inflow("orders")
	p.write(`{"content":"a","priority":20,"basis":"b"}`)
	p.next(2, "stored", "")
	p.write(`{"content":"a","priority":20,"basis":"b"}`)
	p.next(3, "merged", "")
	p.write(`{"content":"u","priority":20,"unique":"1h"}`)
	p.next(4, "stored", "")
	p.write(`{"content":"u","priority":20,"unique":"1h"}`)
	p.next(5, "duplicate", "")
	p.wrong("\n  \t") // two lines that are empty, as far as there is an answer
	p.write(`{"content_base64":"AP8=","priority":20}`)
	p.next(8, "stored", "")
	line := 8
	for _, c := range []struct {
		line, words string
		status      float64
	}{
		{`{"content":"a","priority":16}`, "priority is 16; it must be 17", 422},
		{`{"content":"a"}`, "a message needs a priority", 422},
		{`{"content":"a","prority":20}`, `unknown field "prority"`, 422},
		{`{"content":"a","priority":20,"kind":"priority"}`, `unknown field "kind"`, 422},
		{`{"content":"a","priority":20} {}`, "behind the JSON object; each one needs a line of its own", 400},
		{`{"content":"a","priority":20`, "has no end", 400},
		{`[]`, "not a JSON object", 400},
		{"{\"content\":\"\xff\",\"priority\":20}", "not UTF-8", 400},
		{`{"content":"\ud800","priority":20}`, "half a character", 400},
		{strings.Repeat(`{"headers":`, 9000), "", 400},
	} {
		p.wrong(c.line)
		line++
		if v := p.read(); v["line"] != float64(line) || v["error"].(map[string]any)["status"] != c.status || !strings.Contains(v["error"].(map[string]any)["detail"].(string), c.words) {
			t.Errorf("%.50s: %v", c.line, v)
		}
	}
	long := strings.Repeat("x", 99<<10) // longer than the buffer
	p.write(`{"content":"` + long + `","priority":20}`)
	p.next(line+1, "stored", "")
	_, err := io.WriteString(p.to, `{"content":"z","priority":20}`) // the last line needs no end
	must.Do(t, err)
	must.Do(t, p.to.Close())
	p.next(line+2, "stored", "")
	if v := p.read(); v != nil {
		t.Error(v)
	}
	s.ask(200, "GET", "/v1/topics/orders/messages?content=z", nil)

	// A line that is too long ends it.
	p = s.inflow("orders")
	go io.WriteString(p.to, `{"content":"`+strings.Repeat("x", 200<<10)+`","priority":20}`+"\n"+`{"content":"never","priority":20}`+"\n") // it may not be read to its end
	if v := p.next(2, "", "the line is longer than 102400 bytes"); v["error"].(map[string]any)["status"] != 413.0 {
		t.Error(v)
	}
	if v := p.read(); v != nil {
		t.Error(v)
	}
	s.ask(404, "GET", "/v1/topics/orders/messages?content=never", nil)
}

// Many lines are answered in order, and a client that does not read while it sends gets as much as fits.
func TestLongStream(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ask(201, "PUT", "/v1/topics/orders", map[string]any{"kind": "priority", "slots": 16})
	const lines = 10_000
	var b bytes.Buffer
	for n := 1; n <= lines; n++ {
		switch {
		case n%1000 == 0:
			fmt.Fprintf(&b, `{"content":"order %d","priority":1}`+"\n", n)
		case n%7 == 0:
			fmt.Fprintf(&b, `{"content":"order %d","priority":100}`+"\r\n", n-1)
		default:
			fmt.Fprintf(&b, `{"content":"order %d","priority":100}`+"\n", n)
		}
	}
	p := s.inflowOf("orders", &b, nil)
	counts := map[any]int{}
	for n := 1; n <= lines; n++ {
		v := p.read()
		if v["line"] != float64(n) {
			t.Fatalf("%v, want line %d", v, n)
		}
		outcome := v["outcome"]
		if _, failed := v["error"]; failed != (n%1000 == 0) || n%7 == 0 && !failed && outcome != "merged" && (n-1)%1000 != 0 {
			t.Fatalf("line %d: %v", n, v)
		}
		counts[outcome]++
	}
	if v := p.read(); v != nil || counts[nil] != 10 {
		t.Error(v, counts)
	}
	stats, err := s.inspector.Stats(ctx, "orders")
	must.Do(t, err)
	if stats.Waiting != counts["stored"] {
		t.Errorf("%d wait, of %v", stats.Waiting, counts)
	}
}

// A client that goes away in the middle leaves what it has sent, and no half line.
func TestStreamCutOff(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ask(201, "PUT", "/v1/topics/orders", map[string]any{"kind": "priority", "slots": 4})
	p := s.inflow("orders")
	p.write(`{"content":"a","priority":20}`)
	p.next(2, "stored", "")
	_, err := io.WriteString(p.to, `{"content":"half","prio`)
	must.Do(t, err)
	must.Do(t, p.to.CloseWithError(fmt.Errorf("gone")))
	s.send(orders) // another request is served in between
	s.ask(200, "GET", "/v1/topics/orders/messages?content=a", nil)
	s.ask(404, "GET", "/v1/topics/orders/messages?content=half", nil)
}

// A gateway that stops answers what it has read, and says from where on to send again.
func TestStreamDrained(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ask(201, "PUT", "/v1/topics/orders", map[string]any{"kind": "priority", "slots": 4})
	p := s.inflow("orders")
	p.write(`{"content":"a","priority":20}`)
	p.next(2, "stored", "")
	s.Drain()
	v := p.next(3, "", "this gateway is being stopped: send again from this line on")
	if v["error"].(map[string]any)["status"] != 503.0 {
		t.Error(v)
	}
	if v := p.read(); v != nil {
		t.Error(v)
	}
	must.Do(t, p.to.Close())
}
