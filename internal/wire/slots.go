package wire

import (
	"errors"
	"strconv"
	"strings"
)

// ParseSlots reads slots: 3, or 3,7 or 0-5, and several of these.
func ParseSlots(text string) (all []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		low, high, found := strings.Cut(strings.TrimSpace(part), "-")
		if !found {
			high = low
		}
		first, err := strconv.ParseUint(low, 10, 16) // no topic has more
		last, err2 := strconv.ParseUint(high, 10, 16)
		if err != nil || err2 != nil || first > last {
			return nil, errors.New("not slots such as 3, 3,7 or 0-5")
		}
		for slot := first; slot <= last; slot++ {
			all = append(all, int(slot))
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
