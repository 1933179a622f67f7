package keeper

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/slotmq/go-rmq/internal/sharing/keeper/session"
)

// Config of a Keeper. slots.ZooKeeperConfig says what the fields mean.
type Config struct {
	Servers        []string
	SessionTimeout time.Duration
	Root           string
	Auth           string
	TLS            *tls.Config
	Dialer         func(ctx context.Context, network, addr string) (net.Conn, error)
	OnOutage       uint8 // Stop or Coast
	Weight         float64
}

// What a member does if ZooKeeper does not answer.
const (
	Stop uint8 = iota
	Coast
)

func (c Config) withDefaults() Config {
	if c.SessionTimeout == 0 {
		c.SessionTimeout = 10 * time.Second
	}
	if c.Root == "" {
		c.Root = "/rmq"
	}
	if c.Dialer == nil {
		c.Dialer = new(net.Dialer).DialContext
	}
	if c.Weight == 0 {
		c.Weight = 1
	}
	return c
}

const (
	minTimeout = 500 * time.Millisecond // shorter ones end by a garbage collection
	maxTimeout = time.Hour
	maxWeight  = 100
)

func (c Config) validate() error {
	if len(c.Servers) == 0 {
		return invalid("Servers", "empty", "at least one host:port")
	}
	for _, s := range c.Servers {
		if !validServer(s) {
			return invalid("Servers", fmt.Sprintf("%.80q", s), "one host:port for each server; a path belongs into Root")
		}
	}
	if c.SessionTimeout < minTimeout || c.SessionTimeout > maxTimeout {
		return invalid("SessionTimeout", c.SessionTimeout, fmt.Sprintf("from %v to %v, or 0 for 10s", minTimeout, maxTimeout))
	}
	if !validRoot(c.Root) {
		return invalid("Root", fmt.Sprintf("%.80q", c.Root), "a path such as /rmq or /apps/rmq, and not below /zookeeper, which is ZooKeeper's own")
	}
	if user, password, ok := strings.Cut(c.Auth, ":"); c.Auth != "" && (!ok || user == "" || password == "") {
		return invalid("Auth", "of another form", `"user:password"`) // and is not shown
	}
	if c.OnOutage > Coast {
		return invalid("OnOutage", c.OnOutage, "slots.Stop or slots.Coast")
	}
	if !(c.Weight >= 1.0/maxWeight && c.Weight <= maxWeight) { // written so that NaN is refused, too
		return invalid("Weight", c.Weight, fmt.Sprintf("from %v to %v, or 0 for 1", 1.0/maxWeight, maxWeight))
	}
	return nil
}

// validServer reports whether s is one host:port.
func validServer(s string) bool {
	host, port, err := net.SplitHostPort(s)
	n, bad := strconv.ParseUint(port, 10, 16)
	return err == nil && bad == nil && n > 0 && host != "" && !strings.ContainsAny(host, ", /")
}

func validRoot(root string) bool {
	if root == "/" {
		return true
	}
	rest, absolute := strings.CutPrefix(root, "/")
	if !absolute || rest == "zookeeper" || strings.HasPrefix(rest, "zookeeper/") || len(root) > 1000 {
		return false
	}
	for part := range strings.SplitSeq(rest, "/") {
		if part == "" || part == "." || part == ".." || strings.ContainsFunc(part, notInPath) {
			return false
		}
	}
	return true
}

// notInPath are characters that ZooKeeper refuses in a path, and a few more that
// make no sense there.
func notInPath(r rune) bool {
	return r < ' ' || 0x7f <= r && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0
}

// session is what a session needs to know.
func (c Config) session() session.Config {
	return session.Config{Servers: c.Servers, Timeout: c.SessionTimeout, Auth: c.Auth, TLS: c.TLS, Dialer: c.Dialer}
}

// explain adds what you can do about an error.
func (c Config) explain(err error) error {
	switch user, _, _ := strings.Cut(c.Auth, ":"); {
	case !errors.Is(err, zk.ErrNoAuth) && !errors.Is(err, zk.ErrAuthFailed):
		return err
	case user == "":
		return fmt.Errorf("%w: its ACL does not let all users do that; see ZooKeeperConfig.Auth", err)
	default:
		return fmt.Errorf("%w: its ACL does not let %q do that, or ZooKeeperConfig.Auth has another password", err, user)
	}
}
