package fleet

import (
	"context"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol/definition"
)

// way is how this worker shares the slots out with the others: by a list of members in
// Redis (byredis.go), or by ZooKeeper (byzookeeper.go).
type way interface {
	// sharing is what the topics' definitions say of it.
	sharing() definition.Sharing

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

	// leave has the others take the worker's slots, which it has not left yet. If it
	// cannot, they notice after the worker's lease or session.
	leave(ctx context.Context)

	// end ends the last term when every slot has been left.
	end()

	// abandon ends the last term while some slots could not be left.
	abandon()

	// silent is what Close says when every slot has been left, and something else does
	// not end.
	silent() error
}
