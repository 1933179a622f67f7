package model

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/night"
)

// rules are the protocol's, each with what happens without it. A rule that cannot be missed in one
// way of sharing says why, and what else would notice its loss.
var rules = []struct {
	name   string
	off    func(*Rules)
	proofs []proof
	silent []silence
}{
	{
		name: "FinishByNumber", off: func(r *Rules) { r.FinishByNumber = false },
		proofs: []proof{byWalks(redisOnly, "LOST"), byWalks(zooKeeper, "LOST")},
	},
	{
		name: "TellAgain", off: func(r *Rules) { r.TellAgain = false },
		proofs: []proof{byWalks(zooKeeper, "STRANDED")},
		silent: []silence{{redisOnly, "the batch comes free with its lease", "protocol: TestDamage"}},
	},
	{
		name: "TellAgainRenews", off: func(r *Rules) { r.TellAgainRenews = false },
		proofs: []proof{bySearch(redisOnly, "SERIAL CONCURRENT", func(o *Options) {
			o.Leases = [maxWorkers]int8{2, 2}
			o.Max.Faults = 0
		}, toldAgain)},
		silent: []silence{{zooKeeper, "there are no leases", ""}},
	},
	{
		name: "IdleTellsAgain", off: func(r *Rules) { r.IdleTellsAgain = false },
		proofs: []proof{byForgetting(redisOnly, "LOST"), byForgetting(zooKeeper, "LOST")},
	},
	{
		name: "NumberOutgrows", off: func(r *Rules) { r.NumberOutgrows = false },
		proofs: []proof{byForgetting(redisOnly, "LOST"), byForgetting(zooKeeper, "LOST")},
	},
	{
		name: "AskHolder", off: func(r *Rules) { r.AskHolder = false },
		proofs: []proof{byForgetting(redisOnly, "SPENT"), byForgetting(zooKeeper, "STRANDED")},
	},
	{
		name: "TakeWhenEmpty", off: func(r *Rules) { r.TakeWhenEmpty = false },
		proofs: []proof{
			byWalks(redisOnly, "LOST"), byWalks(redisOnly, "SERIAL"),
			byWalks(zooKeeper, "LOST"), byWalks(zooKeeper, "STRANDED"),
		},
	},
	{
		name: "TakeByNumber", off: func(r *Rules) { r.TakeByNumber = false },
		proofs: []proof{
			byWalks(redisOnly, "UNTOLD"),
			byWalks(zooKeeper, "UNTOLD"), byWalks(zooKeeper, "STRANDED"),
		},
	},
	{
		name: "TakeoverNumber", off: func(r *Rules) { r.TakeoverNumber = false },
		proofs: []proof{byWalks(redisOnly, "UNTOLD"), byWalks(zooKeeper, "UNTOLD")},
	},
	{
		name: "LeaveNumber", off: func(r *Rules) { r.LeaveNumber = false },
		proofs: []proof{byWalks(zooKeeper, "STRANDED")},
		silent: []silence{{
			redisOnly, "a batch taken by a late turn comes free with its lease",
			"protocol: TestDamage",
		}},
	},
	{
		name: "BusyHidesNumber", off: func(r *Rules) { r.BusyHidesNumber = false },
		proofs: []proof{bySearch(zooKeeper, "STRANDED", func(o *Options) {
			o.HandBack, o.Max.Sends, o.Max.Ticks = false, 1, 2
			if o.Kind == Priority {
				o.Max.Ticks = 1 // what was sent need not become due
			}
		}, handlingOldAssignment)},
		silent: []silence{{redisOnly, "a batch taken by a late turn comes free with its lease", ""}},
	},
	{
		name: "HolderLease", off: func(r *Rules) { r.HolderLease = false },
		proofs: []proof{bySearch(redisOnly, "SERIAL CONCURRENT", func(o *Options) {
			o.Max.Faults = 0
		}, handling)},
		silent: []silence{{zooKeeper, "there are no leases", ""}},
	},
	{
		name: "FreshCopyWins", off: func(r *Rules) { r.FreshCopyWins = false },
		proofs: []proof{
			byWalks([]cell{{RangeMerge, false}, {RangeMerge, true}}, "DEAD-EARLY"),
			byWalks([]cell{{Priority, false}, {Priority, true}}, "PRIORITY-LOST"),
			byWalks([]cell{{FixedTime, false}, {FixedTime, true}}, "EARLY"),
		},
	},
	{
		name: "DueRetryMerges", off: func(r *Rules) { r.DueRetryMerges = false },
		proofs: []proof{
			byWalks([]cell{{RangeMerge, false}, {RangeMerge, true}}, "DEAD-EARLY"),
			byWalks([]cell{{Priority, false}, {Priority, true}}, "PRIORITY-LOST"),
			byWalks([]cell{{FixedTime, false}, {FixedTime, true}}, "EARLY"),
		},
	},
	{
		name: "TakeSupersedesRetry", off: func(r *Rules) { r.TakeSupersedesRetry = false },
		proofs: []proof{bySearch(slices.Concat(redisOnly, zooKeeper), "OVERRUN", func(o *Options) {
			o.Max.Faults, o.NoDelay, o.Delay = 0, true, 3
		}, retryAndFreshCopy)},
	},
	{
		name: "RetryAlone", off: func(r *Rules) { r.RetryAlone = false },
		proofs: []proof{byWalks(redisOnly, "DEAD-EARLY"), byWalks(zooKeeper, "DEAD-EARLY")},
	},
	{
		name: "HandBackKeepsAttempt", off: func(r *Rules) { r.HandBackKeepsAttempt = false },
		proofs: []proof{byWalks(redisOnly, "DEAD-EARLY"), byWalks(zooKeeper, "DEAD-EARLY")},
	},
	{
		name: "HandBackKeepsTime", off: func(r *Rules) { r.HandBackKeepsTime = false },
		proofs: []proof{byWalks([]cell{{RangeMerge, false}, {RangeMerge, true}}, "LATE")},
		silent: []silence{{
			[]cell{{Priority, false}, {Priority, true}, {FixedTime, false}, {FixedTime, true}},
			"the last send decides", "",
		}},
	},
	{
		name: "SnoozeKeepsAttempt", off: func(r *Rules) { r.SnoozeKeepsAttempt = false },
		proofs: []proof{byWalks(redisOnly, "DEAD-EARLY"), byWalks(zooKeeper, "DEAD-EARLY")},
	},
	{
		name: "SnoozeWaits", off: func(r *Rules) { r.SnoozeWaits = false },
		proofs: []proof{byWalks(redisOnly, "SOON"), byWalks(zooKeeper, "SOON")},
	},
	{
		name: "SnoozeKeepsPriority", off: func(r *Rules) { r.SnoozeKeepsPriority = false },
		proofs: []proof{byWalks([]cell{{Priority, false}, {Priority, true}}, "PRIORITY-LOST")},
		silent: []silence{{
			[]cell{{RangeMerge, false}, {RangeMerge, true}, {FixedTime, false}, {FixedTime, true}},
			"there are no priorities", "",
		}},
	},
	{
		name: "CheckBeforeHandler", off: func(r *Rules) { r.CheckBeforeHandler = false },
		proofs: []proof{
			byWalks(redisOnly, "SERIAL"), byWalks(redisOnly, "CONCURRENT"),
			byWalks(zooKeeper, "SERIAL CONCURRENT").from(4), // which comes to it ten times sooner
		},
	},
	{
		name: "SessionLives", off: func(r *Rules) { r.SessionLives = false },
		proofs: []proof{byWalks(zooKeeper, "SERIAL CONCURRENT")},
		silent: []silence{{redisOnly, "there are no sessions", ""}},
	},
	{
		name: "RepeatTurn", off: func(r *Rules) { r.RepeatTurn = false },
		proofs: []proof{byWalks(redisOnly, "LOST"), byWalks(zooKeeper, "LOST")},
	},
	{
		name: "QuorumWrite", off: func(r *Rules) { r.QuorumWrite = false },
		proofs: []proof{bySearch(zooKeeper, "SERIAL CONCURRENT", func(o *Options) {
			o.Max.Faults, o.HandBack = 0, false
		}, oldMemberList)},
		silent: []silence{{redisOnly, "nobody is proven dead there", ""}},
	},
	{
		name: "SettleBelow", off: func(r *Rules) { r.SettleBelow = false },
		proofs: []proof{
			byWalks(redisOnly, "JOURNAL-LOST").in(readWithSend), byWalks(redisOnly, "JOURNAL-LOST").in(readBehind),
			byWalks(zooKeeper, "JOURNAL-LOST").in(readWithSend), byWalks(zooKeeper, "JOURNAL-LOST").in(readBehind),
		},
	},
	{
		name: "SendRestartsBudget", off: func(r *Rules) { r.SendRestartsBudget = false },
		proofs: []proof{byWalks([]cell{{RangeMerge, false}, {RangeMerge, true}}, "DEAD-EARLY")},
		silent: []silence{{
			[]cell{{Priority, false}, {Priority, true}, {FixedTime, false}, {FixedTime, true}},
			"the last send overwrites whatever waits", "",
		}},
	},
}

