package steps

import (
	"context"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/wait"
	"github.com/slotmq/go-rmq/message"
)

// sweepMost is how many messages one step deletes at most. Their contents come back where a journal wants them.
const sweepMost = 400

// Sweep is the deletion of a part of what waits in one slot, step by step. A step names no message: it deletes what comes
// first, so a slot that gets new ones all the time would never be empty. So there are no more than at the beginning. What a try
// without an answer may have deleted is among them, or its repetition would take what was sent later.
type Sweep struct {
	Slot          int
	Part          byhand.PurgePart
	Left          int  // to be deleted
	Removed, Lost *int // counted
}

// SweepStep deletes the next ones. A call that has no answer is repeated for the rest, unless ctx has ended.
func (h *Steps) SweepStep(ctx context.Context, t ask.Topic, s *Sweep, pace *wait.Pace) error {
	k, most := h.Keys(t.Name, s.Slot), pace.Most(sweepMost)
	if err := pace.Wait(ctx, min(s.Left, most)); err != nil {
		return err
	}
	end := time.Now().Add(retryFor)
	gone := 0 // that many may be, by tries without an answer
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		begun, most := time.Now(), min(s.Left, most)
		cmd := byhand.PurgeCmd(context.WithoutCancel(ctx), k, t.Notes, byhand.Purge{Part: s.Part, Most: most, Bytes: stepBytes, Tell: h.Journal != nil})
		script.Exec(context.WithoutCancel(ctx), h.Redis, cmd)
		n, contents, err := byhand.Purged(k, cmd)
		if err == nil {
			*s.Removed += n
			if s.Left -= n; n == 0 { // workers were faster
				s.Left = 0
			}
			h.TellGone(t, s.Slot, begun, message.Cancelled, contents...)
			return nil
		}
		cluster.NoteError(ctx, h.Redis, err)
		if !cluster.Refused(err) {
			gone += most
			*s.Lost += most
			s.Left -= most // with none left, the next call deletes none, and shows that Redis answers again
		}
		if gone > 0 {
			err = fmt.Errorf("the answer is lost, so up to %d of slot %d may have been deleted: %w", gone, s.Slot, err)
		}
		if err = h.Explain(err); !cluster.Passes(err) || time.Now().After(end) {
			return err
		}
		if !wait.Sleep(ctx, pause) {
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}
