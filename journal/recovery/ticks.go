package recovery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
)

// A round of ticks tells whether Redis still has all that it had in the round before, by two signs.
//
// The first is the tick: the id of the newest row of the journal. A row is written when Redis has what it
// tells. So a server that has this tick had all up to that row; and one that has an older tick, or none, has
// forgotten what came after it.
//
// What was lost since the last tick no tick can tell: a failover loses some milliseconds. So the second sign is the
// replication ID, by which Redis itself names the history of its data: it is another one after each restart
// and each failover. Then what came after the tick may be lost, and is looked for.

// round looks at all masters, and leaves the ticks for the next round. It returns what is remembered
// then, with whatever Redis may have forgotten. A look at Redis from which messages are told to be
// gone lies between two rounds.
func (r *Recovery) round(ctx context.Context) (*ledger.Memory, error) {
	r.rounds.Lock()
	defer r.rounds.Unlock()
	m, err := r.journal.Memory(ctx)
	if err == nil && m.Key == 0 {
		m, err = r.journal.Remember(ctx, func(*ledger.Memory) {})
	}
	if err != nil {
		return m, err
	}
	newest, err := r.journal.Newest(ctx)
	if err != nil {
		return m, err
	}
	numbers, err := r.ticks(ctx, m)
	if err != nil {
		return m, err
	}
	for _, n := range numbers {
		if m, err = r.tick(ctx, m, n, newest); err != nil {
			return m, fmt.Errorf("look whether Redis has forgotten anything: %w", err)
		}
	}
	return m, nil
}

// ticksMost bounds the search for a key on each master.
const ticksMost = 1024

// ticks are the numbers of the keys: those that are known, and one for each master that has none.
func (r *Recovery) ticks(ctx context.Context, m *ledger.Memory) ([]int, error) {
	if !cluster.IsCluster(r.rdb) {
		return []int{0}, nil
	}
	var mu sync.Mutex
	bare := map[string]bool{} // masters without one
	err := cluster.Each(ctx, r.rdb, func(_ context.Context, addr string, _ redis.UniversalClient) {
		mu.Lock()
		defer mu.Unlock()
		bare[addr] = true
	})
	if err != nil {
		return nil, err
	}
	home := func(n int) (string, error) {
		_, addr, err := cluster.MasterFor(ctx, r.rdb, protocol.TickKey(m.Key, n))
		return addr, err
	}
	numbers := slices.Sorted(maps.Keys(m.Ticks))
	for _, n := range numbers {
		addr, err := home(n)
		if err != nil {
			return nil, err
		}
		delete(bare, addr)
	}
	for n := 0; n < ticksMost && len(bare) > 0; n++ {
		addr, err := home(n)
		if err != nil {
			return nil, err
		}
		if bare[addr] {
			numbers = append(numbers, n)
			delete(bare, addr)
		}
	}
	return numbers, nil
}

// tick looks at one key, and moves it on.
func (r *Recovery) tick(ctx context.Context, m *ledger.Memory, n int, newest int64) (*ledger.Memory, error) {
	key := protocol.TickKey(m.Key, n)
	// A connection ends with its server: so all that is said on one is about one history.
	err := r.rdb.Watch(ctx, func(tx *redis.Tx) error {
		history, err := historyOf(tx.Info(ctx, "replication"))
		if err != nil {
			return err
		}
		text, err := tx.Get(ctx, key).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		found, at := readTick(text)
		known, met := m.Ticks[n]
		now := ledger.Tick{ID: max(newest, found), History: history}
		whole := met && found >= known.ID && history == known.History
		if another := !met && len(m.Ticks) > 0; !whole && !another { // of another master nothing was known
			forgot := ledger.Forgot{Noticed: time.Now(), After: min(found, known.ID), Since: at}
			if m, err = r.journal.Remember(ctx, func(m *ledger.Memory) { m.Forgot = worse(m.Forgot, forgot) }); err != nil {
				return err
			}
		}
		if now.ID > found {
			var set *redis.StatusCmd
			_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				set = pipe.Set(ctx, key, tickText(now.ID, time.Now()), 0)
				return nil
			})
			if redis.HasErrorPrefix(set.Err(), "NOPERM") { // which err hides
				return set.Err()
			}
			if err != nil {
				return err
			}
		}
		if now != known {
			m, err = r.journal.Remember(ctx, func(m *ledger.Memory) { m.Ticks[n] = now })
		}
		return err
	}, key)
	if errors.Is(err, redis.TxFailedErr) { // another program has been faster
		return r.journal.Memory(ctx)
	}
	return m, err
}

// worse is what may be forgotten by both.
func worse(a, b ledger.Forgot) ledger.Forgot {
	if a.Noticed.IsZero() {
		return b
	}
	b.After = min(a.After, b.After)
	if a.Since.Before(b.Since) { // zero is before all
		b.Since = a.Since
	}
	return b
}

// tickText is what a tick says: the ID of a row, and when that was the newest, in ms.
func tickText(id int64, at time.Time) string { return fmt.Sprintf("%d %d", id, at.UnixMilli()) }

// readTick reads it. A text that is none counts as a tick that is missing.
func readTick(text string) (id int64, at time.Time) {
	of, when, _ := strings.Cut(text, " ")
	id, err1 := strconv.ParseInt(of, 10, 64)
	ms, err2 := strconv.ParseInt(when, 10, 64)
	if err1 != nil || err2 != nil {
		return 0, time.Time{}
	}
	return id, time.UnixMilli(ms)
}

// historyOf is the replication ID of a master, or the first 60 bits of it. A server of its own kind may
// have none: then it is 0.
func historyOf(info *redis.StringCmd) (history int64, err error) {
	text, err := info.Result()
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); {
		case name == "role" && value != "master":
			return 0, errors.New("it is a replica")
		case name == "master_replid" && len(value) >= 15:
			if history, err = strconv.ParseInt(value[:15], 16, 64); err != nil {
				return 0, fmt.Errorf("its replication ID: %w", err)
			}
		}
	}
	return history, nil
}
