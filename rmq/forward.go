package rmq

import (
	"context"
	"errors"
)

// Forward returns a listener that sends each message on to another topic: as what next makes
// of it, or not at all if that is nil. So a message may wait for its time first, and then be
// ordered by its priority.
//
// It is done once Redis has stored it there. If its worker dies in between, it is sent again,
// and merges if it still waits. A message that the other topic refuses as ErrInvalid is dead
// at once.
func Forward(client *Client, to Topic, next func(d *Delivery) Message) MessageListener {
	return ListenerFunc(func(ctx context.Context, d *Delivery) error {
		m := next(d)
		if m == nil {
			return nil
		}
		_, err := client.Send(ctx, to, m)
		if errors.Is(err, ErrInvalid) && !errors.Is(err, ErrPast) {
			return Dead(err)
		}
		return err
	})
}
