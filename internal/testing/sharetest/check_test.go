package sharetest

import (
	"slices"
	"strings"
	"testing"
)

// deal gives the slots out in turn to the sorted members: little more than right.
func deal(members []string, n int) map[string][]int {
	members = slices.Compact(slices.Sorted(slices.Values(members)))
	shares := map[string][]int{}
	for slot := 0; slot < n && len(members) > 0; slot++ {
		m := members[slot%len(members)]
		shares[m] = append(shares[m], slot)
	}
	return shares
}

func TestWhatIsPromisedIsChecked(t *testing.T) {
	t.Parallel()
	seed := Seed(t)
	if err := Check(deal, seed); err != nil {
		t.Error(err)
	}
	calls := 0
	for what, wrong := range map[string]Share{
		"has nobody": func(members []string, n int) map[string][]int { return deal(members, n-1) },
		"has slot":   func(members []string, n int) map[string][]int { return deal(members, n+1) },
		" and ": func(members []string, n int) map[string][]int {
			shares := deal(members, n)
			for _, m := range members {
				shares[m] = append(shares[m], 0)
			}
			return shares
		},
		"slots": func(members []string, n int) map[string][]int { // two slots at a time
			shares := deal(members, (n+1)/2)
			for m, slots := range shares {
				var pairs []int
				for _, slot := range slots {
					if pairs = append(pairs, 2*slot); 2*slot+1 < n {
						pairs = append(pairs, 2*slot+1)
					}
				}
				shares[m] = pairs
			}
			return shares
		},
		"without members": func(members []string, n int) map[string][]int { return deal(append(members, "me"), n) },
		"is no member": func(members []string, n int) map[string][]int {
			shares := deal(members, n)
			if first := slices.Compact(slices.Sorted(slices.Values(members))); len(first) > n && n > 1 {
				shares["me"] = shares[first[0]]
				delete(shares, first[0])
			}
			return shares
		},
		"not sorted": func(members []string, n int) map[string][]int {
			shares := deal(members, n)
			for _, slots := range shares {
				slices.Reverse(slots)
			}
			return shares
		},
		"in another order": func(members []string, n int) map[string][]int {
			shares := map[string][]int{}
			for slot := range n {
				if len(members) > 0 {
					m := members[slot%len(members)]
					shares[m] = append(shares[m], slot)
				}
			}
			return shares
		},
		"instead of": func(members []string, n int) map[string][]int { // another one each time
			calls++
			sorted := slices.Compact(slices.Sorted(slices.Values(members)))
			shares := map[string][]int{}
			for slot := range n {
				if len(sorted) > 0 {
					m := sorted[(slot+calls)%len(sorted)]
					shares[m] = append(shares[m], slot)
				}
			}
			return shares
		},
		"were changed": func(members []string, n int) map[string][]int {
			slices.Sort(members)
			return deal(members, n)
		},
	} {
		if err := Check(wrong, seed); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%q: %v", what, err)
		}
	}
}
