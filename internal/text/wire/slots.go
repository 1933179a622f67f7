package wire

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// mostParts is how many parts ParseSlots reads. A text comes from outside, and short parts may name very many slots.
const mostParts = 1000

// ParseSlots reads slots: 3, or 3,7 or 0-5, and several of these. It returns each slot once, in ascending order.
func ParseSlots(text string) ([]int, error) {
	type span struct{ first, last int }
	var spans []span
	for part := range strings.SplitSeq(text, ",") {
		if len(spans) == mostParts {
			return nil, fmt.Errorf("more than %d parts; write neighbours as in 0-5", mostParts)
		}
		low, high, found := strings.Cut(strings.TrimSpace(part), "-")
		if !found {
			high = low
		}
		first, err := strconv.ParseUint(low, 10, 16) // no topic has more
		last, err2 := strconv.ParseUint(high, 10, 16)
		if err != nil || err2 != nil || first > last {
			return nil, errors.New("not slots such as 3, 3,7 or 0-5")
		}
		spans = append(spans, span{int(first), int(last)})
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	n, next := 0, 0 // all slots before next are in an earlier part
	for k, s := range spans {
		spans[k].first = max(s.first, next)
		n += max(0, s.last+1-spans[k].first)
		next = max(next, s.last+1)
	}
	all := make([]int, 0, n)
	for _, s := range spans {
		for slot := s.first; slot <= s.last; slot++ {
			all = append(all, slot)
		}
	}
	return all, nil
}

// Ranges writes slots as people do: 0-3, 7.
func Ranges(slots []int) string {
	var parts []string
	for i := 0; i < len(slots); {
		j := i
		for j+1 < len(slots) && slots[j+1] == slots[j]+1 {
			j++
		}
		part := strconv.Itoa(slots[i])
		if j > i {
			part += "-" + strconv.Itoa(slots[j])
		}
		parts, i = append(parts, part), j+1
	}
	return strings.Join(parts, ", ")
}
