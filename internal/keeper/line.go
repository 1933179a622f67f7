package keeper

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/internal/zxid"
)

// line is how one session reaches ZooKeeper. Once it is cut, nothing leaves any
// more: the library could otherwise end the session by a last word, while handlers
// of it still run.
type line struct {
	cfg   Config
	hello func(dialed time.Time, granted time.Duration, id int64) error // hears each server's welcome
	seen  zxid.Seen

	whole  context.Context // until it is cut
	sever  context.CancelFunc
	mu     sync.Mutex
	limit  time.Duration    // for a connection, or a welcome
	wire   *wire            // the last one
	faults map[string]error // of each server that could not be reached
}

func newLine(cfg Config, hello func(dialed time.Time, granted time.Duration, id int64) error) *line {
	l := &line{cfg: cfg, hello: hello, limit: cfg.SessionTimeout / 3, faults: map[string]error{}}
	l.whole, l.sever = context.WithCancel(context.Background())
	return l
}

var errCut = errors.New("the line is cut")

// dial is a zk.Dialer.
func (l *line) dial(network, addr string, _ time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(l.whole, l.patience())
	defer cancel()
	w := &wire{line: l, addr: addr, dialed: time.Now()}
	if err := w.connect(ctx, network); err != nil {
		l.failed(addr, err)
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.whole.Err() != nil {
		w.raw.Close()
		return nil, errCut
	}
	l.wire = w
	return w, nil
}

// drop closes the connection of now. The library makes another one.
func (l *line) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wire != nil {
		l.wire.raw.Close() // TLS would say goodbye first, and may wait for that
	}
}

// cut ends the line for ever.
func (l *line) cut() {
	l.sever()
	l.drop()
}

// patience is how long ZooKeeper may take for a connection, or its welcome.
func (l *line) patience() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limit
}

// met notes that a server was reached, and the timeout it grants.
func (l *line) met(addr string, granted time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.faults, addr)
	l.limit = granted / 3
}

// failed notes why a server could not be reached.
func (l *line) failed(addr string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		err = op.Err // the address stands before it anyway
	}
	if l.whole.Err() == nil {
		l.faults[addr] = err
	}
}

// unanswered says in people's words how a server failed to welcome us.
func unanswered(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errors.New("takes the connection, and then does not answer")
	case errors.Is(err, io.EOF):
		return errors.New("takes the connection and closes it; a server that has no majority does so, and one that expects TLS")
	}
	return err
}

// trouble tells why no server could be reached.
func (l *line) trouble() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	told := make([]string, 0, len(l.cfg.Servers))
	for _, addr := range l.cfg.Servers {
		fault := l.faults[addr]
		if fault == nil {
			fault = errNoAnswer
		}
		told = append(told, addr+": "+fault.Error())
	}
	return strings.Join(told, "; ")
}
