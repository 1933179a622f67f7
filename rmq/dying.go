package rmq

import (
	"context"
	"fmt"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/message"
)

// Death is a message that is dead: it failed for the last time, its handler gave it up, or
// its workers died with it.
//
//	type Death struct {
//		Topic        Topic
//		Slot         int
//		Content      string
//		At           time.Time // by the clock of Redis
//		Attempts     int       // this and what follows: zero if it is not known
//		FirstFailure time.Time
//		Priority     int64  // it was sent with, in priority topics
//		Worker       string // that reported or lost the last delivery
//		Reason       string // of the last failure
//	}
type Death = consumer.Death

// ListenDead has f called for each message of topic t that died, at least once, also for those
// that are dead already. Call it before Start, beside Listen, in all workers of the topic: the
// worker that has a slot reports the deaths in it.
//
// If f returns an error or panics, it is called again after 1 s, then 2 s, and so on up to a
// minute. Other messages do not wait for it, only later deaths in the same slot. The message
// stays among the dead until you requeue or delete it.
//
// f is called for 16 slots of a topic at the same time, 256 of all topics, by each worker. So
// other topics do not wait for it, unless those of 16 topics hang. Its context ends after the
// Timeout of the topic. If it has not returned after twice that, the log says so, and only
// its slot still waits.
//
// A death is reported right away. If the worker that knew of it died with it, the
// next one at the slot reports it, SafetyLook after it has come at the latest. The death of a
// message that was requeued or deleted before is not reported.
func (c *Client) ListenDead(t Topic, f func(ctx context.Context, d *Death) error) error {
	return c.consumer.ListenDead(t, f)
}

// withDeadTopic listens, and to the dead, too, if they are to be sent to another topic.
func (c *Client) withDeadTopic(t Topic, o *ListenOptions, listen func() error) error {
	dead := o.DeadTopic
	if dead == (Topic{}) {
		return listen()
	}
	if err := checkDeadTopic(t, dead); err != nil {
		return err
	}
	o.DeadTopic = Topic{} // a consumer does not send
	if err := listen(); err != nil {
		return err
	}
	return c.consumer.ListenDead(t, c.sendDead(dead))
}

// checkDeadTopic returns an error if the dead of topic t cannot be sent to another.
func checkDeadTopic(t, dead Topic) error {
	err := dead.Validate()
	if err == nil && dead.Name == t.Name {
		err = &InvalidError{Field: "ListenOptions.DeadTopic", Value: fmt.Sprintf("%q", dead.Name), Limit: "another topic"}
	}
	if err != nil {
		return fmt.Errorf("listen to topic %s: DeadTopic: %w", t.Name, err)
	}
	return nil
}

// sendDead sends each message that died to another topic.
func (c *Client) sendDead(to Topic) func(ctx context.Context, d *Death) error {
	return func(ctx context.Context, d *Death) error {
		_, err := c.producer.Send(ctx, to, deadMessage(to, d))
		return err
	}
}

// deadMessage is a message that died, as one of another topic: due now, or with the priority
// it had.
func deadMessage(to Topic, d *Death) Message {
	value := int64(1) // ms from now
	if !to.Kind.Timed() {
		value = min(max(d.Priority, limits.MinPriority), limits.MaxScore)
	}
	return checked.Make(to.Kind, message.Common{Content: d.Content}, value, true, 0)
}
