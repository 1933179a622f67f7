package who

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/sharing/keeper"
	"github.com/slotmq/go-rmq/slots"
)

// Who asks who works at topics.
type Who struct {
	*ask.Ground
	view lastView
}

// Of is Who on a ground.
func Of(g *ask.Ground) *Who { return &Who{Ground: g} }

// ZooKeeper is who works at what there, as of a moment ago.
func (w *Who) ZooKeeper(ctx context.Context) (keeper.View, error) {
	return w.view.look(ctx, w.Slots, w.Namespace)
}

// lastView is what was last seen in ZooKeeper. Each look opens a session, so questions about one
// topic after the other share one look.
type lastView struct {
	mu   sync.Mutex
	at   time.Time
	view keeper.View
	err  error
}

// fresh is how long a look serves.
const fresh = time.Second

// look returns who works at what in ZooKeeper. Where no worker has ever been there is
// nothing to see, which is no error.
func (l *lastView) look(ctx context.Context, by slots.Sharing, namespace string) (keeper.View, error) {
	if by == nil {
		return keeper.View{}, errors.New("Config.Slots is not by slots.ZooKeeper")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.at) < fresh {
		return l.view, l.err
	}
	view, err := by.Keeper().View(ctx, namespace)
	if errors.Is(err, keeper.ErrNoTree) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("ask ZooKeeper who works: %w", err)
	}
	if ctx.Err() == nil { // else another caller may have more luck
		l.at, l.view, l.err = time.Now(), view, err
	}
	return view, err
}
