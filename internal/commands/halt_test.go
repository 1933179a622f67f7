package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/message"
)

// rest are the arguments of the command that a call says to go on with.
func (r result) rest(t testing.TB) []string {
	t.Helper()
	_, goOn, found := strings.Cut(strings.TrimSpace(r.errs), "; go on with: rmq ")
	if !found {
		t.Fatalf("%+v says nothing of going on", r)
	}
	return strings.Fields(strings.ReplaceAll(goOn, "'", "")) // as a shell would have it
}

// ties are dead messages of one slot; many died in the same ms.
func ties(t testing.TB, s at) int {
	t.Helper()
	const n = 750
	first := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	bury(t, s.rdb, message.Topic{Name: "orders", Kind: message.KindRangeMerge, Slots: 1}, n, func(i int) deadOne {
		died := first // 150 of them, then 500 a ms later, then others
		if i >= 150 {
			died = first.Add(time.Millisecond)
		}
		if i >= 650 {
			died = first.Add(time.Duration(i) * time.Millisecond)
		}
		return deadOne{content: fmt.Sprintf("order %d", i), died: died}
	})
	return n
}

// exported adds the contents of whole lines.
func exported(t testing.TB, seen map[string]int, out string) {
	t.Helper()
	for line := range strings.Lines(out) {
		var one struct{ Content string }
		if !strings.HasSuffix(line, "\n") {
			continue // torn by the disk
		}
		must.Do(t, json.Unmarshal([]byte(line), &one))
		seen[one.Content]++
	}
}

// An export that a network breaks, wherever, goes on so that no line is missing.
func TestBrokenExport(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	s := at{server.Client(t), "redis://" + proxy.Addr() + "?max_retries=-1"}
	ties(t, s)
	var count, request atomic.Int64 // at which the network breaks
	proxy.OnRequest(func([]byte) bool {
		if count.Add(1) == request.Load() {
			proxy.Cut()
		}
		return true
	})
	halfway := 0
	for {
		count.Store(0)
		request.Add(1)
		r := s.answered("", "dead", "export", "orders", "--limit", "745")
		proxy.Mend()
		if r.code == 0 {
			break
		}
		if !strings.Contains(r.errs, "; go on with: ") && r.out == "" {
			continue // it had not begun
		}
		count.Store(1e6)
		seen := map[string]int{}
		exported(t, seen, r.out)
		if lines := len(seen); lines > 0 {
			halfway++
		}
		rest := s.answered("", r.rest(t)...)
		exported(t, seen, rest.out)
		if rest.code != 0 || len(seen) != 745 || strings.Count(r.out+rest.out, "\n") != 745 {
			t.Errorf("broken at request %v: %d of 745 contents, %d lines; %s%s", request.Load(), len(seen), strings.Count(r.out+rest.out, "\n"), r.errs, rest.errs)
		}
	}
	if halfway < 3 {
		t.Errorf("broken half-way %d times", halfway)
	}
}

// disk is one that gets full.
type disk struct {
	bytes.Buffer
	room int
}

func (d *disk) Write(b []byte) (int, error) {
	some := min(len(b), d.room)
	d.room -= some
	d.Buffer.Write(b[:some])
	if some < len(b) {
		return some, errors.New("no space left on device")
	}
	return some, nil
}

// What a full disk did not take counts as not written.
func TestExportToFullDisk(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	s := at{server.Client(t), "redis://" + server.Addr()}
	n := ties(t, s)
	whole := len(s.call(t, "dead", "export", "orders", "--json").out)
	for room := 0; room < whole; room += whole / 17 {
		d := disk{room: room}
		var errs strings.Builder
		code := program.Run(ctx, []string{"--redis", s.url, "dead", "export", "orders"}, strings.NewReader(""), &d, &errs)
		r := result{code, d.String(), errs.String()}
		if code != 1 || !strings.Contains(r.errs, "no space left") || !strings.Contains(r.errs, " of 750 written, and maybe some more, the last line cut off; go on") || strings.Contains(r.errs, "is Redis running") || strings.Count(r.errs, "\n") != 1 {
			t.Errorf("%d bytes: %d, %q", room, code, r.errs)
		}
		seen := map[string]int{}
		exported(t, seen, r.out)
		exported(t, seen, s.answered("", r.rest(t)...).out)
		if len(seen) != n {
			t.Errorf("%d bytes: %d of %d; %q", room, len(seen), n, r.errs)
		}
	}
}

