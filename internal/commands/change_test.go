package commands

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	b64 "encoding/base64"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/message"
)

func TestCancel(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		stage(t, s.rdb)
		s.refused(t, 1, "nothing is not here: never sent, handled already", "cancel", "orders", "nothing")
		if got := s.text(t, "cancel", "orders", "busy"); got != "busy is in flight: asked its worker to stop\n" {
			t.Error(got)
		}
		s.refused(t, 1, "hopeless does not wait", "cancel", "orders", "hopeless")
		if got := s.text(t, "cancel", "orders", "sleepy", "--basis", basisOf[0]); got != "sleepy is cancelled\n" {
			t.Error(got)
		}
		wantJSON(t, s.objects(t, "cancel", "orders", "flaky")[0], `{"content":"flaky","in_flight":false,"removed":true,"topic":"orders"}`)
		r := s.answered("", "cancel", "orders", "busy", "--json")
		if r.code != 0 || r.out != `{"topic":"orders","content":"busy","removed":false,"in_flight":true}`+"\n" {
			t.Errorf("%+v", r)
		}
		send(t, s.rdb, rangeMerge("orders"), message.RangeMerge{Content: "busy", SlotBasis: basisOf[2], Range: time.Hour})
		if got := s.text(t, "cancel", "orders", "busy"); got != "busy does not wait any more; a copy of it is in flight: asked its worker to stop\n" {
			t.Error(got)
		}
		base64 := s.objects(t, "peek", "orders")[0]["content_base64"].(string)
		wantJSON(t, s.objects(t, "cancel", "orders", base64, "--base64")[0], `{"content_base64":"`+base64+`","in_flight":false,"removed":true,"topic":"orders"}`)

		// A name with several spaces stays what it is. Of a long content the beginning is shown, in base64, too.
		long := "two  spaces " + strings.Repeat("x", 100)
		send(t, s.rdb, rangeMerge("orders"), later("two  spaces"), later(long))
		if got := s.text(t, "cancel", "orders", "two  spaces"); got != "two  spaces is cancelled\n" {
			t.Error(got)
		}
		encoded := b64.StdEncoding.EncodeToString([]byte(long))
		for _, command := range [][]string{{"reschedule", "--in", "1h"}, {"cancel"}} {
			if got := s.text(t, append(command, "orders", encoded, "--base64")...); !strings.HasPrefix(got, encoded[:59]+"… ") {
				t.Error(got)
			}
		}
		s.refused(t, 1, encoded[:59]+"… is not dead", "dead", "show", "orders", encoded, "--base64")
	})
}

func TestReschedule(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		stage(t, s.rdb)
		wantText(t, s.text(t, "reschedule", "orders", "sleepy", "--in", "2d"), "sleepy in slot 0 of orders: due in SPAN (TIME)")
		wantText(t, s.text(t, "--wide", "reschedule", "orders", "flaky", "--in", "20m", "--basis", basisOf[1]), "flaky in slot 1 of orders: due in SPAN (TIME), attempt 2 of 17")
		then := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
		wantJSON(t, s.objects(t, "reschedule", "orders", "sleepy", "--at", then.Format(time.RFC3339))[0],
			`{"attempt":1,"content":"sleepy","due":"`+frame.Stamp(then)+`","slot":0,"state":"waiting","topic":"orders"}`)
		if got := s.text(t, "reschedule", "audience", "20", "--priority", "900"); got != "20 in slot 0 of audience: priority 900\n" {
			t.Error(got)
		}
		s.text(t, "reschedule", "orders", "sleepy", "--now")
		await.True(t, "what is due now is handled", func() bool {
			return s.objects(t, "explain", "orders", "sleepy")[0]["waiting"] == nil
		})
		for _, c := range []struct {
			code        int
			words, args string
		}{
			{2, "needs one of --now, --in, --at and --priority", "orders sleepy"},
			{2, "needs one of", "orders sleepy --now --in 1h"},
			{2, "needs one of", "orders sleepy --now=false"},
			{2, "must be 17 or more", "audience 20 --priority 0"},
			{2, "--priority is 16; it must be 17 to", "audience 20 --priority 16"},
			{2, "orders is a range-merge topic, which has no priorities: use --now, --in or --at", "orders sleepy --priority 20"},
			{2, "audience is a priority topic: --now, --in and --at are for retries only; use --priority", "audience 20 --in 1h"},
			{2, "in the year 2000 at the earliest", "orders sleepy --at 1999-12-31"},
			{1, "it is in flight", "orders busy --now"},
			{1, "nowhere", "orders nothing --now"},
			{1, "it is dead", "orders hopeless --now"},
		} {
			s.refused(t, c.code, c.words, append([]string{"reschedule"}, strings.Fields(c.args)...)...)
		}
	})
}

// What failed in a priority topic waits for a time.
func TestRescheduleRetryByPriority(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	s := at{server.Client(t), "redis://" + server.Addr()}
	send(t, s.rdb, message.Topic{Name: "audience", Kind: message.KindPriority, Slots: 1}, message.Priority{Content: "x", Priority: 20})
	score := float64(time.Now().Add(time.Hour).UnixMilli()*100 + 16)
	must.Do(t, s.rdb.ZAdd(ctx, "retry{audience_0}", redis.Z{Score: score, Member: "failed"}).Err())
	s.refused(t, 1, "failed: it waits for its retry in slot 0, which has a time and no priority: use --now, --in or --at",
		"reschedule", "audience", "failed", "--priority", "900")
}

