package intake

import "time"

// Questions about a batch. Redis may forget its last writes: it is restarted from an
// older snapshot, or a replica that lags takes its place. Then a slot that has moved
// from worker a to b goes back to "a's batch in flight". b gets BUSY, and a, which
// lives and has long reported that batch, does not look at a slot that is not its own.
//
// So a worker whose slot stays busy with a holder asks it, by a wake-up that names slot
// and holder. A holder that carries nothing of the slot takes its turn there: it gets
// the batch again, hands it back as not begun, and leaves. One that does carry
// something reports it in the end, and needs no question. See Topic.Asked in
// internal/worker/schedule/terms.go.

// A slot that has been busy for askAfter asks its holder, and again every askEvery: a
// question may get lost. Nearly always the holder is about to leave.
const (
	askAfter = 300 * time.Millisecond
	askEvery = time.Second
)

// Before another look at a slot that is busy, the waiting doubles between these.
const firstBusy, LastBusy = 50 * time.Millisecond, 500 * time.Millisecond

// Busy is what a worker knows of a slot that another one holds.
type Busy struct {
	pause time.Duration // before the last look
	since time.Time     // when its holder has it
	asked time.Time     // when that one was asked last
}

// Begin notes that another holder than before has the slot.
func (b *Busy) Begin(now time.Time) { b.since, b.asked = now, time.Time{} }

// Still notes that the slot is busy. It returns for how long its holder has it, whether that one is to be asked about it
// now, and how long the slot is to sleep before it looks again.
func (b *Busy) Still(now time.Time) (lasts time.Duration, ask bool, pause time.Duration) {
	lasts = now.Sub(b.since)
	if ask = lasts >= askAfter && now.Sub(b.asked) >= askEvery; ask {
		b.asked = now
	}
	b.pause = min(max(firstBusy, 2*b.pause), LastBusy)
	return lasts, ask, b.pause
}

// End notes that the slot is not busy: when it is again, it looks again soon.
func (b *Busy) End() { b.pause = 0 }
