// Package share shares the slots of a topic out among workers that know each other's names.
// Every worker computes the same shares, so none has to assign them.
package share

import (
	"cmp"
	"hash/fnv"
	"slices"
)

// Of shares n slots out among members and returns each member's slots. It
// depends on the set of members only, gives each of them the same number of
// slots, give or take one, and moves little when one comes or goes: every slot
// goes to the member it likes best of those that still have room.
func Of(members []string, n int) map[string][]int {
	members = slices.Compact(slices.Sorted(slices.Values(members)))
	shares := make(map[string][]int, len(members))
	if len(members) == 0 {
		return shares
	}
	type candidate struct {
		name string
		seed uint64
		room int
	}
	candidates := make([]candidate, len(members))
	for i, m := range members {
		h := fnv.New64a()
		h.Write([]byte(m))
		candidates[i] = candidate{name: m, seed: mix(h.Sum64()), room: n / len(members)}
	}
	// Who has room for one more than the others is as arbitrary, and as stable,
	// as all else.
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(a.seed, b.seed) })
	for i := range n % len(members) {
		candidates[i].room++
	}
	for slot := range n {
		var best *candidate
		liking := uint64(0)
		for i := range candidates {
			c := &candidates[i]
			if l := mix(c.seed + uint64(slot)*0x9e3779b97f4a7c15); c.room > 0 && (best == nil || l > liking) {
				best, liking = c, l
			}
		}
		best.room--
		shares[best.name] = append(shares[best.name], slot)
	}
	return shares
}

// mix spreads every bit of x over all of the result.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