func TestPauseAndResume(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		stage(t, s.rdb)
		if got := s.text(t, "pause", "orders", "--slot", "1,3"); got != "slots 1, 3 of orders: paused\n" {
			t.Error(got)
		}
		if got := s.text(t, "pause", "orders", "--yes"); got != "4 slots of orders: paused (2 were paused before)\n" {
			t.Error(got)
		}
		wantJSON(t, s.objects(t, "pause", "orders", "--yes")[0], `{"changed":0,"slots":4,"topic":"orders"}`)
		send(t, s.rdb, rangeMerge("orders"), message.RangeMerge{Content: "held", SlotBasis: basisOf[0], Range: time.Millisecond})
		await.True(t, "it is due", func() bool {
			return strings.Contains(s.text(t, "explain", "orders", "held"), "resumed")
		})
		if got := s.text(t, "resume", "orders", "--slot", "3"); got != "slot 3 of orders: resumed\n" {
			t.Error(got)
		}
		if got := s.text(t, "resume", "orders", "--slot", "0,3"); got != "slots 0, 3 of orders: resumed (1 was not paused)\n" {
			t.Error(got)
		}
		wantJSON(t, s.objects(t, "resume", "orders")[0], `{"changed":2,"slots":4,"topic":"orders"}`)
		if got := s.text(t, "resume", "orders", "--slot", "3,3"); got != "slot 3 of orders: nothing to do, it was at work before\n" {
			t.Error(got)
		}
		if got := s.text(t, "resume", "orders"); got != "4 slots of orders: nothing to do, all were at work before\n" {
			t.Error(got)
		}
		await.True(t, "it is handled", func() bool { // it dies, as the handler has it
			return s.objects(t, "explain", "orders", "held")[0]["dead"] != nil
		})
		s.refused(t, 2, "slot is 4; it must be from 0 to 3", "pause", "orders", "--slot", "4")
		s.refused(t, 2, "--slot is \"-1\", not slots such as 3, 3,7 or 0-5", "resume", "orders", "--slot", "-1")
	})
}

func TestVerify(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		if got := s.text(t, "verify"); got != "ok: 0 slots of 0 topics, no rule broken\n" {
			t.Error(got)
		}
		stage(t, s.rdb)
		if got := s.text(t, "verify"); got != "ok: 5 slots of 2 topics, no rule broken\n" {
			t.Error(got)
		}
		if got := s.text(t, "verify", "audience"); got != "ok: 1 slot of 1 topic, no rule broken\n" {
			t.Error(got)
		}
		wantJSON(t, s.objects(t, "verify")[0], `{"ok":true,"slots":5,"topics":2,"violations":[]}`)

		must.Do(t, s.rdb.HSet(ctx, "why{orders_3}", "hopeless", "17 2 1 - w reason", binary, "no entry").Err())
		r := s.answered("", "verify", "orders")
		for _, words := range []string{"orders slot 3: ", "  rule     an entry of why can be read\n", "key      why{orders_3}", "content  " + words.Legible(binary)} {
			if !strings.Contains(r.out, words) {
				t.Errorf("%q is not in %s", words, r.out)
			}
		}
		if r.code != 1 || !strings.HasPrefix(r.errs, "rmq: 2 findings, 2 rules (FLAG, WHY); ") || strings.Count(r.out, "  rule  ") != 2 || strings.Count(r.errs, "\n") != 1 {
			t.Errorf("%+v", r)
		}
		must.Do(t, s.rdb.HSet(ctx, "why{orders_3}", "nowhere", "no entry").Err()) // the sentence of a rule is printed once
		r = s.answered("", "verify", "orders")
		if !strings.Contains(r.errs, "findings, 3 rules (FLAG, ORPHAN, WHY)") || strings.Count(r.out, "  rule  ") != 3 || strings.Count(r.out, ": WHY\n") != 2 {
			t.Errorf("%+v", r)
		}
		r = s.answered("", "verify", "--json")
		if r.code != 1 || !strings.HasPrefix(r.out, `{"ok":false,"topics":2,"slots":5,"violations":[{"topic":"orders","slot":3,"rule":`) || strings.Count(r.out, "\n") != 1 {
			t.Errorf("%+v", r)
		}
	})
}

// What was found before a signal is printed, in JSON, too.
func TestInterruptedVerify(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	rdb := server.Client(t)
	define(t, rdb, "orders")
	must.Do(t, rdb.HSet(ctx, "why{orders_0}", "nowhere", "17 2 1 - w reason").Err())
	for _, flags := range [][]string{{"--json"}, nil} {
		ctx, cancel := context.WithCancel(ctx)
		proxy.OnRequest(func(b []byte) bool {
			if strings.Contains(string(b), "{orders_2}") {
				cancel()
			}
			return true
		})
		var out, errs strings.Builder
		code := program.Run(ctx, append([]string{"--redis", "redis://" + proxy.Addr(), "verify"}, flags...), strings.NewReader(""), &out, &errs)
		cancel()
		words := []string{"why{orders_0}"}
		if flags != nil {
			words = append(words, `{"ok":false,"topics":1,"slots":`, `"violations":[{"topic":"orders","slot":0,`, `"error":"interrupted: verify: `)
		}
		for _, w := range words {
			if !strings.Contains(out.String(), w) {
				t.Errorf("%q is not in %s", w, out.String())
			}
		}
		if code != 130 || !strings.HasPrefix(errs.String(), "rmq: interrupted: verify: ") || strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("%d, %q", code, errs.String())
		}
	}
}
