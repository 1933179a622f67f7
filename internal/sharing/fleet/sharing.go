package fleet

import (
	"context"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol/definition"
)

// sharing is how this worker shares the slots out with the others: by a list of members in
// Redis (byredis.go), or by ZooKeeper (byzookeeper.go).
type sharing interface {
	// defined is what the topics' definitions say about it.
	defined() definition.Sharing

	// join makes the worker known to the others, and begins its first term.
	join(ctx context.Context) error

	// undo undoes join after a start that failed. No slot was worked at.
	undo(ctx context.Context)

	// run keeps the worker in a term until the schedule is closed.
	run()

	// attend keeps the worker among those that share a topic's slots. It is called for
	// each topic that is not refused, every now and then.
	attend(t *Topic)

	// next is how long it is until attend is to be called for a topic again.
	next(t *Topic, now time.Time) time.Duration

	// leave makes the others take the worker's slots, which it has not left yet. If it
	// cannot, they notice when the worker's lease or session ends.
	leave(ctx context.Context)

	// end ends the last term when every slot has been left.
	end()

	// abandon ends the last term while some slots could not be left.
	abandon()

	// silent is the error of Close when every slot has been left, but something else
	// does not end.
	silent() error
}
