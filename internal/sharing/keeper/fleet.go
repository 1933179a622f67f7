package keeper

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/sharing/keeper/session"
)

// fleet is what the coordinator knows of the workers. A worker's node never changes, and
// is read once.
type fleet struct {
	workers map[string]workerNode // without those that leave
	lives   map[string]*life      // also of those that leave
	watch   <-chan zk.Event       // nil when it has fired: a worker came or went
	leavers []string
	newest  int64 // the last write of any worker, as far as is known
}

// refresh updates the fleet, and reports whether it has changed. If there is a watch
// already it leaves no second one.
func (f *fleet) refresh(ctx context.Context, s *session.Session, t tree, log *zap.Logger) (changed bool, err error) {
	var children []string
	if f.watch == nil {
		children, f.watch, err = s.ChildrenW(ctx, t.workers())
	} else {
		children, err = s.Children(ctx, t.workers())
	}
	if err != nil {
		return false, err
	}
	there, leaves := map[string]bool{}, map[string]bool{}
	for _, child := range children {
		id, leaving, err := splitWorker(child)
		switch {
		case err != nil:
			log.Warn("node is no worker's", zap.String("path", t.workers()+"/"+child), zap.Error(err))
		case leaving:
			leaves[id] = true
		default:
			there[id] = true
		}
	}
	workers, lives := make(map[string]workerNode, len(there)), make(map[string]*life, len(there))
	for id := range there {
		l := f.lives[id]
		if l == nil {
			l = &life{seen: time.Now()}
		}
		lives[id], l.leaves = l, leaves[id]
		if l.leaves {
			continue
		}
		w, seen := f.workers[id]
		if !seen {
			if w, err = readWorker(ctx, s, t.worker(id), l, log); errors.Is(err, zk.ErrNoNode) {
				continue // gone since; the watch fires, too
			} else if err != nil {
				return false, err
			}
			changed = true
		}
		workers[id] = w
	}
	changed = changed || len(workers) != len(f.workers)
	f.workers, f.lives = workers, lives
	return changed, nil
}

// readWorker reads a worker's node. A node that is damaged, that we may not read, or that
// belongs to no session, is a worker without topics.
func readWorker(ctx context.Context, s *session.Session, path string, l *life, log *zap.Logger) (workerNode, error) {
	data, stat, err := s.Get(ctx, path)
	if errors.Is(err, zk.ErrNoAuth) {
		log.Error("worker gets no slots: its node may not be read, as with another ZooKeeperConfig.Auth", zap.String("path", path), zap.Error(err))
		return workerNode{}, nil
	}
	if err != nil {
		return workerNode{}, err
	}
	if stat.EphemeralOwner == 0 {
		log.Error("worker gets no slots: its node belongs to no session, as in a copy of a tree", zap.String("path", path))
		return workerNode{}, nil
	}
	l.came, l.born = stat.Czxid, stat.Ctime
	w, err := decodeWorker(data)
	if errors.Is(err, errVersion) {
		return w, &newerError{path}
	}
	if err != nil {
		log.Error("worker gets no slots: its node is damaged", zap.String("path", path), zap.Error(err))
		return workerNode{}, nil
	}
	return w, nil
}

// of returns the workers that may get slots of a topic.
func (f *fleet) of(topic string) []weighted {
	var members []weighted
	for id, w := range f.workers {
		if weight := w.Topics[topic]; weight > 0 {
			members = append(members, weighted{id, weight})
		}
	}
	return members
}

// topics returns all topics that a worker handles.
func (f *fleet) topics() map[string]bool {
	topics := map[string]bool{}
	for _, w := range f.workers {
		for name := range maps.Keys(w.Topics) {
			topics[name] = true
		}
	}
	return topics
}
