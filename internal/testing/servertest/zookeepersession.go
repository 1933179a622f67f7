package servertest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/go-zookeeper/zk"
)

// expireSession ends a session by taking it over, as its client would on a new
// connection, and closing it.
func expireSession(servers []string, dial zk.Dialer, id int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	seen := false
	err := poll(ctx, func() error {
		var err error
		for _, addr := range servers {
			var found bool
			found, err = closeSession(dial, addr, id)
			seen = seen || found
			if err == nil {
				return nil
			}
		}
		return err
	})
	if err == nil && !seen {
		err = errors.New("there is none") // or its password was made in a new way
	}
	if err != nil {
		return fmt.Errorf("expire session %#x: %w", id, err)
	}
	return nil
}

// closeSession speaks with one server, in ZooKeeper's own words: each packet has
// its length before it, all numbers are big-endian. With an error the session may
// still be there: the answer was lost, or its client has taken it back in between.
func closeSession(dial zk.Dialer, addr string, id int64) (found bool, err error) {
	const (
		patience = time.Second
		protocol = int32(0)
		lastZxid = int64(0)
		timeout  = int32(10_000)
		readOnly = false
		xid      = int32(1)
		opClose  = int32(-11)
	)
	conn, err := dial("tcp", addr, patience)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return false, err
	}
	var welcome struct { // and a password and a flag, which do not matter
		Protocol, Timeout int32
		Session           int64
	}
	password := sessionPassword(id)
	err = exchange(conn, &welcome, protocol, lastZxid, timeout, id, int32(len(password)), password, readOnly)
	if err != nil || welcome.Timeout == 0 {
		return false, err
	}
	var reply struct {
		Xid  int32
		Zxid int64
		Code int32
	}
	if err := exchange(conn, &reply, xid, opClose); err != nil {
		return true, err
	}
	if reply.Code != 0 {
		return true, fmt.Errorf("code %d", reply.Code)
	}
	return true, nil
}

// exchange sends one packet and reads the beginning of the answer.
func exchange(conn net.Conn, answer any, fields ...any) error {
	var packet []byte
	for _, f := range fields {
		var err error
		if packet, err = binary.Append(packet, binary.BigEndian, f); err != nil {
			return err
		}
	}
	packet = append(binary.BigEndian.AppendUint32(nil, uint32(len(packet))), packet...)
	if _, err := conn.Write(packet); err != nil {
		return err
	}
	var size int32
	if err := binary.Read(conn, binary.BigEndian, &size); err != nil {
		return err
	}
	packet = make([]byte, size)
	if _, err := io.ReadFull(conn, packet); err != nil {
		return err
	}
	_, err := binary.Decode(packet, binary.BigEndian, answer)
	return err
}

// sessionPassword is the password of a session. Clients do not tell theirs, but
// ZooKeeper keeps none: it computes them, with Java's random numbers, from the id.
func sessionPassword(id int64) []byte {
	const (
		secret     = 0xB3415C00 // ZooKeeperServer.superSecret
		multiplier = 0x5DEECE66D
		mask       = 1<<48 - 1
	)
	var password []byte
	state := (uint64(id) ^ secret ^ multiplier) & mask
	for range 4 {
		state = (state*multiplier + 0xB) & mask
		password = binary.LittleEndian.AppendUint32(password, uint32(state>>16))
	}
	return password
}
