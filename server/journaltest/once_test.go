package journaltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/rmq"
)

// delivered is a delivery of one copy.
type delivered record.Copy

func (d delivered) Copy() (record.Copy, bool) { return record.Copy(d), d.Topic.Notes }

// effect runs a handler's transaction: what Once says, and a row of effects if it is not done. It ends
// as told: "commit" or "rollback".
func effect(ctx context.Context, j *journal.Journal, db *sql.DB, d journal.Delivered, content, end string) (done bool, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	if done, err := j.Once(ctx, tx, d); done || err != nil {
		return done, err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO effects (content) VALUES ('"+content+"')"); err != nil || end == "rollback" {
		return false, err
	}
	return false, tx.Commit()
}

const makeEffects = "CREATE TABLE effects (content VARCHAR(100) NOT NULL)"

// withEffects is a journal, and its database with a table of effects.
func withEffects(t *testing.T, p *place) (*journal.Journal, *sql.DB) {
	t.Helper()
	exec(t, p.url, makeEffects)
	db, dialect := p.db(t)
	j, err := journal.Open(db, dialect, journal.Config{})
	must.Do(t, err)
	t.Cleanup(func() { closed(t, j) })
	return j, db
}

// What Once says of one content, delivery by delivery.
func TestOnceRules(t *testing.T) {
	t.Parallel()
	const known, newer, unknown = record.SendsKnown, record.SendsNewer, record.SendsUnknown
	type step struct {
		sends         record.CopySends
		number, fence int64
		attempt       int
		end, want     string
	}
	each(t, func(t *testing.T, p *place) {
		j, db := withEffects(t, p)
		for name, steps := range map[string][]step{
			"the same copy again":             {{known, 5, 6, 1, "commit", "do"}, {known, 5, 8, 2, "commit", "done"}, {known, 5, 9, 3, "commit", "done"}},
			"told again":                      {{known, 5, 6, 1, "commit", "do"}, {known, 5, 6, 1, "commit", "done"}},
			"rolled back":                     {{known, 5, 6, 1, "rollback", "do"}, {known, 5, 8, 2, "commit", "do"}, {known, 5, 9, 3, "commit", "done"}},
			"a later copy":                    {{known, 5, 6, 1, "commit", "do"}, {known, 7, 8, 1, "commit", "do"}, {known, 7, 9, 2, "commit", "done"}},
			"sent again while in flight":      {{known, 5, 6, 1, "commit", "do"}, {known, 6, 8, 1, "commit", "do"}, {known, 6, 9, 2, "commit", "done"}},
			"overtaken by the same copy":      {{known, 5, 8, 2, "commit", "do"}, {known, 5, 6, 1, "commit", "done"}},
			"a newer copy waits":              {{newer, 0, 6, 1, "commit", "do"}, {newer, 0, 6, 1, "commit", "done"}, {known, 6, 8, 1, "commit", "do"}},
			"a retry, and a newer copy waits": {{newer, 0, 6, 2, "commit", "done"}, {known, 6, 8, 1, "commit", "do"}},
			"overtaken by a newer copy":       {{known, 7, 8, 1, "commit", "do"}, {newer, 0, 6, 1, "commit", "overtaken"}},
			"nothing is known":                {{unknown, 0, 6, 1, "commit", "do"}, {unknown, 0, 6, 1, "commit", "done"}, {unknown, 0, 8, 2, "commit", "do"}, {unknown, 0, 7, 1, "commit", "overtaken"}},
		} {
			for i, s := range steps {
				topic := orders
				topic.Notes = true
				d := delivered{Topic: topic, Slot: 1, Content: name, Attempt: s.attempt, Fence: s.fence, Sends: s.sends, Number: s.number}
				before := p.number(t, "SELECT COUNT(*) FROM effects")
				done, err := effect(ctx, j, db, d, name, s.end)
				got := "do"
				switch {
				case errors.Is(err, journal.ErrOvertaken):
					got = "overtaken"
				case err != nil:
					t.Fatalf("%s %d: %v", name, i, err)
				case done:
					got = "done"
				}
				effects := p.number(t, "SELECT COUNT(*) FROM effects") - before
				if got != s.want || (effects == 1) != (got == "do" && s.end == "commit") {
					t.Errorf("%s %d: %s with %d effects; want %s", name, i, got, effects, s.want)
				}
			}
		}
		// Another slot, and another topic, are other messages.
		for i, change := range []func(*delivered){func(d *delivered) { d.Slot = 2 }, func(d *delivered) { d.Topic.Name = "other" }} {
			d := delivered{Topic: orders, Slot: 1, Content: "told again", Attempt: 1, Fence: 6, Sends: known, Number: 5}
			d.Topic.Notes = true
			change(&d)
			if done, err := effect(ctx, j, db, d, "another", "commit"); done || err != nil {
				t.Errorf("%d: %t %v", i, done, err)
			}
		}
		_, err := effect(ctx, j, db, delivered{Topic: orders}, "", "commit")
		oneLine(t, err, "once: Topic.Notes is false; it must be true")
		noted := orders
		noted.Notes = true
		_, err = j.Once(ctx, nil, delivered{Topic: noted})
		oneLine(t, err, "once in topic "+orders.Name+": tx is nil")
	})
}

