package consumer

import "time"

// Backoff returns how long a message waits for its retry 1, 2, … 16: see rmq.Exponential and rmq.Schedule.
type Backoff func(retry int) time.Duration
