// Package sharetest holds what is promised of every way to share slots out among
// workers, as one check. There are two: by a list of members in Redis, share.Of,
// and by ZooKeeper, internal/sharing/keeper.
//
//	err := sharetest.Check(share.Of, seed)
//
// How much moves when a worker comes or goes is not in it: each way promises
// something else there.
package sharetest

import (
	"fmt"
	"math/rand"
	"slices"
)

// Share says which of n slots each member is to work at. It is called with the
// same member twice, too.
type Share func(members []string, n int) map[string][]int

// sizes are members and slots that are looked at besides the random ones.
var sizes = [][2]int{{1, 1}, {1, 16}, {3, 16}, {16, 16}, {20, 16}, {8, 256}, {7, 250}, {50, 1024}, {7, 4096}, {200, 4096}}

// Check returns the first broken promise it finds: every slot has one worker, no
// worker has more than one slot more than another, and nothing else counts than
// who the members are.
func Check(share Share, seed int64) error {
	random := rand.New(rand.NewSource(seed))
	for _, n := range []int{0, 1, 16} {
		if got := share(nil, n); len(got) != 0 {
			return fmt.Errorf("without members somebody has slots: %v", got)
		}
	}
	all := slices.Clone(sizes)
	for range 50 {
		all = append(all, [2]int{1 + random.Intn(40), random.Intn(300)})
	}
	for _, size := range all {
		members := make([]string, size[0])
		for i := range members {
			members[i] = fmt.Sprintf("worker-%d-%x", random.Intn(10), random.Int63())
		}
		if err := check(share, members, size[1], random); err != nil {
			return fmt.Errorf("%d members, %d slots: %w", size[0], size[1], err)
		}
	}
	return nil
}

func check(share Share, members []string, n int, random *rand.Rand) error {
	shares := share(slices.Clone(members), n)
	if err := CoversOnce(shares, n); err != nil {
		return err
	}
	for _, m := range members {
		if has, least := len(shares[m]), n/len(members); has < least || has > least+1 || n%len(members) == 0 && has != least {
			return fmt.Errorf("%s has %d slots", m, has)
		}
	}
	for m, slots := range shares {
		if len(slots) > 0 && !slices.Contains(members, m) {
			return fmt.Errorf("%s is no member and has %v", m, slots)
		}
		if !slices.IsSorted(slots) {
			return fmt.Errorf("the slots of %s are not sorted: %v", m, slots)
		}
	}
	shuffled := append(slices.Clone(members), members[random.Intn(len(members))])
	random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	given := slices.Clone(shuffled)
	again := share(given, n)
	if !slices.Equal(given, shuffled) {
		return fmt.Errorf("the caller's members were changed")
	}
	for _, m := range members {
		if !slices.Equal(shares[m], again[m]) {
			return fmt.Errorf("in another order, and one named twice, %s has %v instead of %v", m, again[m], shares[m])
		}
	}
	return nil
}

// CoversOnce tells a slot of n that not exactly one worker has.
func CoversOnce(shares map[string][]int, n int) error {
	owner := make([]string, n)
	given := 0
	for m, slots := range shares {
		for _, slot := range slots {
			switch {
			case slot < 0 || slot >= n:
				return fmt.Errorf("%s has slot %d", m, slot)
			case owner[slot] != "":
				return fmt.Errorf("slot %d has %s and %s", slot, owner[slot], m)
			}
			owner[slot] = m
			given++
		}
	}
	if given < n {
		return fmt.Errorf("slot %d has nobody", slices.Index(owner, ""))
	}
	return nil
}
