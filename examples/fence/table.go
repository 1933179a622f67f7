package main

import "sync"

// table is what a database would be: orders, their states, and the number of the
// delivery that wrote each row last.
type table struct {
	mu   sync.Mutex
	rows map[string]row
}

type row struct {
	state string
	fence int64

	unfenced string // what the state would be without a check of the number
}

// write writes a row, unless a later delivery did so before. Comparing and writing
// must be one step. In SQL:
//
//	update orders set state = $2, fence = $3 where id = $1 and fence <= $3
//
// which changes no row if the number is older. In Redis it is a script. Equal
// numbers come from one batch, also when it is delivered again. So one message may
// write twice.
//
// Only numbers of one slot can be compared. So all that writes to a row must have
// the same slotBasis: here it is the order itself.
func (t *table) write(id, state string, fence int64) (written bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[id]
	r.unfenced = state
	if written = fence >= r.fence; written {
		r.state, r.fence = state, fence
	}
	t.rows[id] = r
	return written
}

func (t *table) read(id string) row {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rows[id]
}
