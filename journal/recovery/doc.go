// Package recovery brings Redis and a journal in SQL together again: what Redis has lost comes back
// from the journal, and what the journal does not know it learns from Redis.
//
//	r, err := recovery.New(recovery.Config{Journal: j, Redis: rdb})
//	report, err := r.Restore(ctx, recovery.Restore{DryRun: true})
//	fmt.Println(report) // 48112 waiting, 311 dead, 57 perhaps twice
//	report, err = r.Restore(ctx, recovery.Restore{})
//
// Nothing that is alive in Redis is ever changed: a message that waits, is in flight or waits for
// its retry stays as it is. So all of this may be ended at any time, repeated, and done by several
// at once, while messages are sent and handled.
//
// # What it does not do
//
// It keeps nothing: the journal does. What the journal does not have it cannot bring back: the rules of
// plans, the times in which unique messages are duplicates, and how often a message had failed.
package recovery
