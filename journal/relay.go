package journal

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/message"
)

// relaying is the row of rmq_state that says until when some process relays, in ms.
const relaying = "relay"

const (
	sendMargin = 2 * time.Second // of the lease are left when a send gives up
	soon       = 5 * time.Millisecond
	mostRest   = 5 * time.Second // of a topic whose sends fail
)

// Sender sends messages: an rmq.Client, or a producer. R is what it calls a receipt.
type Sender[R any] interface {
	SendBatch(ctx context.Context, t message.Topic, ms []message.Message) ([]R, error)
}

// Relay sends what SendTx has written and a commit has made true, until ctx ends or the journal is closed;
// then it returns nil. Run it in any number of processes: one of them works, and another one goes on
// when that one has ended, or 8 s after it was killed. The client may have this journal, too.
//
// A row is deleted when its send has returned nil, so each message is sent at least once. The messages
// of one topic are sent in the order of their ids. A row that is not sent, because Redis is away, the slot full or a
// replica missing, is tried again, at first soon and then each 5 s; so is what comes behind it in its topic, and
// what was sent behind it with the same content, so that the last one of a content has the last word.
// Other topics go on. What is refused whenever it is sent is put aside: see [Outbox].
//
// It takes pages of up to 500 rows, one transaction each. A relay that finds nothing asks the database one
// question each Config.Poll.
func Relay[R any](ctx context.Context, j *Journal, to Sender[R]) error {
	if j == nil || to == nil {
		return errors.New("journal: relay: it needs a journal, and a client to send by")
	}
	r := &relay{Journal: j, lease: lease{Journal: j, name: relaying}, resting: map[string]*rest{}}
	r.to = func(ctx context.Context, t message.Topic, ms []message.Message) error {
		_, err := to.SendBatch(checked.Sent(ctx), t, ms)
		return err
	}
	r.run(ctx)
	return nil
}

// relay is one call of Relay.
type relay struct {
	*Journal
	lease   lease
	to      func(context.Context, message.Topic, []message.Message) error
	resting map[string]*rest // topics whose sends fail
}

// rest is the pause of a topic.
type rest struct {
	pause time.Duration
	until time.Time
}

func (r *relay) run(ctx context.Context) {
	defer r.lease.release()
	var trouble bool // with the database
	for pause := soon; ; {
		found, err := r.round(ctx)
		switch {
		case err != nil && !trouble && ctx.Err() == nil:
			r.log.Warn("the outbox is not relayed; it is tried again", zap.Error(r.dialect.advise("relay", err)))
		case err == nil && trouble:
			r.log.Info("the outbox is relayed again")
		}
		trouble = err != nil
		switch {
		case found >= pageRows:
			pause = 0
		case found > 0:
			pause = soon
		default:
			pause = min(max(2*pause, soon), r.cfg.Poll)
		}
		if !r.wait(ctx, &pause) {
			return
		}
	}
}

// wait waits for the next look. It is false if the relay has to end.
func (r *relay) wait(ctx context.Context, pause *time.Duration) bool {
	next := time.NewTimer(*pause)
	defer next.Stop()
	for {
		select {
		case <-next.C:
			return ctx.Err() == nil && !r.closed()
		case <-r.committing: // most likely it commits in a moment
			if *pause > soon {
				*pause = soon
				next.Reset(soon)
			}
		case <-ctx.Done():
			return false
		case <-r.stop:
			return false
		}
	}
}

// round sends a page of each topic, and returns how many rows the largest of them had.
func (r *relay) round(ctx context.Context) (found int, err error) {
	for topic := ""; ; {
		var next sql.NullString
		err := r.db.QueryRowContext(ctx, r.dialect.bind("SELECT MIN(topic) FROM rmq_outbox WHERE topic > ?"), topic).Scan(&next)
		if err != nil || !next.Valid {
			return found, err
		}
		topic = next.String
		if rest := r.resting[topic]; rest != nil && time.Now().Before(rest.until) {
			continue
		}
		n, err := r.topic(ctx, topic)
		if err != nil {
			return found, err
		}
		found = max(found, n)
	}
}

// topic sends the next page of a topic, unless another process does. It returns how many rows it
// has looked at.
func (r *relay) topic(ctx context.Context, name string) (int, error) {
	p, err := r.page(ctx, name)
	if err != nil || p.rows() == 0 {
		return 0, err
	}
	if time.Until(r.lease.until) < leaseFor-time.Second {
		if held, err := r.lease.hold(ctx, nil); err != nil || !held {
			return 0, err
		}
		if p, err = r.page(ctx, name); err != nil { // some of it may be sent by now
			return 0, err
		}
	}
	sending, cancel := context.WithDeadline(ctx, r.lease.until.Add(-sendMargin))
	defer cancel()
	p.send(sending, r.to)
	if ctx.Err() == nil {
		r.note(name, p.trouble)
	}
	return p.rows(), r.settle(ctx, p)
}

// settle writes down what has become of a page, unless another process has taken over: then that one
// sends it, too. It does so also when ctx has ended.
func (r *relay) settle(ctx context.Context, p *page) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendMargin)
	defer cancel()
	held, err := r.lease.hold(ctx, func(tx *sql.Tx) error {
		for ids := p.sent; len(ids) > 0; {
			n := min(len(ids), pageRows)
			if _, err := tx.ExecContext(ctx, r.dialect.bind("DELETE FROM rmq_outbox WHERE id IN ("+marks(n)+")"), args(ids[:n])...); err != nil {
				return err
			}
			ids = ids[n:]
		}
		for _, x := range p.refused {
			if _, err := tx.ExecContext(ctx, r.dialect.bind("UPDATE rmq_outbox SET refused = ? WHERE id = ?"), plain(oneLine(x.why.Error())), x.id); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && held {
		for _, x := range p.refused {
			r.log.Error("a message of the outbox is refused; its row is put aside", zap.String("topic", p.topic), zap.Int64("row", x.id), zap.Error(x.why))
		}
	}
	return err
}

// note lets a topic rest whose sends fail, longer each time.
func (r *relay) note(topic string, trouble error) {
	rests := r.resting[topic]
	switch {
	case trouble == nil && rests != nil:
		delete(r.resting, topic)
		r.log.Info("the outbox is sent again", zap.String("topic", topic))
	case trouble != nil:
		if rests == nil {
			rests = &rest{pause: firstPause / 2}
			r.resting[topic] = rests
			r.log.Warn("the outbox is not sent; it is tried again", zap.String("topic", topic), zap.Error(trouble))
		}
		rests.pause = min(2*rests.pause, mostRest)
		rests.until = time.Now().Add(rests.pause)
	}
}
