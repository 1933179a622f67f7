package slots

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/slotmq/go-rmq/internal/keeper"
)

// Sharing says how the workers of a topic share its slots out. [ZooKeeper] returns
// one; none means by a list of members in Redis.
type Sharing interface {
	Validate() error
	Join(ctx context.Context, w keeper.Worker) (*keeper.Member, error)
}

// ZooKeeperConfig says how to reach ZooKeeper. Only Servers is required.
type ZooKeeperConfig struct {
	// Servers of the ensemble, as host:port.
	Servers []string

	// SessionTimeout is how long a worker that vanished keeps its slots. The
	// server has limits of its own for it, 2 to 20 of its ticks. Defaults to 10 s.
	SessionTimeout time.Duration

	// Root is the node below which everything is kept. It is created; the node
	// above it must exist. All workers of a topic have the same. Defaults to /rmq.
	Root string

	// Auth is "user:password" of the digest scheme. All nodes are then created for
	// that user alone. Defaults to none: nodes that everybody may change.
	Auth string

	// TLS to use. Defaults to none.
	TLS *tls.Config

	// Dialer opens the connections, before TLS. Defaults to net.Dialer.
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

	// OnOutage says what a worker does that hears nothing from ZooKeeper.
	// Defaults to Stop.
	OnOutage Outage

	// Weight of this worker: one with 2 gets twice the slots of one with 1.
	// Defaults to 1.
	Weight float64
}

// Outage is what a worker does that hears nothing from ZooKeeper.
type Outage uint8

const (
	// Stop begins nothing when two thirds of the session timeout have passed, and
	// cancels the handlers before all of it has.
	Stop Outage = iota

	// Coast goes on. An outage of ZooKeeper costs nothing then. But if this worker
	// alone is cut off, its handlers may overlap with those of the worker that
	// takes its slots over, until its next turn there.
	Coast
)

// ZooKeeper shares the slots out by ZooKeeper, which also proves a worker dead
// within its session timeout. RMQ opens and renews its own connections.
func ZooKeeper(cfg ZooKeeperConfig) Sharing {
	return keeper.New(keeper.Config{
		Servers: cfg.Servers, SessionTimeout: cfg.SessionTimeout, Root: cfg.Root, Auth: cfg.Auth,
		TLS: cfg.TLS, Dialer: cfg.Dialer, Coast: cfg.OnOutage == Coast, Weight: cfg.Weight,
	})
}
