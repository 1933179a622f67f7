package pages

import (
	"fmt"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/inspector"
)

// The table has the slots that need more words than the map has, the worst first, with the chosen one above them.
func TestRows(t *testing.T) {
	t.Parallel()
	slot := func(index int, c inspector.Counts) inspector.Slot {
		return inspector.Slot{Index: index, Counts: c, Worker: "app1"}
	}
	late := slot(5, inspector.Counts{Waiting: 3, Due: 3})
	late.Overdue = time.Hour
	all := []inspector.Slot{
		slot(0, inspector.Counts{}), slot(1, inspector.Counts{Waiting: 7}), slot(2, inspector.Counts{Dead: 1}),
		slot(3, inspector.Counts{InFlight: 1}), slot(4, inspector.Counts{Retrying: 2}), late,
	}
	for chosen, want := range map[int]string{-1: "[5 3 4 2]", 1: "[1 5 3 4 2]", 0: "[0 5 3 4 2]"} {
		var got []int
		for _, r := range RowsOf(all, chosen) {
			got = append(got, r.Index)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("with slot %d chosen: %v, want %s", chosen, got, want)
		}
	}
}
