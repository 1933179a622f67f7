package consumer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// What is pushed back comes again as if it had not been delivered, whatever its kind and however it is
// handled, and it is no failure, however often that happens. Nothing of the topic begins meanwhile.
func TestPushback(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	const rest = 100 * time.Millisecond
	full := errors.New("full")
	for says, result := range map[string]error{
		"Pushback": verdict.PushbackError(rest, full),
		"no cause": verdict.PushbackError(rest, nil),
		"wrapped":  fmt.Errorf("the shop: %w", verdict.PushbackError(rest, full)),
		"joined":   errors.Join(full, verdict.PushbackError(rest, full)),
	} {
		for name, listen := range map[string]wayToListen{"serial": oneAfterTheOther, "parallel": sideBySide, "together": together} {
			t.Run(says+" "+name, func(t *testing.T) {
				t.Parallel()
				for _, kind := range kinds {
					topic := topicOf(t, kind, 4)
					l, n := newLedger(t), newNotes()
					contents := numbered("m", 40)
					newSender(t, rdb, topic).send(t, contents...)
					c := newConsumer(t, rdb, Config{Observers: []message.Observer{l}, MaxAttempts: 1})
					pushed, last := map[string]int{}, map[string]time.Time{}
					must.Do(t, listen(c, topic, n.around(func(ctx context.Context, d *Delivery) error {
						n.mu.Lock()
						defer n.mu.Unlock()
						if at := last[d.Content]; !at.IsZero() && time.Since(at) < rest {
							t.Errorf("%v, %s, %s: %s begins after %v of rest", kind, says, name, d.Content, time.Since(at))
						}
						if d.Attempt != 1 || d.LastError != "" || !d.Last {
							t.Errorf("%v, %s, %s: delivery %+v", kind, says, name, d)
						}
						if pushed[d.Content]++; pushed[d.Content] <= 2 && len(pushed) <= 4 {
							last[d.Content] = time.Now()
							if got := OutcomeOf(ctx, d, result); got != message.HandedBack {
								t.Errorf("%s: %v", says, got)
							}
							return result
						}
						return nil
					})))
					start(t, c)
					n.awaitAll(t, contents)
					wantEmpty(t, rdb, topic)
					must.Do(t, closeIn(c, await.Patience))
					l.mu.Lock()
					for _, x := range l.items {
						if x.What == message.HandedBack && x.Reason != "" && (!errors.Is(x.Err, verdict.ErrPushedBack) || says != "no cause" && !errors.Is(x.Err, full) || !strings.Contains(result.Error(), x.Reason)) {
							t.Errorf("%v, %s, %s: %+v", kind, says, name, x)
						}
					}
					if l.ends[message.Failed]+l.ends[message.Died] > 0 || l.ends[message.HandedBack] == 0 {
						t.Errorf("%v, %s, %s: %v", kind, says, name, l.ends)
					}
					l.mu.Unlock()
				}
			})
		}
	}
}
