package inspector

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/doctor"
	"github.com/slotmq/go-rmq/internal/record"
)

// compared is a journal that was compared with Redis.
type compared struct {
	told
	found []record.Forgotten
	now   bool
	err   error
}

func (j *compared) Forgotten(context.Context) ([]record.Forgotten, error) { return j.found, j.err }

func (j *compared) Compared(context.Context) (bool, error) { return j.now, nil }

func TestDoctorTellsWhatRedisForgot(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, _ *Inspector) {
		j := &compared{now: true}
		i := newInspector(t, rdb, Config{Namespace: "shop", Journal: j})
		wantCheck(t, i.Doctor(ctx), "journal", doctor.OK, "Redis has all that is owed")
		at := time.Date(2026, 11, 23, 3, 12, 5, 0, time.Local)
		j.found = []record.Forgotten{
			{Topic: "shop:orders", Slots: []int{3, 7}, Messages: 57, Since: at},
			{Topic: "bank:mails", Slots: []int{0}, Messages: 1},
		}
		wantCheck(t, i.Doctor(ctx), "journal", doctor.Fail,
			"Redis forgot what came after 2026-11-23 03:12:05 in slots 3, 7 of orders: 57 messages are missing; "+
				"Redis forgot something in slot 0 of bank:mails: 1 message is missing")
		j.found, j.now = nil, false
		wantCheck(t, i.Doctor(ctx), "journal", doctor.Warn, "no program compares it with Redis at present: what Redis forgets is not noticed")
		j.found, j.err = nil, errors.New("no\nserver")
		wantCheck(t, i.Doctor(ctx), "journal", doctor.Fail, "no server")
	})
}
