package session

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"
)

// Config says how to reach ZooKeeper, and what to ask it for.
type Config struct {
	Servers []string      // host:port of each
	Timeout time.Duration // of the session; ZooKeeper may grant another
	Auth    string        // user:password; empty: none
	TLS     *tls.Config   // nil: none
	Dialer  func(ctx context.Context, network, addr string) (net.Conn, error)
}

// bound is how long a session may take to open.
func (c Config) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	d := max(c.Timeout, 5*time.Second)
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("gave up after %v", d))
}
