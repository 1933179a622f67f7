package keeper

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// crew are n workers of the same weight.
func crew(n int) []weighted {
	members := make([]weighted, n)
	for i := range members {
		members[i] = weighted{fmt.Sprintf("w%03d", i), 1}
	}
	return members
}

// moved is how many slots have another owner.
func moved(before, after []string) (n int) {
	for slot := range after {
		if slot >= len(before) || before[slot] != after[slot] {
			n++
		}
	}
	return n
}

func counts(owners []string) map[string]int {
	has := map[string]int{}
	for _, owner := range owners {
		has[owner]++
	}
	return has
}

// ceil is the most slots a worker has when n are shared evenly.
func ceil(n, workers int) int { return (n + workers - 1) / workers }

// The same is checked of the other way, without ZooKeeper, in slots. Here it holds
// whatever the assignment was before.
func TestAssignKeepsWhatIsPromised(t *testing.T) {
	t.Parallel()
	seed := sharetest.Seed(t)
	random := rand.New(rand.NewSource(seed))
	long := make([]string, 5000)
	for slot := range long {
		long[slot] = []string{"", "gone", "gone too", "w000"}[random.Intn(4)]
	}
	for name, previous := range map[string]func(members []string) []string{
		"none":    func([]string) []string { return nil },
		"another": func([]string) []string { return long },
		"short":   func([]string) []string { return long[:5] },
		"one has all": func(members []string) []string {
			if len(members) == 0 {
				return long
			}
			return slices.Repeat([]string{slices.Max(members)}, 5000)
		},
		"some have some": func(members []string) []string {
			sorted := append(slices.Compact(slices.Sorted(slices.Values(members))), "", "gone")
			owners := make([]string, 300)
			for slot := range owners {
				owners[slot] = sorted[slot*slot%len(sorted)]
			}
			return owners
		},
	} {
		err := sharetest.Check(func(members []string, n int) map[string][]int {
			var who []weighted
			for _, m := range members {
				who = append(who, weighted{m, 1})
			}
			a := assignment{owners: assign(previous(members), n, who)}
			shares := map[string][]int{}
			for _, id := range a.workers() {
				shares[id] = a.of(id)
			}
			return shares
		}, seed)
		if err != nil {
			t.Errorf("previous assignment: %s: %v", name, err)
		}
	}
}

func TestAssignByHand(t *testing.T) {
	t.Parallel()
	a, b, c := weighted{"a", 1}, weighted{"b", 1}, weighted{"c", 1}
	heavy := weighted{"h", 2}
	for name, test := range map[string]struct {
		previous string // an owner each
		members  []weighted
		want     string
	}{
		"at first":                   {"--------", []weighted{b, a}, "aaaabbbb"},
		"nothing changed":            {"abababab", []weighted{a, b}, "abababab"},
		"one leaves":                 {"aabbccaa", []weighted{a, c}, "aaccccaa"},
		"one comes":                  {"aaaabbbb", []weighted{a, b, c}, "aaacbbbc"},
		"one comes, one leaves":      {"aaaabbbb", []weighted{a, c}, "aaaacccc"},
		"nobody":                     {"aabb", nil, "----"},
		"all new":                    {"xxyy", []weighted{a, b}, "aabb"},
		"too many have too much":     {"aaaaaabc", []weighted{a, b, c}, "aaabbcbc"},
		"who has more keeps it":      {"cccbbbaa", []weighted{a, b, c}, "cccbbbaa"},
		"more workers than slots":    {"bc", []weighted{a, b, c}, "bc"},
		"twice the weight":           {"------", []weighted{a, heavy}, "aahhhh"},
		"the larger fraction":        {"-------", []weighted{a, {"h", 5}}, "ahhhhhh"},
		"a heavy one comes":          {"aaabbb--", []weighted{a, b, heavy}, "aahbbhhh"},
		"a slot too many is no move": {"aaahhh", []weighted{a, {"h", 1.5}}, "aaahhh"},
	} {
		var previous []string
		for _, owner := range test.previous {
			previous = append(previous, map[bool]string{true: "", false: string(owner)}[owner == '-'])
		}
		got := ""
		for _, owner := range assign(previous, len(previous), test.members) {
			got += map[bool]string{true: "-", false: owner}[owner == ""]
		}
		if got != test.want {
			t.Errorf("%s: %s becomes %s, want %s", name, test.previous, got, test.want)
		}
	}
}