var (
	redisOnly = cells()[:3]
	zooKeeper = cells()[3:]
)

// proof is where and how the loss of a rule must show. Every cell must find one of the violations.
type proof struct {
	cells []cell
	finds []string
	// Walks in which Redis forgets, or a search from start; else random walks. With changes their world.
	forgets bool
	search  bool
	with    func(*Options)
	seed    uint64 // of the walks, if another one finds it sooner
	start   func(*world)
}

func byWalks(in []cell, finds string) proof {
	return proof{cells: in, finds: strings.Fields(finds)}
}

func byForgetting(in []cell, finds string) proof {
	return proof{cells: in, finds: strings.Fields(finds), forgets: true}
}

func bySearch(in []cell, finds string, with func(*Options), start func(*world)) proof {
	return proof{cells: in, finds: strings.Fields(finds), search: true, with: with, start: start}
}

// in has the search, or the walks, in a world changed by with.
func (p proof) in(with func(*Options)) proof {
	p.with = with
	return p
}

// from has walks of another seed.
func (p proof) from(seed uint64) proof {
	p.seed = seed
	return p
}

// silence is where the loss of a rule does no harm that the model can see.
type silence struct {
	cells   []cell
	because string
	noticed string // by which other test; "" if the rule is not needed there
}

// toldAgain: w0 has taken A, did not hear of it, and is told it again when its lease is almost over.
func toldAgain(w *world) {
	w.do(step{Op: send, Value: 1}, step{Op: tick}, step{Op: turn, Value: maxContents}, step{Op: arrive})
	w.Faults = 1
	w.do(step{Op: tick}, step{Op: tick}, step{Op: loseReply}, step{Op: arrive})
}

