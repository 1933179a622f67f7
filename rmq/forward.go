package rmq

import (
	"context"
	"errors"
)

// Forward returns a listener that sends each message on to another topic, as the message that
// next returns; if that is nil, nothing is sent. So a message may wait for its time first, and
// then be ordered by its priority.
//
// A message is done once Redis has stored the next one. If its worker dies in between, the
// next one is sent again, and merges if it still waits. A message that the other topic refuses
// as ErrInvalid is dead at once; one whose time has passed (ErrPast) is tried once more before.
func Forward(client *Client, to Topic, next func(d *Delivery) Message) MessageListener {
	return ListenerFunc(func(ctx context.Context, d *Delivery) error {
		m := next(d)
		if m == nil {
			return nil
		}
		_, err := client.producer.Send(ctx, to, m)
		if errors.Is(err, ErrInvalid) && !(errors.Is(err, ErrPast) && d.Attempt == 1) {
			return Dead(err)
		}
		return err
	})
}
