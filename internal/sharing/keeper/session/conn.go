package session

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net"
	"time"
)

// conn is the connection that the library gets. It reads the server's welcome, which
// the library does not pass on, and prevents some hangs of the library.
type conn struct {
	net.Conn
	raw    net.Conn // below TLS
	dialer *dialer
	addr   string
	head   []byte // of the server's first packet
	met    bool   // that packet was read

	dialed time.Time // when the connection was begun
}

func (c *conn) connect(ctx context.Context, network string) (err error) {
	if c.raw, err = c.dialer.cfg.Dialer(ctx, network, c.addr); err != nil {
		return err
	}
	if c.dialer.cfg.TLS == nil {
		c.Conn = c.dialer.seen.Conn(c.raw)
		return nil
	}
	cfg := c.dialer.cfg.TLS.Clone()
	if host, _, err := net.SplitHostPort(c.addr); err == nil && cfg.ServerName == "" {
		cfg.ServerName = host
	}
	secure := tls.Client(c.raw, cfg)
	if err := secure.HandshakeContext(ctx); err != nil {
		c.raw.Close()
		return fmt.Errorf("TLS: %w", err)
	}
	c.Conn = c.dialer.seen.Conn(secure)
	return nil
}

// The first packet of a server: its length, the protocol, the timeout it grants in
// ms, and the session.
const welcome = 4 + 4 + 4 + 8

// Read reads the welcome before the library does: a session that is not ours must
// not be used, and the library would use it without a word.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.met {
		return n, err
	}
	if err != nil {
		c.dialer.failed(c.addr, unanswered(err))
		return n, err
	}
	if c.head = append(c.head, p[:n]...); len(c.head) < welcome {
		return n, nil
	}
	c.met = true
	granted := time.Duration(binary.BigEndian.Uint32(c.head[8:])) * time.Millisecond
	if err := c.dialer.welcomed(c.dialed, granted, int64(binary.BigEndian.Uint64(c.head[12:]))); err != nil {
		return 0, err
	}
	c.head = nil
	c.dialer.met(c.addr, granted)
	return n, nil
}

// Write never fails: it closes the connection instead, so the next Read fails. When the
// library cannot write its password on a new connection, it waits for ever for a reader
// of that error, and holds a lock all the time. A request that was not written ends
// like one whose answer got lost.
func (c *conn) Write(p []byte) (int, error) {
	if _, err := c.Conn.Write(p); err != nil {
		c.Conn.Close()
	}
	return len(p), nil
}

// The library waits 6.7 session timeouts for the welcome; once its first bytes have
// come, for ever.

func (c *conn) SetReadDeadline(t time.Time) error {
	if t, ok := c.deadline(t); ok {
		return c.Conn.SetReadDeadline(t)
	}
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	if t, ok := c.deadline(t); ok {
		return c.Conn.SetWriteDeadline(t)
	}
	return nil
}

func (c *conn) deadline(t time.Time) (_ time.Time, ok bool) {
	if c.met {
		return t, true
	}
	return time.Now().Add(c.dialer.connectTimeout()), !t.IsZero()
}
