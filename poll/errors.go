package poll

import "errors"

var (
	// ErrUnknownTopic is found by errors.Is in the error of a take from a topic that nobody has defined.
	// The first send to it does that, or a listener.
	ErrUnknownTopic = errors.New("no such topic")

	// ErrZooKeeper is found by errors.Is in the error of a take from a topic that its listeners share by ZooKeeper:
	// who takes has no session there, so they would take over its batches at once.
	ErrZooKeeper = errors.New("its listeners share the topic by ZooKeeper, and take those for dead who have no session there; take from another topic, or let a listener pass the messages on")

	// ErrTooMany is found by errors.Is in the error of a take from a topic where 10,000 takers wait already.
	ErrTooMany = errors.New("too many takers wait for it; take with fewer, or with another process")

	// ErrUncertain is found by errors.Is in the error of a Finish of which nobody knows whether it counted: Redis
	// did not answer in time, or its answers got lost. If it did not count, the messages come again when their time to run is over.
	ErrUncertain = errors.New("it is not known whether it counted")

	// ErrReceipt is found by errors.Is in the error about a receipt that was not made by Take, or of which a part
	// is missing.
	ErrReceipt = errors.New("it is no receipt of a take")
)
