package model

// hashSet is a set of 64-bit hashes at sixteen bytes each, with open addressing.
type hashSet struct {
	slots []uint64 // 0 free; a power of two of them
	n     int
}

// add reports whether the hash was new.
func (h *hashSet) add(x uint64) bool {
	if x == 0 {
		x = 1
	}
	if 4*h.n >= 3*len(h.slots) {
		h.grow()
	}
	mask := uint64(len(h.slots) - 1)
	for i := x & mask; ; i = (i + 1) & mask {
		switch h.slots[i] {
		case x:
			return false
		case 0:
			h.slots[i] = x
			h.n++
			return true
		}
	}
}

func (h *hashSet) grow() {
	old := h.slots
	h.slots, h.n = make([]uint64, max(1<<12, 2*len(old))), 0
	for _, x := range old {
		if x != 0 {
			h.add(x)
		}
	}
}
