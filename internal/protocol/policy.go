package protocol

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/luascripts"
)

var policyScript = script.New(luascripts.Source("policy.lua"))

// Policy is a limit that a person has set to the workers of a topic. The zero Policy is none.
type Policy struct {
	Rate        float64       // messages a second that all workers begin together; 0: any number
	Concurrency int           // handlers that run at once in each worker; 0: any number
	Left        time.Duration // for how long it still holds
	Term        string        // from when to when, as stored: with another one it is another limit
}

// PolicyCmd asks for the policy of a topic.
func (s *Scripts) PolicyCmd(ctx context.Context, topic string) redis.Cmder {
	return redis.NewStringSliceCmd(ctx, append(policyScript.Call(1, 1), PolicyKey(topic))...)
}

// PolicyAnswer reads the answer to a command of [Scripts.PolicyCmd] that was sent. What another
// program has written and cannot be a limit is none.
func PolicyAnswer(topic string, cmd redis.Cmder) (p Policy, err error) {
	reply, err := cmd.(*redis.StringSliceCmd).Result()
	switch {
	case err != nil:
		return p, fmt.Errorf("read the policy in %s: %w", PolicyKey(topic), err)
	case len(reply) < 4:
		return p, nil
	}
	if rate, err := strconv.ParseFloat(reply[0], 64); err == nil && limits.Rate(rate) {
		p.Rate = rate
	}
	if n, err := strconv.Atoi(reply[1]); err == nil && n > 0 {
		p.Concurrency = n
	}
	if p == (Policy{}) {
		return p, nil
	}
	left, err := strconv.ParseFloat(reply[2], 64)
	if err != nil {
		return Policy{}, nil
	}
	p.Left = time.Duration(min(left, math.MaxInt64/2e6)) * time.Millisecond
	p.Term = reply[3]
	return p, nil
}
