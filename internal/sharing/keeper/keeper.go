package keeper

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/sharing/keeper/session"
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

	// Quiet returns how long ago Redis last answered the worker. The others can read it:
	// see Member.Alone. If it is nil, they cannot.
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

// visit calls f with a session of its own, which no worker notices.
func (k *Keeper) visit(ctx context.Context, f func(context.Context, *session.Session) error) error {
	s, err := session.Open(ctx, k.cfg.session())
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, cancel := s.Bound(ctx)
	defer cancel()
	return k.cfg.explain(f(ctx, s))
}
