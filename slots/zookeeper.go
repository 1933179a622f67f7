package slots

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/internal/sharing/keeper"
)

// Sharing says how the workers of a topic share its slots out. Only [ZooKeeper]
// makes one; nil means by a list of members in Redis. One Sharing may serve several
// clients, which then share what they know.
type Sharing interface {
	Keeper() *keeper.Keeper // for RMQ itself
}

// ZooKeeperConfig says how to reach ZooKeeper. Only Servers is required. It is checked
// by rmq.New, which does no I/O; Start gives up when ZooKeeper has not been reached
// for 5 s, or the SessionTimeout if that is longer.
type ZooKeeperConfig struct {
	// Servers of the ensemble, each as host:port. A chroot belongs into Root. Names
	// are looked up for each connection.
	Servers []string

	// SessionTimeout is how long a worker that vanished keeps its slots, from 0.5 s
	// to an hour; one that is cut off from Redis alone keeps them twice as long. The
	// server has limits of its own, 2 to 20 of its ticks, and what it grants counts.
	// Defaults to 10 s.
	SessionTimeout time.Duration

	// Root is the node below which everything is kept. It is created; the node
	// above it must exist. All workers of a topic have the same. Defaults to /rmq.
	Root string

	// Auth is "user:password" of the digest scheme. All nodes are then created for
	// that user alone. It crosses the network in clear text unless there is TLS.
	// Defaults to none: nodes that everybody may change.
	Auth string

	// TLS to use; its ServerName defaults to the host of each server. Defaults to
	// none.
	TLS *tls.Config

	// Dialer opens the connections, before TLS. Defaults to net.Dialer.
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

	// OnOutage says what a worker does that hears nothing from ZooKeeper.
	// Defaults to Stop.
	OnOutage Outage

	// Weight of this worker, from 0.01 to 100: one with 2 gets twice the slots of
	// one with 1. Defaults to 1.
	Weight float64
}

// Outage is what a worker does that hears nothing from ZooKeeper.
type Outage uint8

const (
	// Stop begins nothing when two thirds of the session timeout have passed, and
	// cancels the handlers before all of it has.
	Stop Outage = Outage(keeper.Stop)

	// Coast goes on. An outage of ZooKeeper costs nothing then. But if this worker
	// alone is cut off, its handlers may overlap with those of the worker that
	// takes its slots over, until its next turn there.
	Coast Outage = Outage(keeper.Coast)
)

func (o Outage) String() string {
	switch o {
	case Stop:
		return "stop"
	case Coast:
		return "coast"
	default:
		return "unknown"
	}
}

// ZooKeeper shares the slots out by ZooKeeper, which also proves a worker dead
// within its session timeout. RMQ opens and renews its own connections.
func ZooKeeper(cfg ZooKeeperConfig) Sharing {
	return keeper.New(keeper.Config{
		Servers: slices.Clone(cfg.Servers), SessionTimeout: cfg.SessionTimeout, Root: cfg.Root, Auth: cfg.Auth,
		TLS: cfg.TLS, Dialer: cfg.Dialer, OnOutage: uint8(cfg.OnOutage), Weight: cfg.Weight,
	})
}