// handling: w0 handles A.
func handling(w *world) {
	w.do(step{Op: send, Value: 1}, step{Op: tick})
	w.do(asks...)
	w.do(step{Op: begin})
}

// handlingOldAssignment: w0 handles A, and w1 believes that the slot is its own.
func handlingOldAssignment(w *world) {
	handling(w)
	oldAssignment(w)
}

// asks is a whole turn of w0.
var asks = []step{{Op: turn, Value: maxContents}, {Op: arrive}, {Op: hear}}

// retryAndFreshCopy: a retry of A waits for its time, and A was sent again.
func retryAndFreshCopy(w *world) {
	handling(w)
	w.do(step{Op: fail, Value: int8(failed)})
	w.do(asks...)
	w.do(step{Op: send, Value: 1})
}

// do takes steps that cost the search nothing of its bounds.
func (w *world) do(steps ...step) {
	for _, s := range steps {
		if !slices.Contains(w.steps(nil), s) {
			panic("not possible: " + w.words(s, &w.state))
		}
		w.exec(s)
	}
	w.Sends, w.Faults = w.Max.Sends, w.Max.Faults
}

// TestEveryRuleIsNeeded switches off one rule at a time and demands to see it missed. The seeds are
// fixed, so that it always takes the same walks.
func TestEveryRuleIsNeeded(t *testing.T) {
	t.Parallel()
	const seed, mostWalks, mostStates = 20, 200_000, 3_000_000 // if a proof has no other seed
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			t.Parallel()
			for _, p := range rule.proofs {
				for _, c := range p.cells {
					if p.search {
						mustSearch(t, p, c, rule.off, mostStates)
					} else {
						mustWalk(t, p, c, rule.off, cmp.Or(p.seed, seed), mostWalks)
					}
				}
			}
			for _, s := range rule.silent {
				for _, c := range s.cells {
					mustBeSilent(t, s, c, rule.off, seed)
				}
			}
		})
	}
}

