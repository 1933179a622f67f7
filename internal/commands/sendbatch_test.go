package commands

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

var orders = message.Topic{Name: "orders", Kind: message.KindPriority}

// lines are those of a batch, from a number on.
func lines(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, `{"content":"order %d","priority":%d}`+"\n", i, 1000+i)
	}
	return b.String()
}

// inFile writes a batch.
func inFile(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "batch.jsonl")
	must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

func TestSendBatch(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		file := inFile(t, lines(1, 2345))
		if got := s.text(t, "send", "orders", "--kind", "priority", "--batch", file); got != "sent 2,345 messages to orders: 2,345 stored, 0 merged\n" {
			t.Error(got)
		}
		all := members(t, s.rdb, orders, inStore)
		for i := 1; i <= 2345; i++ {
			if all[fmt.Sprintf("order %d", i)] != float64(1000+i) {
				t.Fatalf("order %d has priority %v", i, all[fmt.Sprintf("order %d", i)])
			}
		}
		wantJSON(t, s.objects(t, "send", "orders", "--batch", file, "--from-line", "2001")[0],
			`{"last_line":2345,"merged":345,"sent":345,"stored":0,"topic":"orders"}`)
		if got := s.text(t, "send", "orders", "--batch", inFile(t, "")); got != "sent 0 messages to orders: 0 stored, 0 merged\n" {
			t.Error(got)
		}

		// From stdin, with what the lines leave open in flags, and each form of a content.
		r := s.answered(`{"content":"a","priority":30}

			{"content_base64":"AAH/","basis":"customer 12"}
{"content":"b","basis":"customer 12"}`, "send", "orders", "--batch", "-", "--priority", "77")
		if r.code != 0 || r.out != "sent 3 messages to orders: 3 stored, 0 merged\n" {
			t.Errorf("%+v", r)
		}
		all = members(t, s.rdb, orders, inStore)
		if all["a"] != 30 || all["\x00\x01\xff"] != 77 || all["b"] != 77 || s.rdb.ZScore(ctx, "orders_3", "\x00\x01\xff").Val() != 77 {
			t.Errorf("%v %v %v", all["a"], all["\x00\x01\xff"], all["b"])
		}
		r = s.answered(`{"content":"x","in":"1h"}`+"\n"+`{"content":"y","at":"2040-01-31T15:04:05Z"}`, "send", "mails", "--kind", "fixed-time", "--batch", "-")
		if r.code != 0 || members(t, s.rdb, message.Topic{Name: "mails"}, inStore)["y"] != 2_211_635_045_000 {
			t.Errorf("%+v", r)
		}
		r = s.answered(`{"content":"x"}`+"\n"+`{"content":"x","range":"2h"}`+"\n"+`{"content":"y","extend":false}`+"\n"+`{"content":"z","ceiling":"2h"}`,
			"send", "edits", "--kind", "range-merge", "--batch", "-", "--range", "1h", "--extend", "--ceiling", "3h")
		if r.code != 1 || !strings.Contains(r.errs, "line 3: Ceiling is 3h0m0s; it must be 0 where Extend is not set") {
			t.Errorf("%+v", r)
		}
		if r = s.answered(`{"content":"z","extend":true,"ceiling":"2h"}`, "send", "edits", "--batch", "-", "--range", "1h"); r.code != 0 {
			t.Errorf("%+v", r)
		}
		all = members(t, s.rdb, message.Topic{Name: "edits"}, inStore)
		if apart := time.Duration(all["x"]-all["z"]) * time.Millisecond; len(all) != 2 || apart < 59*time.Minute || apart > time.Hour {
			t.Errorf("%v apart: %v", apart, all)
		}
		r = s.answered(`{"content":"x"}`+"\n"+`{"content":"y","ttl":"1h","headers":{"shop":"Bonn"}}`,
			"send", "offers", "--kind", "priority", "--notes", "--slots", "1", "--batch", "-", "--priority", "20", "--ttl", "2h", "--header", "shop=Rome")
		x, _ := protocol.ParseNote(s.rdb.HGet(ctx, protocol.NoteKey("offers", 0), "x").Val())
		y, _ := protocol.ParseNote(s.rdb.HGet(ctx, protocol.NoteKey("offers", 0), "y").Val())
		const hour = 3_600_000
		if r.code != 0 || x.Headers["shop"] != "Rome" || x.Expires-x.First != 2*hour || y.Headers["shop"] != "Bonn" || y.Expires-y.First != hour {
			t.Errorf("%+v: %+v, %+v", r, x, y)
		}
		s.refused(t, 2, "there are 2,345 lines", "send", "orders", "--batch", file, "--from-line", "2347")
		s.refused(t, 2, "--from-line is 0", "send", "orders", "--batch", file, "--from-line", "0")
		s.refused(t, 2, "no such file", "send", "orders", "--batch", file+"x")
	})
}

