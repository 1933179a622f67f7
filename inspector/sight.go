package inspector

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/internal/keeper"
)

// sight is what was last seen in ZooKeeper. Each look opens a session, so calls for one
// topic after the other share one.
type sight struct {
	mu   sync.Mutex
	at   time.Time
	view keeper.View
	err  error
}

// fresh is how long a sight serves.
const fresh = time.Second

// view is who works at what in ZooKeeper, where nobody is as good as nothing.
func (i *Inspector) view(ctx context.Context) (keeper.View, error) {
	zoo, ok := i.cfg.Slots.(interface {
		View(ctx context.Context, namespace string) (keeper.View, error)
	})
	if !ok {
		return keeper.View{}, errors.New("Config.Slots is not by slots.ZooKeeper")
	}
	s := &i.seen
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.at) < fresh {
		return s.view, s.err
	}
	view, err := zoo.View(ctx, i.cfg.Namespace)
	if errors.Is(err, keeper.ErrNoTree) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("ask ZooKeeper who works: %w", err)
	}
	if ctx.Err() == nil { // else another caller may have more luck
		s.at, s.view, s.err = time.Now(), view, err
	}
	return view, err
}
