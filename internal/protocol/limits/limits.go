// Package limits is the one table of the numbers that a message, its topic and its
// stored form must keep to. Go code takes them from here, but for the words of its
// errors. The scripts cannot, so TestLimitsOfScripts compares those that stand in them
// with this table. It compares the numbers, and not whether a script writes < or <=.
package limits

import "time"

// Deliveries of a message that fails each time.
const (
	Retries    = 16
	Deliveries = 1 + Retries // then it is dead

	// PutBack stands for the retries left where a first delivery waits that its handler
	// put back, and whose priority is known.
	PutBack = Deliveries + 1
)

// Scores in Redis.
const (
	// MinPriority is above every number of retries left, because a literal topic keeps
	// those in the store, among the priorities.
	MinPriority = Deliveries

	// MaxScore is the largest integer that a score holds exactly.
	MaxScore = 1<<53 - 1

	// MinTime and MaxTime bound times in ms since 1970. What is below, in March 1973, is
	// taken for a number of seconds, or a priority. At MaxTime the year 9999 is over:
	// reschedule.lua still accepts MaxTime itself, a send must be earlier.
	MinTime = 1e11
	MaxTime = 253402300800000

	// MaxRetryTime bounds the time of a retry, in ms: in the year 4821. Its score is 100
	// times as large, and exact.
	MaxRetryTime = 9e13

	// MaxDelay bounds the delay of a retry, and other spans in ms that turns exchange.
	MaxDelay = 1e12
)

// What may be asked for as a number of messages a second: 3.6 an hour to a million a second.
const (
	SlowestRate = 0.001
	FastestRate = 1e6
)

// Rate reports whether so many messages a second may be asked for. No number that is none may.
func Rate(perSecond float64) bool { return perSecond >= SlowestRate && perSecond <= FastestRate }

// What a program may pass in.
const (
	NameBytes = 200 // of a topic, and of a namespace

	Slots        = 65536
	DefaultSlots = 64

	ContentBytes        = 64 << 20
	DefaultContentBytes = 256 << 10

	Headers     = 64      // of a message
	HeaderBytes = 8 << 10 // of their keys and values

	TakeTopics = 100 // of one take

	ReconcileRate = 20_000 // contents a second

	BatchBytes = 1 << 20 // of contents in one batch, unless it is a single message

	// Span is the longest time to wait. A longer one is most likely a wrong unit.
	Span = 10 * 365 * 24 * time.Hour
)
