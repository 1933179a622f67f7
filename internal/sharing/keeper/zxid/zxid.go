package zxid

import (
	"encoding/binary"
	"net"
	"slices"
	"sync"
)

// Seen is what one client has heard of, on all its connections. The zero value is
// nothing.
type Seen struct {
	mu   sync.Mutex
	last int64
}

// Conn is what the library gets in place of a connection. It has one at a time,
// writes whole packets, and closes one before it opens the next.
func (s *Seen) Conn(c net.Conn) net.Conn { return &conn{Conn: c, seen: s} }

func (s *Seen) note(zxid int64) {
	s.mu.Lock()
	s.last = zxid
	s.mu.Unlock()
}

func (s *Seen) known() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

type conn struct {
	net.Conn
	seen *Seen

	// Of what is written.
	begun bool  // the first packet was
	since int64 // what was heard of before this connection

	// Of what is read.
	welcomed bool           // the first packet was
	head     [answered]byte // of the packet at hand
	has      int            // bytes of it
	rest     int            // bytes of the packet behind its head
}

// Each packet begins with the length of what follows it.
const (
	length = 4

	// A client's first packet: protocol, zxid, timeout, session. All others: a number,
	// the kind of request, and of opSetWatches the zxid.
	connectZxid    = length + 4
	connectSession = connectZxid + 8 + 4
	kind           = length + 4
	watchesZxid    = kind + 4
	opSetWatches   = 101

	// A server's packets, all but the first: the number of the request, which is
	// negative without a request, and the zxid.
	answerZxid = length + 4
	answered   = answerZxid + 8
)

// Write puts our zxid in place of the library's.
func (c *conn) Write(p []byte) (int, error) {
	at := 0
	switch {
	case !c.begun && len(p) >= connectSession+8:
		if binary.BigEndian.Uint64(p[connectSession:]) == 0 {
			c.seen.note(0) // of another session; the servers may be others as well
		}
		at, c.since = connectZxid, c.seen.known()
	case c.begun && len(p) >= watchesZxid+8 && binary.BigEndian.Uint32(p[kind:]) == opSetWatches:
		at = watchesZxid
	}
	c.begun = true
	if at > 0 {
		p = slices.Clone(p)
		binary.BigEndian.PutUint64(p[at:], uint64(c.since))
	}
	return c.Conn.Write(p)
}

// Read takes the zxid out of each answer.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.hear(p[:n])
	return n, err
}

// hear is called with all that is read, in pieces of any size.
func (c *conn) hear(b []byte) {
	for len(b) > 0 {
		if c.rest > 0 {
			n := min(c.rest, len(b))
			c.rest, b = c.rest-n, b[n:]
			continue
		}
		size := answered
		if !c.welcomed {
			size = length
		}
		n := copy(c.head[c.has:size], b)
		if hide := max(0, answerZxid-c.has); hide < n {
			clear(b[hide:n])
		}
		c.has, b = c.has+n, b[n:]
		if c.has < size {
			return
		}
		c.rest = max(0, int(binary.BigEndian.Uint32(c.head[:]))+length-size)
		if c.welcomed {
			number, zxid := int32(binary.BigEndian.Uint32(c.head[length:])), int64(binary.BigEndian.Uint64(c.head[answerZxid:]))
			if number >= 0 && zxid > 0 {
				c.seen.note(zxid)
			}
		}
		c.has, c.welcomed = 0, true
	}
}