// A fleet changes at random for a long time. Each leave moves what the leaver had,
// each join what the newcomer gets, and no more.
func TestAssignMovesTheLeast(t *testing.T) {
	t.Parallel()
	seed := sharetest.Seed(t)
	random := rand.New(rand.NewSource(seed))
	for _, n := range []int{1, 16, 250, 256, 1024, 4096} {
		members := crew(1 + random.Intn(50))
		born := len(members)
		owners := assign(nil, n, members)
		for step := range night.Times(40, 200) {
			before := slices.Clone(owners)
			where := fmt.Sprintf("%d slots, step %d, %d workers", n, step, len(members))
			if len(members) > 1 && random.Intn(2) == 0 {
				at := random.Intn(len(members))
				leaver := members[at].id
				members = slices.Delete(members, at, at+1)
				owners = assign(owners, n, members)
				for slot, owner := range before {
					if owner != leaver && owners[slot] != owner {
						t.Fatalf("%s: %s left, and slot %d went from %s to %s", where, leaver, slot, owner, owners[slot])
					}
				}
				if m := moved(before, owners); m != counts(before)[leaver] || m > ceil(n, len(members)+1) {
					t.Fatalf("%s: %s left, and %d slots moved", where, leaver, m)
				}
			} else {
				born++
				newcomer := weighted{fmt.Sprintf("w%03d", (born*7919)%1000*1000+born), 1}
				members = append(members, newcomer)
				random.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
				owners = assign(owners, n, members)
				if m := moved(before, owners); m != counts(owners)[newcomer.id] || m > n/len(members) {
					t.Fatalf("%s: one came, got %d, and %d slots moved", where, counts(owners)[newcomer.id], m)
				}
			}
			shares := counts(owners)
			for _, m := range members {
				if has := shares[m.id]; has < n/len(members) || has > ceil(n, len(members)) {
					t.Fatalf("%s: %s has %d", where, m.id, has)
				}
			}
		}
	}
}

// Several come and go at once. At most so many slots move as those who left had
// and those who came get.
func TestAssignOfManyChangesAtOnce(t *testing.T) {
	t.Parallel()
	seed := sharetest.Seed(t)
	random := rand.New(rand.NewSource(seed))
	for range night.Times(100, 300) {
		n, all := random.Intn(600), crew(2+random.Intn(60))
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		stay := 1 + random.Intn(len(all)-1)
		left := stay + random.Intn(len(all)-stay)
		members := append(slices.Clone(all[:stay]), all[left:]...)
		before := assign(nil, n, all[:left])
		after := assign(before, n, members)
		most, has := 0, counts(before)
		for _, m := range all[stay:left] {
			most += has[m.id]
		}
		for _, m := range all[left:] {
			most += counts(after)[m.id]
		}
		if m := moved(before, after); m > most {
			t.Fatalf("%d slots, %d stay, %d leave, %d come: %d slots moved, %d had to", n, stay, left-stay, len(all)-left, m, most)
		}
	}
}

func TestAssignByWeight(t *testing.T) {
	t.Parallel()
	seed := sharetest.Seed(t)
	random := rand.New(rand.NewSource(seed))
	for range night.Times(50, 300) {
		n, members := random.Intn(2000), crew(1+random.Intn(40))
		all := 0.0
		for i := range members {
			members[i].weight = []float64{0.1, 0.5, 1, 1, 1, 2, 3, 7, random.ExpFloat64() + 1e-9}[random.Intn(9)]
			all += members[i].weight
		}
		owners := assign(nil, n, members)
		for range 20 { // those that work change all the time
			at := random.Intn(len(members))
			rest := slices.Delete(slices.Clone(members), at, at+1)
			owners = assign(assign(owners, n, rest), n, members)
		}
		has := counts(owners)
		if has[""] > 0 {
			t.Fatalf("%d slots have nobody", has[""])
		}
		for _, m := range members {
			if due := float64(n) * m.weight / all; math.Abs(float64(has[m.id])-due) >= 1+1e-6 {
				t.Errorf("%s of weight %v in %v has %d of %d slots, %f are due", m.id, m.weight, all, has[m.id], n, due)
			}
		}
		if again := assign(owners, n, members); !slices.Equal(owners, again) {
			t.Errorf("it does not come to rest: %v, %v", owners, again)
		}
	}
}

// What a damaged node might say. Zero is a worker that wants nothing.
func TestAssignByImpossibleWeights(t *testing.T) {
	t.Parallel()
	huge, tiny := math.MaxFloat64, math.SmallestNonzeroFloat64
	got := counts(assign(nil, 100, []weighted{{"a", huge}, {"b", huge}, {"c", tiny}, {"d", 0}, {"e", -1}, {"f", math.NaN()}, {"g", math.Inf(1)}}))
	if len(got) != 2 || got["a"] != 50 || got["b"] != 50 {
		t.Errorf("%v", got)
	}
	if got := counts(assign(nil, 100, []weighted{{"c", tiny}, {"b", tiny}})); got["b"] != 50 || got["c"] != 50 {
		t.Errorf("%v", got)
	}
	if got := counts(assign(nil, 100, []weighted{{"d", 0}})); got[""] != 100 {
		t.Errorf("%v", got)
	}
}

// One of two hundred leaves, and comes back.
func BenchmarkAssign4096x200(b *testing.B) {
	members := crew(200)
	owners := assign(nil, 4096, members)
	for i := 0; b.Loop(); i++ {
		owners = assign(owners, 4096, append(members[:i%200:i%200], members[i%200+1:]...))
		owners = assign(owners, 4096, members)
	}
}

// The bound is a thousand times what it takes: it is there to notice a square.
func TestAssignOfALargeFleetIsQuick(t *testing.T) {
	t.Parallel()
	members := crew(2000)
	owners := assign(nil, 65536, members)
	began := time.Now()
	after := assign(owners, 65536, members[1:])
	night.AtMost(t, "65,536 slots and 2,000 workers", time.Since(began), 10*time.Second)
	if m := moved(owners, after); m > ceil(65536, 2000) {
		t.Errorf("%d slots moved", m)
	}
}
