package model

import "fmt"

// Bounds of the arrays in a state. Options say how much of them a run uses.
const (
	maxContents     = 2
	maxWorkers      = 3
	maxIncarnations = 3 // lives of one worker, each under an id of its own
)

// Kind of the topic.
type Kind int8

// The three kinds.
const (
	RangeMerge Kind = iota
	Priority
	FixedTime
)

func (k Kind) String() string { return [...]string{"RangeMerge", "Priority", "FixedTime"}[k] }

// Options of a run: the protocol, and how large its world is.
type Options struct {
	Rules     // all of them, unless a rule is put to the test
	Kind      Kind
	ZooKeeper bool // shared by ZooKeeper; otherwise Redis-only, by leases
	Retries   int8 // deliveries are one more
	Journaling

	Delay  int8             // ticks before a retry
	Leases [maxWorkers]int8 // ticks; of Redis-only workers
	Max    Bounds

	// More ways to go, which make the world wider.
	NoDelay  bool // handlers also fail with delay 0, back into the store
	DeadNow  bool // handlers also end a content for good
	Snooze   bool // handlers also put a content back
	HandBack bool // workers also leave while they could go on
	Single   bool // workers also ask for one content only
	Forgets  bool // Redis goes back to what it was; and without ZooKeeper, too, the slot is shared out
	Large    bool // two contents are more than one batch may hold
}

// Bounds of the world.
type Bounds struct {
	Contents, Workers int
	Sends, Faults     int8 // how many of them may happen
	Ticks             int8 // when time stops, unless draining
}

func (o *Options) String() string {
	sharing := "Redis-only"
	if o.ZooKeeper {
		sharing = "ZooKeeper"
	}
	return fmt.Sprintf("%v/%s", o.Kind, sharing)
}
