package keeper

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/slotmq/go-rmq/internal/diff"
	"github.com/slotmq/go-rmq/internal/version"
)

// ownNames are the nodes of a tree. Without a namespace they lie where namespaces do.
var ownNames = []string{"meta", "topics", "workers", "coordinator", "assign", "owned"}

// register makes what the worker needs in ZooKeeper, itself last. It may be repeated.
func (m *Member) register(ctx context.Context) error {
	s := m.session
	var paths []string
	for _, p := range []string{string(newTree(m.keeper.cfg.Root, "")), string(m.tree)} {
		if p != "" && !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	for _, p := range append(paths, m.tree.topics(), m.tree.workers(), m.tree.assigns(), m.tree.owners()) {
		if err := s.ensure(ctx, p, nil); err != nil {
			return err
		}
	}
	if err := m.agreeOnLayout(ctx); err != nil {
		return err
	}
	node := workerNode{Topics: map[string]float64{}, PID: os.Getpid(), Version: version.Number}
	node.Host, _ = os.Hostname() // for people
	for _, t := range m.worker.Topics {
		switch err := m.agree(ctx, t); {
		case m.worker.Tree != "" && errors.Is(err, ErrConflict):
			m.judge(t.Name, err)
		case err != nil:
			return err
		}
		node.Topics[t.Name] = m.keeper.cfg.Weight
	}
	data, err := json.Marshal(node)
	if err != nil {
		return err
	}
	if err := m.claimed(ctx, m.tree.owned(m.id), m.holdings.encode()); err != nil {
		return err
	}
	if err := m.claimed(ctx, m.tree.worker(m.id), data); err != nil {
		return err
	}
	return m.checkMadeAgain(ctx)
}

// checkMadeAgain finds out whether the tree was made again a moment ago. Workers whose
// nodes were deleted look dead, but may not have noticed yet, and have a handler running.
// They will have stopped when a session timeout is over.
func (m *Member) checkMadeAgain(ctx context.Context) error {
	if !m.again {
		return nil
	}
	_, tree, err := m.session.exists(ctx, m.tree.meta())
	if err != nil {
		return err
	}
	there, own, err := m.session.exists(ctx, m.tree.worker(m.id))
	if err != nil || !there {
		return err
	}
	if timeout := m.session.timeout(); time.Duration(own.Ctime-tree.Mtime)*time.Millisecond < timeout {
		m.provesFrom = time.Now().Add(timeout)
	}
	return nil
}

// claimed claims a node whose name no other worker knows.
func (m *Member) claimed(ctx context.Context, path string, data []byte) error {
	mine, err := m.session.claim(ctx, path, data)
	if err == nil && !mine {
		err = fmt.Errorf("create %s: %w", path, zk.ErrNodeExists)
	}
	return err
}

// agreeOnLayout keeps programs apart that would not understand each other, and finds
// out which tree this is.
func (m *Member) agreeOnLayout(ctx context.Context) error {
	ours, theirs := layoutNode{Layout: layout, Tree: m.treeID}, madeAgain{}
	var err error
	if ours.Tree == "" && m.worker.Tree != "" {
		// Not made here: these may be other servers than those that had it.
		err = m.read(ctx, m.tree.meta(), &theirs)
		if errors.Is(err, zk.ErrNoNode) {
			return fmt.Errorf("compare %s: %w: the tree was %s and is gone; %s %s", m.tree.meta(), ErrConflict, m.worker.Tree, repairIf, m.tree.repair(m.worker.Tree, false))
		}
	} else {
		ours.Tree = cmp.Or(ours.Tree, rand.Text()[:8])
		err = m.writtenOnce(ctx, m.tree.meta(), ours, &theirs)
	}
	if err != nil {
		return err
	}
	if m.treeID == "" { // the start
		m.treeID = theirs.Tree
	}
	was := cmp.Or(m.worker.Tree, m.treeID)
	switch {
	case ours.Layout != theirs.Layout:
		return fmt.Errorf("compare %s: %w: the layout is %d in this program and %d in ZooKeeper", m.tree.meta(), ErrConflict, ours.Layout, theirs.Layout)
	case was != theirs.Tree:
		return fmt.Errorf("compare %s: %w: the tree was %s and is now %s; %s %s", m.tree.meta(), ErrConflict, was, theirs.Tree, repairIf, m.tree.repair(was, true))
	}
	m.again = theirs.Again
	return nil
}

// agree writes a topic's definition if there is none, and compares it otherwise.
func (m *Member) agree(ctx context.Context, t Topic) error {
	ours := topicNode{Kind: t.Kind, Slots: t.Slots, Literal: t.Literal, Sharing: "zookeeper", Layout: t.layout()}
	var theirs topicNode
	if err := m.writtenOnce(ctx, m.tree.topic(t.Name), ours, &theirs); err != nil {
		return err
	}
	fields := diff.Fields{In: "ZooKeeper"}
	fields.Compare("Kind", ours.Kind, theirs.Kind)
	fields.Compare("Slots", ours.Slots, theirs.Slots)
	fields.Compare("Literal", ours.Literal, theirs.Literal)
	fields.CompareLayout(layout, ours.Layout, theirs.Layout)
	fields.Compare("sharing of slots", ours.Sharing, theirs.Sharing)
	return fields.Err(t.Name, ErrConflict)
}

// writtenOnce writes a node if it does not exist, and reads it: what was written first
// counts, perhaps by another worker.
func (m *Member) writtenOnce(ctx context.Context, path string, ours, theirs any) error {
	err := m.read(ctx, path, theirs)
	if !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	written, err := json.Marshal(ours)
	if err != nil {
		return err
	}
	if err := m.session.create(ctx, path, written); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return err
	}
	return m.read(ctx, path, theirs)
}

func (m *Member) read(ctx context.Context, path string, theirs any) error {
	data, _, err := m.session.get(ctx, path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, theirs); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