// Where the clock of the server was set back, some died later than now. They are meant, too.
func TestDeathsAhead(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		topic := message.Topic{Name: "orders", Kind: message.KindRangeMerge, Slots: 4}
		now := time.Now()
		fill := func() {
			bury(t, s.rdb, topic, 20, func(i int) deadOne {
				return deadOne{content: fmt.Sprintf("order %d", i), died: now.Add(time.Duration(i-10) * time.Hour)}
			})
		}
		fill()
		for args, want := range map[string]int{
			"": 20, "--died-before 2099-01-01": 20, "--older-than 30m": 10, "--newer-than 90m": 11, "--died-before " + frame.Stamp(now.Add(90*time.Minute)): 12,
		} {
			for _, command := range []string{"list", "export"} {
				if got := len(s.objects(t, append([]string{"dead", command, "orders", "--limit", "0"}, strings.Fields(args)...)...)); got != want {
					t.Errorf("%s %s: %d, want %d", command, args, got, want)
				}
			}
		}
		if got := s.text(t, "dead", "requeue", "orders", "--yes"); got != "requeued 20 dead messages of orders\n" {
			t.Error(got)
		}
		fill()
		if got := s.text(t, "dead", "delete", "orders", "--yes"); got != "deleted 20 dead messages of orders\n" {
			t.Error(got)
		}
		// A command that goes on later means the same ones.
		fill()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		code := make(chan int)
		var errs strings.Builder
		go func() {
			code <- program.Run(ctx, []string{"--redis", s.url, "dead", "requeue", "orders", "--yes", "--rate", "4/s"}, strings.NewReader(""), io.Discard, &errs)
		}()
		await.True(t, "the first is requeued", func() bool { return len(members(t, s.rdb, topic, inDead)) < 20 })
		cancel()
		r := result{code: <-code, errs: errs.String()}
		if got := s.answered("", r.rest(t)...); got.code != 0 || len(members(t, s.rdb, topic, inDead)) != 0 {
			t.Errorf("%q, then %+v", r.errs, got)
		}
	})
}

// When an answer is lost, it is not known what became of a step. The command says so, and
// the limit counts it.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	s := at{server.Client(t), "redis://" + proxy.Addr() + "?max_retries=-1&read_timeout=2s"}
	topic := message.Topic{Name: "orders", Kind: message.KindRangeMerge, Slots: 1}
	for _, c := range []struct {
		does, done, flag string
	}{{"requeue", "requeued", "--rate=10/s"}, {"delete", "deleted", "--yes"}} {
		must.Do(t, s.rdb.FlushDB(ctx).Err())
		bury(t, s.rdb, topic, 1201, func(i int) deadOne {
			return deadOne{content: fmt.Sprintf("order %d", i), died: time.Now().Add(-time.Hour)}
		})
		if r := s.answered("", "dead", c.does, "orders", "--yes", "--limit", "1"); r.code != 0 { // the script is there
			t.Errorf("%+v", r)
		}
		limit, step := 1100, 500
		if c.does == "requeue" {
			limit, step = 3, 1
		}
		ctx, cancel := context.WithCancel(ctx)
		var steps atomic.Int64
		proxy.OnRequest(func(b []byte) bool {
			// The first asks about the latest that died. A large step comes in several pieces.
			if bytes.Contains(bytes.ToLower(b), []byte("evalsha")) && bytes.Contains(b, []byte("order ")) && steps.Add(1) == 2 {
				proxy.DropReplies(true)
				cancel()
			}
			return true
		})
		var errs strings.Builder
		code := program.Run(ctx, []string{"--redis", s.url, "dead", c.does, "orders", "--yes", c.flag, fmt.Sprint("--limit=", limit)}, strings.NewReader(""), io.Discard, &errs)
		cancel()
		proxy.OnRequest(nil)
		proxy.DropReplies(false)
		r := result{code: code, errs: errs.String()}
		words := fmt.Sprintf("rmq: interrupted; %d of %s %s, and up to %d more may be %s, since the answer is lost; go on with: ", step, words.Grouped(limit), c.done, step, c.done)
		if code != 130 || !strings.HasPrefix(r.errs, words) || !strings.Contains(r.errs, fmt.Sprintf(" --limit=%d ", limit-2*step)) {
			t.Errorf("%s: %d, %q, want %q", c.does, code, r.errs, words)
		}
		// What arrived was done all the same, and the limit holds.
		await.True(t, "the second step is done", func() bool { return len(members(t, s.rdb, topic, inDead)) == 1200-2*step })
		if got := s.answered("", r.rest(t)...); got.code != 0 {
			t.Errorf("%s: %+v", c.does, got)
		}
		if left := len(members(t, s.rdb, topic, inDead)); left != 1200-limit {
			t.Errorf("%s: %d are left, limit %d", c.does, left, limit)
		}
	}
}
