package keeper

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net"
	"time"
)

// wire is a connection as the library is given it. It hears what the library keeps
// to itself, and mends where the library would hang.
type wire struct {
	net.Conn
	raw  net.Conn // below TLS
	line *line
	addr string
	head []byte // of the server's first packet
	met  bool   // that packet was heard

	dialed time.Time // when the connection was begun
}

func (w *wire) connect(ctx context.Context, network string) (err error) {
	if w.raw, err = w.line.cfg.Dialer(ctx, network, w.addr); err != nil {
		return err
	}
	if w.line.cfg.TLS == nil {
		w.Conn = w.line.seen.Conn(w.raw)
		return nil
	}
	cfg := w.line.cfg.TLS.Clone()
	if host, _, err := net.SplitHostPort(w.addr); err == nil && cfg.ServerName == "" {
		cfg.ServerName = host
	}
	secure := tls.Client(w.raw, cfg)
	if err := secure.HandshakeContext(ctx); err != nil {
		w.raw.Close()
		return fmt.Errorf("TLS: %w", err)
	}
	w.Conn = w.line.seen.Conn(secure)
	return nil
}

// The first packet of a server: its length, the protocol, the timeout it grants in
// ms, and the session.
const welcome = 4 + 4 + 4 + 8

// Read hears the welcome before the library does: a session that is not ours must
// not be used, and the library would go on with it without a word.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if w.met {
		return n, err
	}
	if err != nil {
		w.line.failed(w.addr, unanswered(err))
		return n, err
	}
	if w.head = append(w.head, p[:n]...); len(w.head) < welcome {
		return n, nil
	}
	w.met = true
	granted := time.Duration(binary.BigEndian.Uint32(w.head[8:])) * time.Millisecond
	if err := w.line.hello(w.dialed, granted, int64(binary.BigEndian.Uint64(w.head[12:]))); err != nil {
		return 0, err
	}
	w.head = nil
	w.line.met(w.addr, granted)
	return n, nil
}

// Write never fails: it closes the connection instead, and reading tells. When the
// library cannot write its password on a new connection, it waits for ever for
// somebody to hear of that, and holds a lock meanwhile. A request that was not
// written has the same fate as one whose answer got lost.
func (w *wire) Write(p []byte) (int, error) {
	if _, err := w.Conn.Write(p); err != nil {
		w.Conn.Close()
	}
	return len(p), nil
}

// For the welcome the library waits 6.7 session timeouts, and without any end when
// the first bytes have come.

func (w *wire) SetReadDeadline(t time.Time) error {
	if t, ok := w.deadline(t); ok {
		return w.Conn.SetReadDeadline(t)
	}
	return nil
}

func (w *wire) SetWriteDeadline(t time.Time) error {
	if t, ok := w.deadline(t); ok {
		return w.Conn.SetWriteDeadline(t)
	}
	return nil
}

func (w *wire) deadline(t time.Time) (_ time.Time, ok bool) {
	if w.met {
		return t, true
	}
	return time.Now().Add(w.line.patience()), !t.IsZero()
}
