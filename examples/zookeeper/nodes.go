package main

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/slotmq/go-rmq/examples/internal/store"
)

type silence struct{}

func (silence) Printf(string, ...any) {}

// connect returns a connection with a session.
func connect(servers []string) (*zk.Conn, error) {
	conn, _, err := zk.Connect(servers, 5*time.Second, zk.WithLogger(silence{}))
	if err != nil {
		return nil, err
	}
	for until := time.Now().Add(time.Minute); conn.State() != zk.StateHasSession; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			conn.Close()
			return nil, fmt.Errorf("ZooKeeper at %s does not answer", strings.Join(servers, ","))
		}
	}
	return conn, nil
}

// printNodes prints what ZooKeeper has of this run.
func printNodes(s *store.Store) error {
	conn, err := connect(s.ZooKeeper)
	if err != nil {
		return err
	}
	defer conn.Close()
	return printBelow(conn, path.Join("/rmq", s.Namespace))
}

func printBelow(conn *zk.Conn, node string) error {
	value, _, err := conn.Get(node)
	if err == nil && len(value) > 0 {
		fmt.Printf("  %s  %.100s\n", node, value)
	} else if err == nil {
		fmt.Printf("  %s\n", node)
	}
	children, _, err := conn.Children(node)
	if errors.Is(err, zk.ErrNoNode) { // it has gone meanwhile
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", node, err)
	}
	for _, child := range children {
		if err := printBelow(conn, path.Join(node, child)); err != nil {
			return err
		}
	}
	return nil
}
