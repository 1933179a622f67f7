package protocol

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol/script"
)

// Scripts runs the scripts on one Redis, Sentinel group or Cluster.
type Scripts struct {
	rdb redis.UniversalClient
}

// New returns the scripts for rdb. It does no I/O and costs little.
func New(rdb redis.UniversalClient) *Scripts { return &Scripts{rdb} }

// Exec sends commands, such as those of [Scripts.TurnCmd], in one pipeline (one per server
// of a Cluster). A script that a server does not know, after a restart, a failover or SCRIPT
// FLUSH, is sent again with its source; other commands are not repeated. Each command holds
// its own error; Exec returns none.
func (s *Scripts) Exec(ctx context.Context, cmds ...redis.Cmder) { script.Exec(ctx, s.rdb, cmds...) }
