package consumer

import (
	"github.com/slotmq/go-rmq/internal/worker/verdict"
)

// passCancelled passes over messages that were cancelled before their handler began.
func (b *batch) passCancelled() {
	for b.next < len(b.answer.Contents) && b.watchdog.Cancelled(b.next) {
		b.results[b.next] = verdict.Cancelled
		b.next++
		b.late++
	}
}

// dropCancelled drops what was cancelled and is not done, however its handler ended, and also
// if it has not begun.
func (b *batch) dropCancelled() {
	for i, v := range b.results {
		if v.Fate != verdict.Done && v.Fate != verdict.Dropped && b.watchdog.Cancelled(i) {
			b.results[i] = verdict.Cancelled
			b.results[i].Took = v.Took
		}
	}
}
