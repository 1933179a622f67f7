package pages

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/text/words"
)

// The map of a topic's slots, and the table below it.

// MostCells are drawn. A topic may have 65,536 slots.
const MostCells = 1024

// Cell is a slot on the map.
type Cell struct {
	Index int
	State string // one of the states
	Sign  string // that stands for it, without colours
	Short string // how many messages
	Words string // all of it in words
}

// SlotRow is a slot in the table.
type SlotRow struct {
	inspector.Slot
	State string // in words
	Owner string
	Since time.Duration // of the batch in flight
}

// LongOverdue is how long a message is due before that needs someone.
const LongOverdue = time.Minute

// CellOf is a slot as the map shows it.
func CellOf(s inspector.Slot) Cell {
	state := stateOf(s)
	return Cell{s.Index, state, states[state].sign, short(s.Waiting + s.Retrying), slotWords(s, state)}
}

// states are what a slot may do, with the sign for it on the map, and how far down it stands in the table.
var states = map[string]struct {
	sign, words string
	weight      int
}{
	"late": {"!", "overdue", 0}, "alone": {"?", "no worker", 0}, "paused": {"‖", "paused", 1}, "busy": {"▸", "in flight", 2},
	"waits": {"·", "waiting", 3}, "dead": {"×", "dead", 4}, "empty": {"", "empty", 4},
}

// stateOf is what a slot does.
func stateOf(s inspector.Slot) string {
	switch {
	case !s.Paused.IsZero():
		return "paused"
	case s.InFlight > 0:
		return "busy"
	case s.Overdue > LongOverdue:
		return "late"
	case s.Worker == "" && !s.Unseen && s.Due > 0:
		return "alone"
	case s.Waiting+s.Retrying > 0:
		return "waits"
	case s.Dead > 0:
		return "dead"
	}
	return "empty"
}

// slotWords says what a slot holds and does.
func slotWords(s inspector.Slot, state string) string {
	text := fmt.Sprintf("slot %d: %s to come, %s due", s.Index, words.Grouped(s.Waiting+s.Retrying), words.Grouped(s.Due))
	switch state {
	case "paused":
		text += ", paused " + humantime.Ago(time.Since(s.Paused))
	case "busy":
		text += fmt.Sprintf(", %s in flight at %s for %s", words.Grouped(s.InFlight), protocol.HolderName(s.Holder), humantime.Duration(time.Since(s.Since)))
	case "late":
		text += ", the oldest for " + humantime.Duration(s.Overdue)
	case "alone":
		text += ", no worker has it"
	}
	if s.Dead > 0 {
		text += ", " + words.Grouped(s.Dead) + " dead"
	}
	return text
}

// short is a number in four characters at most: 999, 1.2k, 45k, 3M.
func short(n int) string {
	switch {
	case n == 0:
		return ""
	case n < 1000:
		return strconv.Itoa(n)
	case n < 10_000:
		return fmt.Sprintf("%d.%dk", n/1000, n%1000/100)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%dM", n/1_000_000)
}

// mostRows of slots are in the table.
const mostRows = 24

// RowsOf are the slots that say most about what goes on, and the one that was asked for.
func RowsOf(slots []inspector.Slot, chosen int) (rows []SlotRow) {
	weight := func(s inspector.Slot) int { return states[stateOf(s)].weight }
	sorted := slices.Clone(slots)
	slices.SortStableFunc(sorted, func(a, b inspector.Slot) int {
		if pick := cmp.Compare(boolean(b.Index == chosen), boolean(a.Index == chosen)); pick != 0 {
			return pick
		}
		return cmp.Or(weight(a)-weight(b), cmp.Compare(b.Overdue, a.Overdue), a.Since.Compare(b.Since), a.Index-b.Index)
	})
	for _, s := range sorted {
		if len(rows) == mostRows {
			break
		}
		if weight(s) >= 3 && s.Due+s.Dead+s.Retrying == 0 && s.Index != chosen { // the map says all of it
			continue
		}
		r := SlotRow{Slot: s, State: states[stateOf(s)].words, Owner: protocol.HolderName(s.Worker)}
		if s.InFlight > 0 {
			r.Since = time.Since(s.Since)
		}
		rows = append(rows, r)
	}
	return rows
}

func boolean(is bool) int {
	if is {
		return 1
	}
	return 0
}
