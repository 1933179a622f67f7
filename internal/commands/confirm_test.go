package commands

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/message"
)

// What asks must do nothing without a yes.
func TestConfirmation(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	s := at{server.Client(t), "redis://" + server.Addr()}
	orders := message.Topic{Name: "orders", Kind: message.KindRangeMerge, Slots: 4}
	died := time.Now().Add(-time.Hour)
	fill := func() {
		bury(t, s.rdb, orders, 4812, func(i int) deadOne { return deadOne{content: "order " + words.Grouped(i), died: died} })
	}
	for _, c := range []struct {
		args     string
		question string
		undone   func() bool
	}{
		{"dead requeue orders --rate 100/s", "requeue 4,812 dead messages of orders, at 100/s (48s)? [y/N] ", func() bool { return len(members(t, s.rdb, orders, inDead)) == 4812 }},
		{"dead delete orders", "delete 4,812 dead messages of orders for ever? [y/N] ", func() bool { return len(members(t, s.rdb, orders, inDead)) == 4812 }},
		{"pause orders", "pause all 4 slots of orders? [y/N] ", func() bool { return s.rdb.HExists(ctx, "meta{orders_0}", "paused").Val() == false }},
	} {
		fill()
		args := strings.Fields(c.args)
		for _, no := range []string{"", "\n", "n\n", "no\n", "yess\n", "Y E S\n"} {
			r := s.answered(no, args...)
			if r.code != 1 || r.errs != c.question+"rmq: nothing was changed\n" || r.out != "" || !c.undone() {
				t.Errorf("%s, %q: %+v", c.args, no, r)
			}
		}
		null, err := os.Open(os.DevNull)
		must.Do(t, err)
		var out, errs bytes.Buffer
		code := program.Run(ctx, append([]string{"--redis", s.url}, args...), null, &out, &errs)
		must.Do(t, null.Close())
		if code != 2 || strings.Count(errs.String(), "\n") != 1 || errs.String() != "rmq: "+strings.TrimSuffix(c.question, "? [y/N] ")+": needs --yes, since stdin is no terminal\n" || !c.undone() {
			t.Errorf("%s: %d, %q", c.args, code, errs.String())
		}
		yes := "y\n"
		if strings.Contains(c.args, "requeue") {
			args = args[:3] // as fast as it goes
		}
		if r := s.answered(yes, args...); r.code != 0 || c.undone() {
			t.Errorf("%s, %q: %+v", c.args, yes, r)
		}
	}
}

// A signal while a question is asked is a no.
func TestInterruptedQuestion(t *testing.T) {
	t.Parallel()
	stdin, never := io.Pipe()
	defer never.Close() // lets the reader of the answer go
	ctx, cancel := context.WithCancel(ctx)
	var errs bytes.Buffer
	c := program.call(stdin, io.Discard, &errs)
	cancel()
	err := c.Confirm(ctx, false, "do it")
	if line, code := c.Explain(err); code != 130 || line != "interrupted; nothing was changed" || errs.String() != "do it? [y/N] \n" {
		t.Errorf("%q, %d, %q", line, code, errs.String())
	}
}
