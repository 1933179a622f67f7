package session

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/internal/sharing/keeper/zxid"
)

// dialer makes the connections of one session. Once it is cut, nothing is sent any
// more: otherwise the library could end the session by a last request, while its
// handlers still run.
type dialer struct {
	cfg      Config
	welcomed func(dialed time.Time, granted time.Duration, id int64) error // is called with each server's welcome
	seen     zxid.Seen

	uncut  context.Context // until it is cut
	end    context.CancelFunc
	mu     sync.Mutex
	limit  time.Duration    // for a connection, or a welcome
	last   *conn            // the last one
	faults map[string]error // of each server that could not be reached
}

func newDialer(cfg Config, welcomed func(dialed time.Time, granted time.Duration, id int64) error) *dialer {
	d := &dialer{cfg: cfg, welcomed: welcomed, limit: cfg.Timeout / 3, faults: map[string]error{}}
	d.uncut, d.end = context.WithCancel(context.Background())
	return d
}

var errCut = errors.New("the connection was given up")

// dial is a zk.Dialer.
func (d *dialer) dial(network, addr string, _ time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(d.uncut, d.connectTimeout())
	defer cancel()
	c := &conn{dialer: d, addr: addr, dialed: time.Now()}
	if err := c.connect(ctx, network); err != nil {
		d.failed(addr, err)
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.uncut.Err() != nil {
		c.raw.Close()
		return nil, errCut
	}
	d.last = c
	return c, nil
}

// drop closes the present connection. The library makes another one.
func (d *dialer) drop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last != nil {
		d.last.raw.Close() // a TLS connection would send a last message first, and may wait for that
	}
}

// cut closes the connection, and allows no other.
func (d *dialer) cut() {
	d.end()
	d.drop()
}

// connectTimeout is how long ZooKeeper may take for a connection, or its welcome.
func (d *dialer) connectTimeout() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.limit
}

// met notes that a server was reached, and the timeout it grants.
func (d *dialer) met(addr string, granted time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.faults, addr)
	d.limit = granted / 3
}

// failed notes why a server could not be reached.
func (d *dialer) failed(addr string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		err = op.Err // the address stands before it anyway
	}
	if d.uncut.Err() == nil {
		d.faults[addr] = err
	}
}

// unanswered says in plain words how a server failed to welcome us.
func unanswered(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errors.New("takes the connection, and then does not answer")
	case errors.Is(err, io.EOF):
		return errors.New("takes the connection and closes it; a server that has no majority does so, and one that expects TLS")
	}
	return err
}

// whyUnreachable says for each server why it could not be reached.
func (d *dialer) whyUnreachable() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	faults := make([]string, 0, len(d.cfg.Servers))
	for _, addr := range d.cfg.Servers {
		fault := d.faults[addr]
		if fault == nil {
			fault = errNoAnswer
		}
		faults = append(faults, addr+": "+fault.Error())
	}
	return strings.Join(faults, "; ")
}
