package rmq

import (
	"context"
	"errors"

	"github.com/slotmq/go-rmq/internal/checked"
)

// Forward returns a listener that sends each message on to another topic, as the message that
// next returns; if that is nil, nothing is sent. So a message may wait for its time first, and
// then be ordered by its priority.
//
// A message is done once Redis has stored the next one. If its worker dies in between, the
// next one is sent again, and merges if it still waits. A message that the other topic refuses
// as ErrInvalid is dead at once. One whose time has passed is not refused: it was sent before.
func Forward(client *Client, to Topic, next func(d *Delivery) Message) MessageListener {
	return ListenerFunc(func(ctx context.Context, d *Delivery) error {
		m := next(d)
		if m == nil {
			return nil
		}
		_, err := client.producer.Send(checked.Sent(ctx), to, m)
		if errors.Is(err, ErrInvalid) {
			return Dead(err)
		}
		return err
	})
}
