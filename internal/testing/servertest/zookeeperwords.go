package servertest

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// ask puts one of ZooKeeper's four letter words to the server.
func (s *ZooKeeperServer) ask(word string, patience time.Duration) (string, error) {
	conn, err := s.dial("tcp", s.addr, patience)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	return string(answer), err
}

// status is what a serving ZooKeeper says about itself.
type status struct {
	mode string // standalone, leader, follower
	zxid uint64 // of its last write; the upper half counts the leaders there were
}

// status asks with srvr: ruok is answered before the server serves.
func (s *ZooKeeperServer) status(patience time.Duration) (status, error) {
	text, err := s.ask("srvr", patience)
	if err != nil {
		return status{}, err
	}
	st := status{mode: wordField(text, "Mode", ":")}
	if st.mode == "" {
		return status{}, errors.New(strings.TrimSpace(text)) // not currently serving requests
	}
	st.zxid, err = strconv.ParseUint(strings.TrimPrefix(wordField(text, "Zxid", ":"), "0x"), 16, 64)
	if err != nil {
		return status{}, fmt.Errorf("srvr of %s: %w", s.addr, err)
	}
	return st, nil
}

// wordField picks one field out of the answer to a word; empty when it is absent.
func wordField(text, field, separator string) string {
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(line, separator); ok && name == field {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
