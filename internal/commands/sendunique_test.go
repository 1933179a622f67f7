package commands

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/hash"
	"github.com/slotmq/go-rmq/internal/testing/must"
)

// What is unique is sent once, and said so; a cancel lets it in again.
func TestSendUnique(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		once := []string{"send", "reports", "x", "--priority", "100", "--unique", "1d"}
		wantText(t, s.text(t, append(once, "--kind", "priority", "--slots", "4")...), "stored in slot 3 of reports, priority 100")
		wantText(t, s.text(t, once...), "duplicate in slot 3 of reports: an equal one was sent within its time, so this\none was not")
		wantJSON(t, s.objects(t, once...)[0], `{"content":"x","outcome":"duplicate","slot":3,"topic":"reports"}`)

		file := inFile(t, `{"content":"x"}`+"\n"+`{"content":"y","unique":"2h"}`+"\n"+`{"content":"y"}`+"\n"+`{"content":"z","priority":20}`)
		wantText(t, s.text(t, "send", "reports", "--batch", file, "--priority", "50", "--unique", "1h"), "sent 4 messages to reports: 2 stored, 0 merged, 2 duplicates")
		wantJSON(t, s.objects(t, "send", "reports", "--batch", file, "--priority", "50", "--unique", "1h")[0],
			`{"duplicates":4,"last_line":4,"merged":0,"sent":4,"stored":0,"topic":"reports"}`)

		s.text(t, "cancel", "reports", "x")
		wantText(t, s.text(t, once...), "stored in slot 3 of reports, priority 100")
		s.refused(t, 2, "--unique is 1µs; it must be at least 1ms", "send", "reports", "x", "--priority", "100", "--unique", "1us")
		s.refused(t, 2, "not a duration such as", "send", "reports", "x", "--priority", "100", "--unique", "1")
		s.refused(t, 1, `unique is "1", not a duration`, "send", "reports", "--batch", inFile(t, `{"content":"x","unique":"1"}`), "--priority", "100")
	})
}

// What keeps an equal message out is shown, also where the message is no more, and a cancel ends it.
func TestUniqueIsShown(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		s.text(t, "send", "reports", "x", "--priority", "100", "--unique", "1d", "--basis", "shop", "--kind", "priority", "--slots", "4")
		s.text(t, "send", "reports", "y", "--priority", "100")
		shown := s.text(t, "explain", "reports", "x")
		if !strings.Contains(shown, "  unique        for 23h59m (20") || !strings.Contains(shown, "an equal one is a") {
			t.Error(shown)
		}
		if shown := s.text(t, "explain", "reports", "y"); strings.Contains(shown, "unique") {
			t.Error(shown)
		}
		explained := s.objects(t, "explain", "reports", "x")[0]
		slot := int(explained["slot"].(float64))
		if slot == hash.Slot("x", 4) {
			t.Fatalf("%d is the slot of the content, too", slot)
		}
		k := protocol.KeysOf("reports", slot)
		if until, err := time.Parse(time.RFC3339, explained["unique_until"].(string)); err != nil || float64(until.UnixMilli()) != s.rdb.ZScore(ctx, k.Seen(), "x").Val() {
			t.Errorf("%v, %v", explained, err)
		}

		must.Do(t, s.rdb.ZRem(ctx, k.Store, "x").Err()) // as if it was handled
		const kept = "x is not here: handled, dropped or deleted; but unique until"
		s.refused(t, 1, kept, "explain", "reports", "x")
		s.refused(t, 1, kept, "explain", "reports", "x", "--basis", "shop")
		s.refused(t, 1, kept, "cancel", "reports", "x") // looks in the slot of x
		s.refused(t, 1, "but it is not unique any more", "cancel", "reports", "x", "--basis", "shop")
		s.refused(t, 1, "x is not here: never sent, handled already", "cancel", "reports", "x", "--basis", "shop")
		s.refused(t, 1, "x is not here: never sent, handled already", "explain", "reports", "x")

		// What is over is none.
		must.Do(t, s.rdb.ZAdd(ctx, k.Seen(), redis.Z{Score: float64(time.Now().Add(-time.Minute).UnixMilli()), Member: "x"}).Err())
		s.refused(t, 1, "x is not here: never sent, handled already", "explain", "reports", "x")
		must.Do(t, s.rdb.ZAdd(ctx, k.Store, redis.Z{Score: 100, Member: "x"}).Err())
		if shown := s.text(t, "explain", "reports", "x"); strings.Contains(shown, "unique") {
			t.Error(shown)
		}
	})
}
