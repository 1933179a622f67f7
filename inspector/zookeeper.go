package inspector

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/internal/sharing/keeper"
	"github.com/slotmq/go-rmq/slots"
)

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
