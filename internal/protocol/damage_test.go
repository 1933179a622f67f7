package protocol_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// Every rule of the scripts is broken, one at a time, and a test has to notice.
// So each rule is there for a reason, and is guarded. The tables of damages name
// who notices: the random driver, or one of the directed trials.

// damage breaks one rule of a script.
type damage struct {
	rule     string // that is broken
	noticed  string // by driver, or by this trial
	from, to string // text of the script, there exactly once, and what replaces it
}

const driven = "driver"

// A damage the driver is named for must be found within so many runs. Most need
// one or two, and none much more than a hundred on average: of what is rarer, a trial
// is named, or one series in some would not find it.
const damagedRuns = 1500

var trialsOf = func() map[string]trial {
	all := map[string]trial{}
	for _, theme := range [][]trial{
		budgetTrials, leaseTrials, memoryTrials, typeTrials, verdictTrials, whyTrials, mergeTrials, extendTrials, uniqueTrials, noteTrials, planTrials, cancelTrials, deathTrials, contentTrials, orderTrials, lateTrials, defineTrials, memberTrials, policyTrials,
		lookTrials, byHandTrials, illTrials, invariantTrials, oddTrials, forgetTrials, largeTrials, putBackTrials, forgetNoteTrials, restoreTrials, purgeTrials,
	} {
		for _, trial := range theme {
			if _, taken := all[trial.name]; taken {
				panic("two trials named " + trial.name)
			}
			all[trial.name] = trial
		}
	}
	return all
}()

// damagesOf are the damages of each script.
var damagesOf = map[string][]damage{
	"turn": slices.Concat(turnDamages, whyDamages), "touch": touchDamages, "cancel": cancelDamages, "deaths": deathsDamages,
	"add": addDamages, "send": sendDamages, "plan": planDamages, "define": defineDamages, "members": membersDamages,
	"policy": policyDamages, "forget": forgetDamages, "slot": slotDamages, "find": findDamages, "audit": auditDamages,
	"page": pageDamages, "pause": pauseDamages, "limit": limitDamages, "dead": deadDamages, "restore": restoreDamages,
	"purge": purgeDamages, "reschedule": rescheduleDamages,
}

// TestDamages runs all damages of the scripts that are not in the state of which testdata/damages.sum
// says that all were noticed, and by night those of all scripts; of the others, a tenth, which are drawn.
func TestDamages(t *testing.T) {
	t.Parallel()
	seed := sharetest.Seed(t)
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	known, states := readSums(t, sumFile), statesOf(t)
	var noticed tally
	t.Run("of", func(t *testing.T) { // which ends when all that run in parallel have ended
		servers := &lanes{TB: t}
		for _, script := range slices.Sorted(maps.Keys(damagesOf)) {
			for _, d := range drawDamages(damagesOf[script], known[script] == states[script], night.Is(), random) {
				t.Run(script+": "+d.rule, func(t *testing.T) {
					t.Parallel()
					rdb := servers.take(t)
					if tried(t, rdb, script, d, uint64(seed)) {
						noticed.add(script)
					}
				})
			}
		}
	})
	settle(t, sumFile, known, states, &noticed, *transcriptUpdate)
}

// tried tells if one damage was noticed.
func tried(t *testing.T, rdb *redis.Client, script string, d damage, seed uint64) bool {
	source := sources[script]
	if n := strings.Count(source, d.from); n != 1 {
		t.Errorf("%d times in %s.lua: %s", n, script, d.from)
		return false
	}
	rdb.FlushAll(ctx)
	w := newWorld(t, rdb, 3, func(name, source string) string {
		if name != script {
			return source
		}
		return strings.Replace(source, d.from, d.to, 1)
	})
	w.judge = thrower{}
	if !notices(t, w, d.noticed, seed) {
		t.Errorf("%s did not notice", d.noticed)
		return false
	}
	return true
}

// notices tells if a test fails on the damaged scripts of a world.
func notices(t *testing.T, w *world, test string, seed uint64) bool {
	t.Helper()
	if test == driven {
		s := series{seed: seed, runs: damagedRuns, lanes: 1}
		runs, _, failure := s.start(func(int) *world { return w })
		rule, _, _ := strings.Cut(failure, "\n  0 ")
		t.Logf("run %d: %.300s", runs, rule)
		return failure != ""
	}
	trial, known := trialsOf[test]
	if !known {
		t.Fatalf("no such trial: %s; there are %q", test, slices.Sorted(maps.Keys(trialsOf)))
	}
	b := caught(func() { trial.run(w) })
	w.rdb.ConfigSet(ctx, "maxmemory", "0") // a trial that failed may have left it
	if b != nil {
		t.Logf("%.300s", b.detail)
	}
	return b != nil
}

// tally counts by name.
type tally struct {
	sync.Mutex
	of map[string]int
}

func (n *tally) add(name string) {
	n.Lock()
	defer n.Unlock()
	if n.of == nil {
		n.of = map[string]int{}
	}
	n.of[name]++
}