// A bad line is named by its number, and what stands before it is sent.
func TestBadLine(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	s := at{server.Client(t), "redis://" + server.Addr()}
	for _, c := range []struct{ line, words string }{
		{`{"content":"x"}`, "orders is a priority topic: a message needs a priority"},
		{`{"priority":20}`, "it needs either content or content_base64"},
		{`{"content":"x","content_base64":"eA==","priority":20}`, "it needs either"},
		{`{"content":"x","prority":20}`, `unknown field "prority"`},
		{`{"content":"x","priority":"20"}`, "priority is a string"},
		{`{"content":"x","priority":16}`, "Priority is 16; it must be 17"},
		{`{"content":"x","range":"10m"}`, "orders is a priority topic"},
		{`{"content":"x","range":"10"}`, `range is "10", not a duration`},
		{`{"content":"x","priority":20,"extend":true}`, "extend and ceiling are for range merges"},
		{`{"content":"x","priority":20,"ttl":"1h"}`, "TTL is 1h0m0s; it must be left out: the topic has no Notes"},
		{`{"content":"x","ttl":"1"}`, `ttl is "1", not a duration`},
		{`{"content":"x","priority":20,"headers":{"shop":"Rome"}}`, "Headers is set; it must be left out"},
		{`{"content":"x","headers":{"shop":7}}`, "headers is not an object of texts"},
		{`{"content":"x","ceiling":"1"}`, `ceiling is "1", not a duration`},
		{`{"content":"x","at":"soon"}`, `at is "soon", not a time`},
		{`{"content":"","priority":20}`, "Content is 0 bytes"},
		{`{"content_base64":"?","priority":20}`, "illegal base64"},
		{`{"content":"x","priority":20} {`, "something behind the JSON object"},
		{`{"content":"x","priority":20`, "the JSON object has no end"},
		{`[]`, "it is not a JSON object; a line is as {"},
		{`x`, "it is not a JSON object; a line is as {"},
		{`{x}`, "invalid character"},
		{"{\"content\":\"\xff\",\"priority\":20}", "not UTF-8"},
		{`{"content":"a\ud800b","priority":20}`, `\ud800 is half a character, without the other one; write such contents as content_base64`},
		{`{"content":"\\\udc00\ud800","priority":20}`, `\udc00 is half a character`},
		{`{"content":"\ud83d\ud83d\ude00","priority":20}`, `\ud83d is half a character`},
		{`{"content":"x\ud83d`, `\ud83d is half a character`},
	} {
		for _, before := range []int{0, 1, 3, 700} {
			must.Do(t, s.rdb.FlushDB(ctx).Err())
			file := inFile(t, lines(1, before)+c.line+"\n"+lines(before+2, before+9))
			r := s.answered("", "send", "orders", "--kind", "priority", "--batch", file)
			words := fmt.Sprintf("rmq: line %d: ", before+1)
			far := fmt.Sprintf("lines 1 to %d were sent", before)
			if before == 1 {
				far = "line 1 was sent"
			}
			goOn := fmt.Sprintf("mend line %d, then go on with: rmq send orders --batch=%s --from-line=%d --kind=priority --redis=%s\n", before+1, file, before+1, s.url)
			if before == 0 {
				far, goOn = "nothing was sent", "mend line 1 and send the file again\n"
			}
			if r.code != 1 || !strings.HasPrefix(r.errs, words) || !strings.Contains(r.errs, c.words) || !strings.HasSuffix(r.errs, far+"; "+goOn) || strings.Count(r.errs, "\n") != 1 {
				t.Errorf("%.60q: %+v", c.line, r)
			}
			if n := len(members(t, s.rdb, orders, inStore)); n != before {
				t.Errorf("%.60q: %d messages of %d", c.line, n, before)
			}
		}
	}
}

// signals cancels when so many lines were read, as a signal would.
type signals struct {
	lines  []string
	after  int
	cancel func()
}

func (s *signals) Read(b []byte) (int, error) {
	if len(s.lines) == 0 {
		return 0, io.EOF
	}
	if s.after--; s.after == 0 {
		s.cancel()
	}
	n := copy(b, s.lines[0])
	if s.lines[0] = s.lines[0][n:]; s.lines[0] == "" {
		s.lines = s.lines[1:]
	}
	return n, nil
}

