package message

import (
	"slices"
	"strconv"
	"time"
)

// Recurring is a message that RMQ sends again and again, and the rule that says when. The workers of
// its topic send it; nothing else has to run.
//
// A firing is each time of Cron. Without Cron there is one: at From, or else at the moment the rule
// was set. A firing sends Delay after itself, and then Repeat times more, a Period apart. Firings do
// not wait for each other: the times of all of them count.
//
// Nothing is sent at or before the moment the rule was set. Times are whole milliseconds, by the
// clock of the Redis server. While a message waits, the next one merges into it: at most one copy
// waits.
type Recurring struct {
	Name string // what it is called within its topic: 1 to 200 bytes

	Content   string // what is sent, and its identity: see [Message]
	SlotBasis string // decides the slot; Content when empty
	Priority  int64  // in a topic of priorities: 17 … 2^53 − 1

	Cron string // such as "0 3 * * *" or "@daily"; minute, hour, day of month, month, day of week
	Zone string // of Cron, such as "Europe/Berlin"; UTC when empty

	Delay  time.Duration // from a firing to its first send; 0 to 10 years
	Period time.Duration // between the sends of a firing; 100 ms to 10 years

	// Repeat is how many sends of a firing follow the first: 0 to 10000. With a Period and without
	// Cron, 0 is without end.
	Repeat int

	From  time.Time // nothing is sent before
	Until time.Time // nothing is sent after

	Missed Missed // what becomes of times that pass while no worker is there
}

// Missed says what becomes of the times of a [Recurring] message that pass while nobody can send it.
type Missed uint8

const (
	// MissedOnce sends one message for all times that were missed. It is due at the first of them.
	MissedOnce Missed = iota

	// MissedSkip leaves out the times that are more than a minute over.
	MissedSkip
)

var missed = [...]string{MissedOnce: "once", MissedSkip: "skip"}

// ParseMissed returns the Missed with a name.
func ParseMissed(name string) (Missed, bool) {
	i := slices.Index(missed[:], name)
	return Missed(max(i, 0)), i >= 0
}

// String returns its name: "once", "skip".
func (m Missed) String() string {
	if int(m) < len(missed) {
		return missed[m]
	}
	return "Missed(" + strconv.Itoa(int(m)) + ")"
}