// If two transactions about one message run at once, one has the effect.
func TestOnceOfTwoAtATime(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		j, db := withEffects(t, p)
		topic := orders
		topic.Notes = true
		for i := range 20 {
			content := fmt.Sprint("order ", i)
			for copies := range int64(3) {
				ended := make(chan error)
				for fence := range int64(2) {
					go func() {
						d := delivered{Topic: topic, Slot: 1, Content: content, Attempt: 1, Fence: 6 + fence + 10*copies, Sends: record.SendsKnown, Number: 5 + 10*copies}
						_, err := effect(ctx, j, db, d, content, "commit")
						ended <- err
					}()
				}
				for range 2 {
					if err := <-ended; err != nil {
						t.Error(err)
					}
				}
				if n := p.number(t, "SELECT COUNT(*) FROM effects WHERE content = '"+content+"'"); n != copies+1 {
					t.Errorf("%s has %d effects, not %d", content, n, copies+1)
				}
			}
		}
	})
}

// A handler whose transaction has committed and that fails then is done the next time; what is sent again
// is another message.
func TestOnceInAHandler(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		j, db := withEffects(t, p)
		topic := rmq.Topic{Name: fmt.Sprintf("once-%d", time.Now().UnixNano()), Kind: rmq.KindFixedTime, Slots: 2, Notes: true}
		plain := rmq.Topic{Name: topic.Name + "-plain", Kind: rmq.KindFixedTime, Slots: 2}
		client, err := rmq.New(rmq.Config{
			Redis: servertest.SharedRedis(t).Client(t), Journal: j, Namespace: "shop",
			Backoff: func(int) time.Duration { return time.Millisecond },
		})
		must.Do(t, err)
		var done, refused atomic.Int64
		var again atomic.Bool
		send := func(contents ...string) {
			for _, c := range contents {
				_, err := client.Send(ctx, topic, rmq.FixedTime{Content: c, At: time.Now()})
				must.Do(t, err)
			}
		}
		must.Do(t, client.Listen(topic, rmq.ListenerFunc(func(ctx context.Context, d *rmq.Delivery) error {
			if d.Content == "again 1" && again.CompareAndSwap(false, true) {
				send(d.Content) // while it is in flight
			}
			end := "commit"
			if d.Attempt == 1 && strings.HasPrefix(d.Content, "rollback") {
				end = "rollback"
			}
			had, err := effect(ctx, j, db, d, d.Content, end)
			switch {
			case err != nil:
				return err
			case had:
				done.Add(1)
				return nil
			case end == "rollback" || strings.HasPrefix(d.Content, "fail"):
				return errors.New("behind the commit")
			}
			return nil
		}), rmq.ListenOptions{}))
		must.Do(t, client.Listen(plain, rmq.ListenerFunc(func(ctx context.Context, d *rmq.Delivery) error {
			_, err := effect(ctx, j, db, d, d.Content, "commit")
			refused.Add(1)
			return rmq.Dead(err)
		}), rmq.ListenOptions{}))
		must.Do(t, client.Start(ctx))
		send("fail 1", "fail 2", "rollback 1", "plain 1", "again 1")
		effects := func(content string) int64 {
			return p.number(t, "SELECT COUNT(*) FROM effects WHERE content = '"+content+"'")
		}
		await.True(t, "all have had their effects", func() bool {
			return done.Load() == 2 && effects("rollback 1") == 1 && effects("plain 1") == 1 && effects("again 1") == 2
		})
		send("fail 1", "plain 1")
		await.True(t, "what was sent again has had its effects", func() bool { return done.Load() == 3 && effects("plain 1") == 2 })
		_, err = client.Send(ctx, plain, rmq.FixedTime{Content: "x", At: time.Now()})
		must.Do(t, err)
		await.True(t, "the topic without notes is refused", func() bool { return refused.Load() == 1 })
		must.Do(t, client.Close(ctx))
		for content, want := range map[string]int64{"fail 1": 2, "fail 2": 1, "rollback 1": 1, "plain 1": 2, "again 1": 2, "x": 0} {
			if n := effects(content); n != want {
				t.Errorf("%s has %d effects, not %d", content, n, want)
			}
		}
		if n := p.number(t, "SELECT COUNT(*) FROM rmq_once WHERE topic = 'shop:"+topic.Name+"'"); n != 5 {
			t.Errorf("%d rows", n)
		}
	})
}
