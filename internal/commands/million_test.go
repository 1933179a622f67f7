package commands

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/message"
)

// tally counts exported lines: each must be there once, in order.
type tally struct {
	t    *testing.T
	seen []bool
	n    int
	last string
	rest []byte
}

func (y *tally) Write(b []byte) (int, error) {
	y.rest = append(y.rest, b...)
	for {
		line, rest, found := bytes.Cut(y.rest, []byte("\n"))
		if !found {
			return len(b), nil
		}
		y.line(line)
		y.rest = rest
	}
}

// line looks at its beginning and end only, since a parser would take longer than the export.
func (y *tally) line(line []byte) {
	rest, begins := bytes.CutPrefix(line, []byte(`{"content":"order `))
	number, rest, _ := bytes.Cut(rest, []byte(`"`))
	_, rest, ends := bytes.Cut(rest, []byte(`"died":"`))
	died, _, explained := bytes.Cut(rest, []byte(`","attempts":17,`))
	i, err := strconv.Atoi(string(number))
	if !begins || !ends || !explained || err != nil || y.seen[i] || string(died) < y.last {
		y.t.Errorf("%s is no such line, is there again, or comes after %s", line, y.last)
		return
	}
	y.seen[i], y.last = true, string(died)
	y.n++
}

// exportMillion exports 60,000 dead messages, and a million by night.
func exportMillion(t *testing.T, dir string) {
	million := night.Times(60_000, 1_000_000)
	server := servertest.Redis(t)
	rdb := server.Client(t)
	topic := message.Topic{Name: "orders", Kind: message.KindRangeMerge, Slots: 16}
	bury(t, rdb, topic, 0, nil)
	begin := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	// Some die in the same ms, in the same slot and in others.
	const script = `
		for i = ARGV[1], ARGV[2] - 1, 16 do
			local died = string.format('%.0f', ARGV[3] + math.floor(i / 40))
			redis.call('ZADD', KEYS[1], died, string.format('order %.0f', i))
			redis.call('HSET', KEYS[2], string.format('order %.0f', i), '17 ' .. died .. ' ' .. died .. ' - app7-1 no such shop')
		end
		return 1`
	for slot := range topic.Slots {
		k := protocol.KeysOf(topic.Name, slot)
		must.Do(t, rdb.Eval(ctx, script, []string{k.Dead, k.Why}, slot, million, begin.UnixMilli()).Err())
	}
	s := shell{t, dir, "redis://" + server.Addr()}
	y := &tally{t: t, seen: make([]bool, million)}
	cmd, errs := s.command(filepath.Join(dir, "rmq"), "dead", "export", "orders")
	cmd.Stdout = y
	if err := cmd.Run(); err != nil || y.n != million {
		t.Errorf("%v, %d lines of %d", err, y.n, million)
	}
	for line := range strings.Lines(errs.String()) { // how far it is, now and then
		if !strings.HasPrefix(line, "export  ") || !strings.Contains(line, fmt.Sprintf(" of %d  ", million)) {
			t.Errorf("%q", line)
		}
	}
	out := at{rdb, s.url}.text(t, "dead", "list", "orders")
	if !strings.HasSuffix(out, "\nand "+words.Grouped(million-20)+" more; --limit shows more, rmq dead export all\n") {
		t.Error(out)
	}
}
