package ledger

import (
	"context"
	"time"
)

// Memory is what package journal/recovery remembers from one comparison with Redis to the next. It is kept in
// rmq_state.
type Memory struct {
	// Key is of this journal alone, at random: it is in the names of its ticks in Redis.
	Key int64

	// Ticks are what Redis had at the last look, by the number of the key.
	Ticks map[int]Tick

	// Forgot is set while Redis may have forgotten what the journal knows.
	Forgot Forgot

	// Adopted is when somebody last began to look for what waits and is not owed, and AdoptedID the
	// ID of the newest row then.
	Adopted   time.Time
	AdoptedID int64
}

// Tick is a mark in a server of Redis.
type Tick struct {
	ID      int64 // of the newest row when it was written: what the rows up to it tell was in Redis
	History int64 // of the data: another one after each restart, and each failover
}

// Forgot says what Redis may have forgotten.
type Forgot struct {
	Noticed time.Time // zero: nothing
	After   int64     // the ID of a row: what the rows up to it tell is not forgotten
	Since   time.Time // when that was; zero: not known
}

// Lead is the right to compare the journal with Redis again and again, which one process has at a
// time. It is for one goroutine.
type Lead interface {
	// Hold takes it, or keeps it for some seconds more. It returns until when it is held; zero if
	// another process has it.
	Hold(ctx context.Context) (until time.Time, err error)

	// Release lets another process have it at once.
	Release()
}

// Missing is how many messages of a slot are owed, and not in Redis.
type Missing struct {
	Topic    Topic
	Slot     int
	Messages int
}

// Mark is a row of rmq_ended that no worker tells: what a restore or a reconcile has found, or done.
type Mark struct {
	Content string
	What    string // Restored, Gone or Adopted
	Number  int64  // of the slot; of Gone: the ID of the newest send that was looked for
	Reason  string
}
