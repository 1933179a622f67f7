package keeper

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/slotmq/go-rmq/internal/sharing/keeper/session"
)

// View is which worker has which slots, as ZooKeeper has it. It is read node by node, so
// it is no picture of one moment.
type View struct {
	Tree        string       // its id, as in the definitions in Redis; empty if there is none
	Coordinator string       // id of a worker; empty if there is none
	Workers     []WorkerView // by id
	Topics      []TopicView  // by name

	path tree
}

// Mend returns how to repair a tree if the one of this id, which the definitions in Redis
// name, is missing: on which condition, and by which command.
func (v View) Mend(id string) (when, command string) {
	return repairIf, v.path.repair(id, v.Tree != "")
}

// WorkerView is one worker.
type WorkerView struct {
	ID, Host, Version string
	PID               int
	Topics            map[string]float64 // and its weight there
	Leaving           bool
	Held              map[string][]int // the slots that it really has, by its own word
	Since             time.Time        // since when, by its own clock
	Err               error            // why some of it is not known
}

// TopicView is one topic, with or without workers.
type TopicView struct {
	Name, Kind string
	Slots      int
	Literal    bool
	Notes      bool
	Gen        int64    // counts the assignments
	Owners     []string // the id of the worker that each slot was assigned to, or empty
	Err        error    // why some of it is not known
}

// View reads which worker has which slots in a namespace. It opens a session for that,
// which no worker notices.
func (k *Keeper) View(ctx context.Context, namespace string) (View, error) {
	if err := k.Validate(namespace); err != nil {
		return View{}, err
	}
	var seen View
	err := k.visit(ctx, func(ctx context.Context, s *session.Session) error {
		v := viewer{session: s, tree: newTree(k.cfg.Root, namespace)}
		err := session.Retry(ctx, func() (err error) {
			seen, err = v.all(ctx)
			return err
		})
		seen.path = v.tree
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		err = fmt.Errorf("%w: %w", ErrNoTree, err)
	}
	return seen, err
}

type viewer struct {
	session *session.Session
	tree
}

func (v viewer) all(ctx context.Context) (seen View, err error) {
	if err := v.session.Sync(ctx, v.workers()); err != nil { // the server may be behind
		return seen, err
	}
	coordinator, stat, err := v.session.Get(ctx, v.coordinator())
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return seen, err
	}
	if err == nil && stat.EphemeralOwner != 0 { // otherwise a person has made it, and there is no coordinator
		seen.Coordinator = string(coordinator)
	}
	if seen.Tree, err = v.seeTree(ctx); err != nil {
		return seen, err
	}
	if seen.Workers, err = v.seeWorkers(ctx); err != nil {
		return seen, err
	}
	seen.Topics, err = v.seeTopics(ctx)
	return seen, err
}

// seeWorkers returns the workers, by id.
func (v viewer) seeWorkers(ctx context.Context) (all []WorkerView, err error) {
	children, err := v.session.Children(ctx, v.workers())
	if err != nil {
		return nil, err
	}
	leaves := map[string]bool{}
	for _, child := range children {
		if id, leaving, err := splitWorker(child); leaving && err == nil {
			leaves[id] = true
		}
	}
	for _, child := range children {
		id, leaving, err := splitWorker(child)
		if leaving || err != nil {
			continue
		}
		w, err := v.seeWorker(ctx, id)
		if errors.Is(err, zk.ErrNoNode) {
			continue // gone since
		} else if err != nil {
			return nil, err
		}
		w.Leaving = leaves[id]
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b WorkerView) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// seeTopics returns the topics, by name.
func (v viewer) seeTopics(ctx context.Context) (all []TopicView, err error) {
	children, err := v.session.Children(ctx, v.topics())
	if err != nil {
		return nil, err
	}
	for _, child := range children {
		name, err := unescape(child)
		if err != nil {
			continue
		}
		t, err := v.seeTopic(ctx, name)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b TopicView) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

func (v viewer) seeTree(ctx context.Context) (string, error) {
	data, _, err := v.session.Get(ctx, v.meta())
	if errors.Is(err, zk.ErrNoNode) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	var n layoutNode
	if err := json.Unmarshal(data, &n); err != nil {
		return "", fmt.Errorf("read %s: %w", v.meta(), err)
	}
	return n.Tree, nil
}

func (v viewer) seeWorker(ctx context.Context, id string) (w WorkerView, err error) {
	w.ID = id
	data, _, err := v.session.Get(ctx, v.worker(id))
	if err != nil {
		return w, err
	}
	node, err := decodeWorker(data)
	w.Host, w.PID, w.Version, w.Topics, w.Err = node.Host, node.PID, node.Version, node.Topics, err
	data, _, err = v.session.Get(ctx, v.owned(id))
	if errors.Is(err, zk.ErrNoNode) {
		return w, nil // it has not written yet
	} else if err != nil {
		return w, err
	}
	w.Held, w.Since, err = decodeOwned(data)
	w.Err = errors.Join(w.Err, err)
	return w, nil
}

func (v viewer) seeTopic(ctx context.Context, name string) (t TopicView, err error) {
	t.Name = name
	data, _, err := v.session.Get(ctx, v.topic(name))
	if err != nil {
		return t, err
	}
	var def topicNode
	t.Err = json.Unmarshal(data, &def)
	t.Kind, t.Slots, t.Literal, t.Notes = def.Kind, def.Slots, def.Literal, def.Notes
	data, _, err = v.session.Get(ctx, v.assign(name))
	if errors.Is(err, zk.ErrNoNode) {
		return t, nil // no worker has come yet that handles it
	} else if err != nil {
		return t, err
	}
	a, err := decodeAssignment(data)
	t.Gen, t.Owners, t.Err = a.gen, a.owners, errors.Join(t.Err, err)
	return t, nil
}
