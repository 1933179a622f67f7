package keeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/message"
)

// Keeper is a Config and what all its members know.
type Keeper struct {
	cfg  Config
	dead sync.Map // path of a worker's node → struct{}: it is gone for ever

	recheck time.Duration
}

// Worker describes the worker that joins.
type Worker struct {
	Name      string // shown to people
	Namespace string
	Topics    []Topic

	// Tree is the tree of the session before, of a worker that has lost one; another tree
	// is ErrConflict. A topic whose definition differs by now is not handled until it
	// agrees; the worker's other topics are.
	Tree string

	// Own is called with the slots of a topic that the worker should have, whenever they
	// change. It is called by one goroutine at a time, and must return soon.
	Own func(topic string, slots []int)

	// Quiet returns for how long the worker has had no answer from what it works with. The
	// others can read it: see Member.Alone. If it is nil, they cannot.
	Quiet func() time.Duration

	Logger *zap.Logger
}

// Topic is a topic's definition.
type Topic struct {
	Name    string // without the namespace
	Kind    string
	Slots   int
	Literal bool
	Notes   bool
}

// layout is one higher for a topic with notes, as it is in Redis.
func (t Topic) layout() int {
	if t.Notes {
		return layout + 1
	}
	return layout
}

// recheck is how often everything that is watched is also read, in case a watch missed
// a change.
const recheck = 30 * time.Second

func New(cfg Config) *Keeper { return &Keeper{cfg: cfg.withDefaults(), recheck: recheck} }

// Keeper makes k a slots.Sharing. Nothing outside this module can be one.
func (k *Keeper) Keeper() *Keeper { return k }

// Validate reports what is wrong with the Config, or with the namespace of a worker,
// as a *message.InvalidError.
func (k *Keeper) Validate(namespace string) error {
	if err := k.cfg.validate(); err != nil {
		return err
	}
	if slices.Contains(ownNames, namespace) || k.cfg.Root == "/" && namespace == "zookeeper" {
		return &message.InvalidError{Field: "Config.Namespace", Value: strconv.Quote(namespace), Limit: "another name: with ZooKeeper that one has a meaning of its own below ZooKeeperConfig.Root"}
	}
	return nil
}

// Join opens a session, compares the topics' definitions, registers the worker,
// and returns when Own was called once for every topic that has an assignment.
// A difference of definitions is ErrConflict, at the first time.
func (k *Keeper) Join(ctx context.Context, w Worker) (*Member, error) {
	if err := k.Validate(w.Namespace); err != nil {
		return nil, err
	}
	s, err := open(ctx, k.cfg)
	if err != nil {
		return nil, err
	}
	m := newMember(k, w, s)
	ctx, cancel := k.cfg.bound(ctx)
	defer cancel()
	if err = insist(ctx, func() error { return m.register(ctx) }); err == nil {
		err = m.start(ctx)
	}
	if err != nil {
		m.CloseIn(ctx)
		return nil, k.cfg.explain(err)
	}
	return m, nil
}

// explain adds what you can do about an error.
func (c Config) explain(err error) error {
	switch user, _, _ := strings.Cut(c.Auth, ":"); {
	case !errors.Is(err, zk.ErrNoAuth) && !errors.Is(err, zk.ErrAuthFailed):
		return err
	case user == "":
		return fmt.Errorf("%w: its ACL does not let all users do that; see ZooKeeperConfig.Auth", err)
	default:
		return fmt.Errorf("%w: its ACL does not let %q do that, or ZooKeeperConfig.Auth has another password", err, user)
	}
}
