package keeper

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/slotmq/go-rmq/internal/sharing/keeper/session"
	"github.com/slotmq/go-rmq/internal/version"
)

// makeTree makes the nodes that stay, unless they are there.
func makeTree(ctx context.Context, s *session.Session, root, t tree) error {
	var paths []string
	for _, p := range []string{string(root), string(t)} {
		if p != "" && !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	for _, p := range append(paths, t.topics(), t.workers(), t.assigns(), t.owners()) {
		if err := s.Ensure(ctx, p, nil); err != nil {
			return err
		}
	}
	return nil
}

// describe is the contents of a worker's node.
func describe(topics []Topic, weight float64) ([]byte, error) {
	node := workerNode{Topics: map[string]float64{}, PID: os.Getpid(), Version: version.Number}
	node.Host, _ = os.Hostname() // for people
	for _, t := range topics {
		node.Topics[t.Name] = weight
	}
	return json.Marshal(node)
}

// claim claims a node whose name no other worker knows.
func claim(ctx context.Context, s *session.Session, path string, data []byte) error {
	mine, err := s.Claim(ctx, path, data)
	if err == nil && !mine {
		err = fmt.Errorf("create %s: %w", path, zk.ErrNodeExists)
	}
	return err
}
