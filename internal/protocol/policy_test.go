package protocol_test

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
)

func TestPolicy(t *testing.T) { onEachServer(t, policyTrials) }

var policyTrials = []trial{
	{name: "policy: holds for its time", run: func(w *world) {
		w.clean(rangeMerge)
		w.policyIs(protocol.Policy{})
		w.limits(protocol.Policy{Rate: 0.1, Concurrency: 4, Left: time.Hour}, false)
		w.policyIs(protocol.Policy{Rate: 0.1, Concurrency: 4, Left: time.Hour})
		w.later(3_599_999)
		w.policyIs(protocol.Policy{Rate: 0.1, Concurrency: 4, Left: time.Millisecond})
		w.later(1)
		w.policyIs(protocol.Policy{})
		w.limits(protocol.Policy{}, false) // it was over
	}},
	{name: "policy: the last one replaces the others", run: func(w *world) {
		w.clean(rangeMerge)
		w.limits(protocol.Policy{Rate: 50, Concurrency: 4, Left: time.Hour}, false)
		w.limits(protocol.Policy{Concurrency: 2, Left: time.Minute}, true)
		w.policyIs(protocol.Policy{Concurrency: 2, Left: time.Minute})
		ms, _ := w.do("pttl", protocol.PolicyKey("ns:orders")).(int64)
		w.must(ms > 0 && ms <= 60_000, "its key goes in %d ms", ms)
		w.limits(protocol.Policy{}, true)
		w.policyIs(protocol.Policy{})
		n, _ := w.do("exists", protocol.PolicyKey("ns:orders")).(int64)
		w.must(n == 0, "the key is still there")
	}},
	{name: "policy: each has a term of its own", run: func(w *world) {
		w.clean(rangeMerge)
		term := func() string {
			p, err := w.policy()
			w.must(err == nil && p.Term != "", "%+v, %v", p, err)
			return p.Term
		}
		w.limits(protocol.Policy{Rate: 5, Left: time.Hour}, false)
		first := term()
		w.later(-1000) // the clock is set back
		w.must(term() == first, "another term %q, was %q", term(), first)
		w.limits(protocol.Policy{Rate: 5, Left: time.Hour + time.Second}, true) // until the same moment
		second := term()
		w.must(second != first, "the same term %q", second)
		w.limits(protocol.Policy{Rate: 5, Left: time.Hour}, true) // set in the same one
		w.must(term() != second, "the same term %q", second)
	}},
	{name: "policy: what cannot be a limit is none", run: func(w *world) {
		w.clean(rangeMerge)
		for _, fields := range [][]any{
			{"rate", "fast", "concurrency", "-1"}, {"rate", "NaN", "concurrency", "0"}, {"rate", "inf"}, {"rate", "0"}, {"rate", "-5"}, {"concurrency", "2.5"}, {"other", 1},
		} {
			w.do("del", protocol.PolicyKey("ns:orders"))
			w.do(append([]any{"hset", protocol.PolicyKey("ns:orders"), "until", w.now + 1000}, fields...)...)
			w.policyIs(protocol.Policy{})
		}
		w.do("hset", protocol.PolicyKey("ns:orders"), "concurrency", 3)
		w.policyIs(protocol.Policy{Concurrency: 3, Left: time.Second})
		w.do("hset", protocol.PolicyKey("ns:orders"), "until", "for ever")
		w.policyIs(protocol.Policy{})
	}},
	{name: "wrong type: policy", run: func(w *world) {
		w.clean(rangeMerge)
		w.breakKey(protocol.PolicyKey("ns:orders"))
		_, err := w.policy()
		w.must(err != nil, "read: no error")
		_, err = byhand.Limit(ctx, w.s.rdb, "ns:orders", protocol.Policy{Rate: 1, Left: time.Hour})
		w.must(err != nil, "limit: no error")
	}},
	{name: "full: limit", live: true, run: func(w *world) {
		w.clean(rangeMerge)
		w.limits(protocol.Policy{Rate: 50, Left: time.Hour}, false)
		w.full(true)
		b := caught(func() {
			w.limits(protocol.Policy{Rate: 5, Left: time.Minute}, true)
			w.policyIs(protocol.Policy{Rate: 5, Left: time.Minute})
			w.limits(protocol.Policy{}, true)
		})
		w.full(false)
		w.must(b == nil, "%+v", b)
	}},
}

func (w *world) policy() (protocol.Policy, error) {
	cmd := w.s.PolicyCmd(ctx, "ns:orders")
	w.s.Exec(ctx, cmd)
	return protocol.PolicyAnswer("ns:orders", cmd)
}

func (w *world) policyIs(want protocol.Policy) {
	w.Helper()
	got, err := w.policy()
	got.Term = ""
	w.must(err == nil && got == want, "policy %+v, want %+v, %v", got, want, err)
}

func (w *world) limits(p protocol.Policy, want bool) {
	w.Helper()
	before, err := byhand.Limit(ctx, w.s.rdb, "ns:orders", p)
	w.must(err == nil && before == want, "a limit held before: %v, want %v, %v", before, want, err)
}

var policyDamages = []damage{
	{"it ends", "policy: holds for its time", `if not (left > 0)`, `if false`},
	{"not before its time", "policy: holds for its time", `if not (left > 0)`, `if not (left > 1)`},
	{"not after it", "policy: holds for its time", `if not (left > 0)`, `if not (left >= 0)`},
	{"one that was set at another time is another", "policy: each has a term of its own", `table.concat({held[4] or '', held[3]}, ' ')`, `held[3]`},
	{"one that ends at another time is another", "policy: each has a term of its own", `table.concat({held[4] or '', held[3]}, ' ')`, `held[4]`},
}

var limitDamages = []damage{
	{"it ends", "policy: holds for its time", `now + ms`, `now + 2 * ms`},
	{"one that is over held no more", "policy: holds for its time", `before > now and`, `before > 0 and`},
	{"its key goes", "policy: the last one replaces the others", `call('PEXPIRE', policy, ms)`, ``},
	{"the end takes all away", "policy: the last one replaces the others", `'until', 'since')`, `'until')`},
	{"passes above maxmemory", "full: limit", `call('HDEL', policy, 'rate'`, "call('HSET', policy, 'rate', '')\ncall('HDEL', policy, 'rate'"},
}

// Workers that do not know the wake-up take nothing of it for a slot.
func TestOlderWorkersIgnoreThatAPolicyChanged(t *testing.T) {
	t.Parallel()
	protocol.ParseWake(protocol.PolicyChanged, func(slot int, in time.Duration) { t.Errorf("slot %d is woken, in %v", slot, in) })
	if slot, _, ok := protocol.ParseQuestion(protocol.PolicyChanged); ok {
		t.Errorf("slot %d is asked about", slot)
	}
	if slot, ok := protocol.ParseCancel(protocol.PolicyChanged); ok {
		t.Errorf("slot %d is to look", slot)
	}
}