func mustWalk(t *testing.T, p proof, c cell, off func(*Rules), seed uint64, most int) {
	t.Helper()
	o, walk := WideOptions(c.kind, c.zooKeeper), Walk
	if p.forgets {
		o, walk = ForgettingOptions(c.kind, c.zooKeeper), WalkForgetting
	}
	if p.with != nil {
		p.with(&o)
	}
	off(&o.Rules)
	for n := range uint64(most) {
		if _, trace := walk(o, seed, n); trace != nil && slices.Contains(p.finds, trace.Name()) {
			t.Logf("%-22v %s in walk %d", &o, trace.Name(), n)
			return
		}
	}
	t.Errorf("%v: %v not found in %d walks", &o, p.finds, most)
}

func mustSearch(t *testing.T, p proof, c cell, off func(*Rules), most int) {
	t.Helper()
	o := searchOptions(c)
	if p.with != nil {
		p.with(&o)
	}
	off(&o.Rules)
	found := Search(o, most, p.start)
	if found.Trace == nil || !slices.Contains(p.finds, found.Trace.Name()) {
		t.Errorf("%v: %v not found in %d states, but %v", &o, p.finds, found.States, found.Trace)
		return
	}
	t.Logf("%-22v %s in %d steps, after %d states", &o, found.Trace.Name(), found.Depth, found.States)
}

// mustBeSilent keeps the table true: what the model can notice after all belongs to the proofs.
func mustBeSilent(t *testing.T, s silence, c cell, off func(*Rules), seed uint64) {
	t.Helper()
	o := WideOptions(c.kind, c.zooKeeper)
	off(&o.Rules)
	for n := range uint64(night.Times(1_000, 3_000)) {
		if _, trace := Walk(o, seed, n); trace != nil {
			t.Errorf("%v: the table says it is silent, but %v", &o, trace)
			return
		}
	}
	elsewhere := ""
	if s.noticed != "" {
		elsewhere = "; noticed by " + s.noticed
	}
	t.Logf("%-22v silent: %s%s", &o, s.because, elsewhere)
}

// TestTableNamesEveryRule switches off everything the table knows: no rule may be left on.
func TestTableNamesEveryRule(t *testing.T) {
	t.Parallel()
	left := AllRules()
	for _, rule := range rules {
		before := left
		if rule.off(&left); left == before {
			t.Errorf("%s switches off nothing", rule.name)
		}
		for _, c := range cells() {
			known := false
			for _, p := range rule.proofs {
				known = known || slices.Contains(p.cells, c)
			}
			for _, s := range rule.silent {
				known = known || slices.Contains(s.cells, c)
			}
			if !known {
				t.Errorf("%s says nothing about %v", rule.name, c)
			}
		}
	}
	if left != (Rules{}) {
		t.Errorf("not in the table: %+v", left)
	}
}
