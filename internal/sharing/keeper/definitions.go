package keeper

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/slotmq/go-rmq/internal/protocol/diff"
	"github.com/slotmq/go-rmq/internal/sharing/keeper/session"
)

// definitions are what all workers have in common: the layout, the tree, and the topics.
type definitions struct {
	session *session.Session
	tree    tree
	topics  []Topic
	before  string // the id of the tree of the session before, of a worker that has lost one

	id    string // of the tree; not changed after the start
	again bool   // the tree was made again
}

// compare compares the definitions again and again, and reports for each topic what it has
// found: a definition may have been deleted, or replaced while no worker handled the topic.
func (d *definitions) compare(ctx context.Context, every time.Duration, found func(topic string, err error)) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		layout := d.agreeOnLayout(ctx)
		for _, t := range d.topics {
			err := layout
			if err == nil {
				err = d.agree(ctx, t)
			}
			if ctx.Err() != nil {
				return
			}
			found(t.Name, err)
		}
	}
}

// agreeOnLayout refuses to work beside programs of another layout, and finds out which
// tree this is.
func (d *definitions) agreeOnLayout(ctx context.Context) error {
	ours, theirs := layoutNode{Layout: layout, Tree: d.id}, madeAgain{}
	var err error
	if ours.Tree == "" && d.before != "" {
		// Not made here: these may be other servers than those that had it.
		err = d.read(ctx, d.tree.meta(), &theirs)
		if errors.Is(err, zk.ErrNoNode) {
			return fmt.Errorf("compare %s: %w: the tree was %s and is gone; %s %s", d.tree.meta(), ErrConflict, d.before, repairIf, d.tree.repair(d.before, false))
		}
	} else {
		ours.Tree = cmp.Or(ours.Tree, rand.Text()[:8])
		err = d.writtenOnce(ctx, d.tree.meta(), ours, &theirs)
	}
	if err != nil {
		return err
	}
	if d.id == "" { // the start
		d.id = theirs.Tree
	}
	was := cmp.Or(d.before, d.id)
	switch {
	case ours.Layout != theirs.Layout:
		return fmt.Errorf("compare %s: %w: the layout is %d in this program and %d in ZooKeeper", d.tree.meta(), ErrConflict, ours.Layout, theirs.Layout)
	case was != theirs.Tree:
		return fmt.Errorf("compare %s: %w: the tree was %s and is now %s; %s %s", d.tree.meta(), ErrConflict, was, theirs.Tree, repairIf, d.tree.repair(was, true))
	}
	d.again = theirs.Again
	return nil
}

// agree writes a topic's definition if there is none, and compares it otherwise.
func (d *definitions) agree(ctx context.Context, t Topic) error {
	ours := topicNode{Kind: t.Kind, Slots: t.Slots, Literal: t.Literal, Notes: t.Notes, Sharing: "zookeeper", Layout: layout}
	var theirs topicNode
	if err := d.writtenOnce(ctx, d.tree.topic(t.Name), ours, &theirs); err != nil {
		return err
	}
	fields := diff.Fields{In: "ZooKeeper"}
	fields.Compare("Kind", ours.Kind, theirs.Kind)
	fields.Compare("Slots", ours.Slots, theirs.Slots)
	fields.Compare("Literal", ours.Literal, theirs.Literal)
	fields.Compare("Notes", ours.Notes, theirs.Notes)
	fields.Compare("layout version", ours.Layout, theirs.Layout)
	fields.Compare("sharing of slots", ours.Sharing, theirs.Sharing)
	return fields.Err(t.Name, ErrConflict)
}

// writtenOnce writes a node if it does not exist, and reads it: what was written first
// counts, perhaps by another worker.
func (d *definitions) writtenOnce(ctx context.Context, path string, ours, theirs any) error {
	err := d.read(ctx, path, theirs)
	if !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	written, err := json.Marshal(ours)
	if err != nil {
		return err
	}
	if err := d.session.Create(ctx, path, written); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return err
	}
	return d.read(ctx, path, theirs)
}

func (d *definitions) read(ctx context.Context, path string, theirs any) error {
	data, _, err := d.session.Get(ctx, path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, theirs); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
