package recovery

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/ledger"
)

func TestReadTick(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(time.Now().UnixMilli())
	if id, at := readTick(tickText(7, now)); id != 7 || !at.Equal(now) {
		t.Errorf("%d at %v", id, at)
	}
	for _, text := range []string{"", "7", "7 x", "x 7", "7 8 9"} {
		if id, at := readTick(text); id != 0 || !at.IsZero() {
			t.Errorf("%q: %d at %v", text, id, at)
		}
	}
}

func TestHistoryOf(t *testing.T) {
	t.Parallel()
	const id = "8371b4fb1155b71f4a04d3e1bc3e18c4a990aeeb"
	for text, want := range map[string]int64{
		"# Replication\r\nrole:master\r\nmaster_replid:" + id + "\r\nmaster_repl_offset:0\r\n": 0x8371b4fb1155b71,
		"role:master\r\n": 0, // a server of its own kind
		"role:slave\r\nmaster_replid:" + id + "\r\n":   -1,
		"role:master\r\nmaster_replid:?" + id + "\r\n": -1,
	} {
		cmd := redis.NewStringCmd(context.Background())
		cmd.SetVal(text)
		got, err := historyOf(cmd)
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: %x, %v", text, got, err)
		}
	}
}

// What two times may have been forgotten is looked for from the first on.
func TestWorse(t *testing.T) {
	t.Parallel()
	at := func(n int64) time.Time { return time.UnixMilli(n) }
	none, early, late, all := ledger.Forgot{}, ledger.Forgot{Noticed: at(10), After: 5, Since: at(4)},
		ledger.Forgot{Noticed: at(20), After: 15, Since: at(14)}, ledger.Forgot{Noticed: at(30)}
	for _, c := range []struct{ a, b, want ledger.Forgot }{
		{none, early, early},
		{early, late, ledger.Forgot{Noticed: at(20), After: 5, Since: at(4)}},
		{late, early, ledger.Forgot{Noticed: at(10), After: 5, Since: at(4)}},
		{early, all, all},
		{all, late, ledger.Forgot{Noticed: at(20)}},
	} {
		if got := worse(c.a, c.b); got != c.want {
			t.Errorf("%+v and %+v: %+v", c.a, c.b, got)
		}
	}
}
