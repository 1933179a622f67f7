package verdict

import "github.com/slotmq/go-rmq/internal/protocol/limits"

// Last reports whether a message is dead if a delivery of it fails: the first is 1, and its topic allows so many at the
// most. No message has more than 17.
func Last(delivery, most int) bool { return delivery >= min(most, limits.Deliveries) }
