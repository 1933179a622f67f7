package keeper

import (
	"cmp"
	"math"
	"slices"
)

// weighted is a worker that may get slots: twice as many with twice the weight.
type weighted struct {
	id     string
	weight float64
}

// quota is how many slots a worker should have.
type quota struct {
	weighted
	slots    int
	fraction float64 // of a slot, that is due beyond slots
	has      int     // of the slots shared out, now
}

// assign shares n slots among members and returns the owner of each. Each member gets
// as many as the weights say, give or take one. Each previous owner keeps its slots up
// to that number, so only the slots move that a worker leaves behind, or that a new one
// needs. Without members no slot has an owner.
//
// It depends on the set of members only, not on their order.
func assign(previous []string, n int, members []weighted) []string {
	owners := make([]string, n)
	copy(owners, previous)
	quotas := quotasOf(owners, members)

	room := make(map[string]int, len(quotas))
	for _, q := range quotas {
		room[q.id] = q.slots
	}
	for slot, owner := range owners {
		if room[owner] == 0 {
			owners[slot] = "" // the owner is gone, or has enough
			continue
		}
		room[owner]--
	}
	slot := 0
	for _, q := range quotas { // as ranges, which people read more easily
		for ; slot < n && room[q.id] > 0; slot++ {
			if owners[slot] == "" {
				owners[slot] = q.id
				room[q.id]--
			}
		}
	}
	return owners
}

// quotasOf returns how many of the slots each member should have, sorted by id. All
// slots are assigned. First each member gets the whole part of its share; what is left
// goes to members that would otherwise lose a slot, then to the largest fraction.
func quotasOf(owners []string, members []weighted) []*quota {
	quotas := make([]*quota, 0, len(members))
	by := make(map[string]*quota, len(members))
	largest, all := 0.0, 0.0
	for _, m := range members {
		if m.weight > 0 && !math.IsInf(m.weight, 1) && by[m.id] == nil {
			by[m.id] = &quota{weighted: m}
			quotas = append(quotas, by[m.id])
			largest = max(largest, m.weight)
		}
	}
	slices.SortFunc(quotas, func(a, b *quota) int { return cmp.Compare(a.id, b.id) })
	for _, q := range quotas {
		all += q.weight / largest // weights are read from ZooKeeper, where they may be anything; their sum may be infinite
	}
	for _, owner := range owners {
		if q := by[owner]; q != nil {
			q.has++
		}
	}
	left := len(owners)
	for _, q := range quotas {
		whole, fraction := math.Modf(float64(len(owners)) * (q.weight / largest) / all)
		q.slots, q.fraction = int(whole), fraction
		left -= q.slots
	}
	loses := func(q *quota) int { return min(max(q.has-q.slots, 0), 1) }
	byNeed := slices.Clone(quotas)
	slices.SortStableFunc(byNeed, func(a, b *quota) int {
		return cmp.Or(cmp.Compare(loses(b), loses(a)), cmp.Compare(b.fraction, a.fraction))
	})
	for i := range min(left, len(byNeed)) {
		byNeed[i].slots++
	}
	return quotas
}