func TestInterruptedBatch(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	s := at{server.Client(t), "redis://" + server.Addr()}
	all := strings.SplitAfter(lines(1, 2000), "\n")
	for _, after := range []int{1, 2, 499, 500, 501, 777, 1999} {
		must.Do(t, s.rdb.FlushDB(ctx).Err())
		ctx, cancel := context.WithCancel(ctx)
		var out, errs strings.Builder
		code := program.Run(ctx, []string{"--redis", s.url, "send", "orders", "--kind", "priority", "--batch", "-"}, &signals{slices.Clone(all), after, cancel}, &out, &errs)
		cancel()
		sent := members(t, s.rdb, orders, inStore)
		goOn := fmt.Sprintf("go on with: rmq send orders --batch=- --from-line=%d --kind=priority --redis=%s\n", len(sent)+1, s.url)
		if code != 130 || out.String() != "" || !strings.HasPrefix(errs.String(), "rmq: interrupted; ") || !strings.HasSuffix(errs.String(), goOn) {
			t.Errorf("after %d: %d, %q, %d were sent", after, code, errs.String(), len(sent))
		}
		for i := 1; i <= len(sent); i++ {
			if sent[fmt.Sprintf("order %d", i)] != float64(1000+i) {
				t.Fatalf("after %d: order %d of %d is missing", after, i, len(sent))
			}
		}
	}
}

// A server that refuses what is sent stops it, too.
func TestFullServer(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	s := at{server.Client(t), "redis://" + server.Addr()}
	file := inFile(t, lines(1, 1500))
	if r := s.answered("", "send", "orders", "--kind", "priority", "--batch", inFile(t, lines(1, 3))); r.code != 0 {
		t.Errorf("%+v", r)
	}
	must.Do(t, s.rdb.ConfigSet(ctx, "maxmemory", "1").Err())
	r := s.answered("", "send", "orders", "--batch", file)
	goOn := fmt.Sprintf("; nothing was sent; go on with: rmq send orders --batch=%s --from-line=1 --redis=%s\n", file, s.url)
	if r.code != 1 || !strings.HasPrefix(r.errs, "rmq: line 1: ") || !strings.Contains(r.errs, "OOM") || !strings.Contains(r.errs, "and so with 499 more of those up to line 500") || !strings.HasSuffix(r.errs, goOn) {
		t.Errorf("%+v", r)
	}
	must.Do(t, s.rdb.ConfigSet(ctx, "maxmemory", "0").Err())
	if r := s.answered("", "send", "orders", "--batch", file); r.code != 0 || r.out != "sent 1,500 messages to orders: 1,497 stored, 3 merged\n" {
		t.Errorf("%+v", r)
	}
}

// Characters that are whole are sent as they are, and so is a content that programs may send
// only if they say so.
func TestLinesThatAreRight(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	s := at{server.Client(t), "redis://" + server.Addr()}
	long := strings.Repeat("x", 300<<10)
	r := s.answered(`{"content":"\ud83d\ude00\\ud800 \u00e9","priority":20}`+"\n"+`{"content":"`+long+`","priority":21}`,
		"send", "orders", "--kind", "priority", "--batch", "-")
	if r.code != 0 {
		t.Errorf("%+v", r)
	}
	if r := s.answered(long+"y", "send", "orders", "-", "--priority", "22"); r.code != 0 {
		t.Errorf("%+v", r)
	}
	if all := members(t, s.rdb, orders, inStore); all["\U0001f600\\ud800 é"] != 20 || all[long] != 21 || all[long+"y"] != 22 {
		t.Errorf("%d there", len(all))
	}
}

// What comes from a pipe now and then is sent as it comes, and what is due in some time is so
// from then on. A signal ends it also while nothing comes.
func TestSlowBatch(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	s := at{server.Client(t), "redis://" + server.Addr()}
	mails := message.Topic{Name: "mails", Kind: message.KindFixedTime}
	stdin, typed := io.Pipe()
	defer typed.Close() // lets the reader of the lines go
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	code := make(chan int)
	var out, errs strings.Builder
	go func() {
		code <- program.Run(ctx, []string{"--redis", s.url, "send", "mails", "--kind", "fixed-time", "--batch", "-"}, stdin, &out, &errs)
	}()
	clock := func() time.Time {
		now, err := s.rdb.Time(ctx).Result()
		must.Do(t, err)
		return now
	}
	in := func(content string, span time.Duration) (due time.Time) {
		_, err := fmt.Fprintf(typed, `{"content":%q,"in":%q}`+"\n", content, span)
		must.Do(t, err)
		await.True(t, content+" is sent", func() bool {
			ms, sent := members(t, s.rdb, mails, inStore)[content]
			due = time.UnixMilli(int64(ms))
			return sent
		})
		return due
	}
	in("first", time.Hour)
	begin := clock()
	await.True(t, "time passes", func() bool { return clock().Sub(begin) > 50*time.Millisecond })
	before := clock()
	if due := in("second", time.Hour); due.Before(before.Add(time.Hour).Truncate(time.Millisecond)) {
		t.Errorf("due at %v, an hour after %v", due, before)
	}
	cancel()
	if got := <-code; got != 130 || !strings.HasPrefix(errs.String(), "rmq: interrupted; lines 1 to 2 were sent; go on with: ") {
		t.Errorf("%d, %q", got, errs.String())
	}
}
