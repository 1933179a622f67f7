package keeper

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
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
	node := workerNode{Topics: map[string]float64{}, PID: os.Getpid(), Version: programVersion()}
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
	return m.recall(ctx)
}

// recall finds out whether the tree was made again a moment ago. With their nodes, workers
// look dead that may not have heard of it yet, and have a handler running. They will have
// stopped when a session timeout is over.
func (m *Member) recall(ctx context.Context) error {
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
		m.proves = time.Now().Add(timeout)
	}
	return nil
}

// claimed claims a node whose name nobody else knows.
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
		// Not made here: nobody knows whether these are the servers that had it.
		err = m.read(ctx, m.tree.meta(), &theirs)
		if errors.Is(err, zk.ErrNoNode) {
			return fmt.Errorf("compare %s: %w: the tree was %s and is gone; %s %s", m.tree.meta(), ErrConflict, m.worker.Tree, mendIf, m.tree.mend(m.worker.Tree, false))
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
		return fmt.Errorf("compare %s: %w: the tree was %s and is now %s; %s %s", m.tree.meta(), ErrConflict, was, theirs.Tree, mendIf, m.tree.mend(was, true))
	}
	m.again = theirs.Again
	return nil
}

// agree writes a topic's definition where there is none, and compares it where there
// is one.
func (m *Member) agree(ctx context.Context, t Topic) error {
	ours := topicNode{Kind: t.Kind, Slots: t.Slots, Literal: t.Literal, Sharing: "zookeeper", Layout: layout}
	var theirs topicNode
	if err := m.writtenOnce(ctx, m.tree.topic(t.Name), ours, &theirs); err != nil {
		return err
	}
	var differs []string
	compare := func(field, ours, theirs string) {
		if ours != theirs {
			differs = append(differs, field+" is "+ours+" in this program and "+theirs+" in ZooKeeper")
		}
	}
	compare("Kind", ours.Kind, theirs.Kind)
	compare("Slots", strconv.Itoa(ours.Slots), strconv.Itoa(theirs.Slots))
	compare("Literal", strconv.FormatBool(ours.Literal), strconv.FormatBool(theirs.Literal))
	compare("layout version", strconv.Itoa(ours.Layout), strconv.Itoa(theirs.Layout))
	compare("sharing of slots", ours.Sharing, theirs.Sharing)
	if differs != nil {
		return fmt.Errorf("define topic %s: %w: %s", t.Name, ErrConflict, strings.Join(differs, ", "))
	}
	return nil
}

// writtenOnce writes a node that is not there, and reads what it holds: what was written
// first counts, perhaps by another.
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

// programVersion is the version of this module in the program, for people.
func programVersion() string {
	const module = "github.com/slotmq/go-rmq"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, dep := range append(info.Deps, &info.Main) {
		if dep.Path == module {
			return dep.Version
		}
	}
	return ""
}
