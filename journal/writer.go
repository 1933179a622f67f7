package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/message"
)

const (
	enoughRows = 1000    // are written at once, without waiting for the Lag
	batchRows  = 4000    // in one transaction, at the most
	batchBytes = 4 << 20 // of them, unless it is a single row

	beat       = 5 * time.Second  // a writer with nothing to write says that it is alive
	vanished   = 6 * beat         // and is taken for dead when it has not said so for this long
	tryTimeout = 10 * time.Second // of one transaction

	firstPause = 50 * time.Millisecond // between tries
	lastPause  = 2 * time.Second
)

// run writes until Close.
func (j *Journal) run() {
	defer close(j.done)
	idle := time.NewTicker(beat)
	defer idle.Stop()
	for {
		select {
		case <-j.some:
			j.gather()
		case <-idle.C:
		case <-j.stop:
		}
		for more := true; more; more = j.more() {
			b := j.take()
			if b.rows() == 0 && b.gap == (gap{}) && !j.due() {
				j.reuse(b)
			} else if !j.keep(b) {
				return
			}
			idle.Reset(beat) // from now on, so that none seems to be silent for longer
		}
		if j.ended() {
			return
		}
	}
}

// more reports whether there is something to write at once. Rows that do not fill a transaction have
// the time of a Lag, so that under a steady load there is one transaction for each Lag.
func (j *Journal) more() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.queue) > 0 || (j.cfg.Wait || j.closing) && j.next.rows() > 0
}

// gather waits for more rows to be written with the first ones.
func (j *Journal) gather() {
	if j.cfg.Wait {
		return // while one transaction is committed, the rows of the next one gather
	}
	lag := time.NewTimer(j.cfg.Lag)
	defer lag.Stop()
	select {
	case <-j.enough:
	case <-lag.C:
	case <-j.stop:
	}
}

// take is what the next transaction writes, in the order in which it was told.
func (j *Journal) take() *batch {
	j.mu.Lock()
	defer j.mu.Unlock()
	b := j.next
	if len(j.queue) > 0 {
		b, j.queue = j.queue[0], j.queue[1:]
	} else {
		b.closed = time.Now()
		j.next = j.spare()
		select {
		case <-j.enough: // it was about these
		default:
		}
	}
	b.gap, j.lost = j.lost, gap{}
	return b
}

// spare is an empty batch. It runs with j.mu held.
func (j *Journal) spare() *batch {
	b := j.free
	j.free = nil
	if b == nil {
		b = &batch{}
	}
	return b
}

// due reports whether it is time to tell that this writer is alive.
func (j *Journal) due() bool { return j.flushes > 0 && time.Since(j.flushed) >= beat }

// keep writes a batch, however long that takes. It is false if Close ended the wait.
func (j *Journal) keep(b *batch) bool {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := j.flush(b)
		if err == nil {
			j.kept(b)
			return true
		}
		j.failed(err)
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-j.ctx.Done():
			wait.Stop()
			j.giveUp(b)
			return false
		}
	}
}

// kept tells what waits for a batch that it is committed.
func (j *Journal) kept(b *batch) {
	j.mu.Lock()
	j.held -= b.bytes
	back := j.cause != nil
	j.cause = nil
	if j.held < j.cfg.Buffer && !j.closing {
		j.refusal.Store(nil)
	}
	j.mu.Unlock()
	if back {
		j.log.Info("the journal is written again")
	}
	for _, w := range b.waiters {
		w.tell(nil)
	}
	select {
	case j.committed <- struct{}{}:
	default:
	}
	j.reuse(b)
}

// reuse keeps the room of a batch for another one.
func (j *Journal) reuse(b *batch) {
	clear(b.sent) // lets go of contents
	clear(b.ended)
	clear(b.waiters)
	*b = batch{sent: b.sent[:0], ended: b.ended[:0], waiters: b.waiters[:0]}
	j.mu.Lock()
	j.free = b
	j.mu.Unlock()
}

// failed notes why SQL does not take rows.
func (j *Journal) failed(err error) {
	err = j.dialect.advise("write", err)
	j.mu.Lock()
	first := j.cause == nil
	j.cause = err
	if j.refusal.Load() != nil && !j.closing { // with the newest cause
		err := fullError(err)
		j.refusal.Store(&err)
	}
	j.mu.Unlock()
	if first {
		j.log.Warn("the journal is not written; rows gather in memory", zap.Error(err))
	}
}

func fullError(cause error) error {
	if cause == nil {
		cause = errors.New("the database is slower than the sends")
	}
	return fmt.Errorf("%w: %w", ErrFull, cause)
}

// giveUp is the end of what could not be written before Close had to return.
func (j *Journal) giveUp(b *batch) {
	j.mu.Lock()
	all := append(append([]*batch{b}, j.queue...), j.next)
	for _, b := range all {
		j.lost.sends += int64(len(b.sent)) + b.gap.sends
		j.lost.endings += int64(len(b.ended)) + b.gap.endings
	}
	j.mu.Unlock()
	err := j.unwritten()
	for _, b := range all {
		for _, w := range b.waiters {
			w.tell(err)
		}
	}
}

// ended reports whether Close was called, and all is written.
func (j *Journal) ended() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.closing && j.next.rows() == 0 && len(j.queue) == 0 && j.lost == (gap{})
}

// Close writes what it was told, and returns when nothing of it runs any more. If ctx ends before, it says
// how much is not in SQL. It does not close the database. Close the client first: it still tells what
// has ended.
func (j *Journal) Close(ctx context.Context) error {
	j.mu.Lock()
	if !j.closing {
		j.closing = true
		closed := error(message.ErrClosed)
		j.refusal.Store(&closed)
		close(j.stop)
		j.endBeside()
	}
	j.mu.Unlock()
	j.beside.Wait()
	select {
	case <-j.done:
	case <-ctx.Done():
		j.cancel()
		<-j.done
	}
	j.signOff(ctx)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.lost.sends+j.lost.endings == 0 {
		return nil
	}
	err := fmt.Errorf("journal: close: %d sends and %d ends of messages are not in SQL", j.lost.sends, j.lost.endings)
	if j.cause != nil {
		err = fmt.Errorf("%w: %w", err, j.cause)
	}
	return err
}
