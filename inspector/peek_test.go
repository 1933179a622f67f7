package inspector

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
)

func line(entries []Entry) string {
	all := make([]string, len(entries))
	for n, e := range entries {
		all[n] = e.Content
	}
	return strings.Join(all, " ")
}

func TestPeek(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		second := func(n int) int64 { return 1_767_225_600_000 + int64(n)*1000 }
		mails := define(t, rdb, message.Topic{Name: "mails", Kind: message.KindFixedTime, Slots: 4})
		of := func(topic message.Topic, slot int) protocol.SlotKeys { return protocol.KeysOf(topic.Name, slot) }
		for n, content := range []string{"a", "b", "c", "d", "e", binary} {
			zadd(t, rdb, of(mails, n%3).Store, content, second(n))
			zadd(t, rdb, of(mails, n%3).Dead, content, second(n))
			zadd(t, rdb, of(mails, n%3).Retry, content, second(n)*100+int64(16-n))
		}
		zadd(t, rdb, of(mails, 1).Prepare, "x", second(2)+15)
		zadd(t, rdb, of(mails, 3).Prepare, "y", second(1)+16)

		orders := define(t, rdb, message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 2, Literal: true})
		for n, content := range []string{"p17", "p20", "p18", "p19"} {
			zadd(t, rdb, of(orders, n%2).Store, content, []int64{17, 20, 18, 19}[n])
		}
		zadd(t, rdb, of(orders, 1).Store, "f16", 16)
		zadd(t, rdb, of(orders, 1).Store, "f1", 1)
		zadd(t, rdb, of(orders, 0).Retry, "back", second(0)*100+17)
		prices := define(t, rdb, message.Topic{Name: "prices", Kind: message.KindRangeMerge, Slots: 1, Literal: true})
		for n := range 300 {
			zadd(t, rdb, of(prices, 0).Store, fmt.Sprintf("f%d", n), int64(1+n%16))
		}
		zadd(t, rdb, of(prices, 0).Store, "due", second(0))
		zadd(t, rdb, of(prices, 0).Store, "later", second(1))

		for _, c := range []struct {
			topic string
			state State
			slots []int
			limit int
			want  string
		}{
			{"mails", Waiting, nil, 100, "a b c d e " + binary},
			{"mails", Waiting, nil, 4, "a b c d"},
			{"mails", Waiting, nil, 1, "a"},
			{"mails", Waiting, []int{2, 1, 2}, 3, "b c e"},
			{"mails", Waiting, []int{3}, 3, ""},
			{"mails", Retrying, nil, 5, "a b c d e"},
			{"mails", Dead, nil, 3, binary + " e d"},
			{"mails", InFlight, nil, 3, "y x"},
			{"orders", Waiting, nil, 100, "p20 p19 p18 p17"},
			{"orders", Waiting, []int{0}, 100, "p18 p17"},
			{"orders", Retrying, nil, 100, "f1 f16 back"},
			{"orders", InFlight, nil, 100, ""},
			{"prices", Waiting, nil, 100, "due later"},
		} {
			got, err := each(i.Peek(ctx, c.topic, c.state, c.slots, c.limit))
			if err != nil || line(got) != c.want {
				t.Errorf("%s, %s, slots %v, limit %d: %q, %v, want %q", c.topic, c.state, c.slots, c.limit, line(got), err, c.want)
			}
		}
		if got, err := each(i.Peek(ctx, "prices", Retrying, nil, 1000)); err != nil || len(got) != 300 || got[0].Attempt != 17 || got[299].Attempt != 2 {
			t.Errorf("%d, %v", len(got), err)
		}
		at := func(n int) time.Time { return time.UnixMilli(second(n)) }
		for _, want := range []struct {
			topic string
			Entry
		}{
			{"mails", Entry{Content: "b", Slot: 1, State: Waiting, Due: at(1), Attempt: 1}},
			{"mails", Entry{Content: "b", Slot: 1, State: Retrying, Due: at(1), Attempt: 3}},
			{"mails", Entry{Content: binary, Slot: 2, State: Dead, Died: at(5)}},
			{"mails", Entry{Content: "y", Slot: 3, State: InFlight, Attempt: 1}},
			{"mails", Entry{Content: "x", Slot: 1, State: InFlight, Attempt: 2}},
			{"orders", Entry{Content: "p20", Slot: 1, State: Waiting, Priority: 20, Attempt: 1}},
			{"orders", Entry{Content: "f16", Slot: 1, State: Retrying, Attempt: 2}},
			{"orders", Entry{Content: "back", Slot: 0, State: Retrying, Due: at(0), Attempt: 1}},
		} {
			got, err := each(i.Peek(ctx, want.topic, want.State, []int{want.Slot}, 100))
			must.Do(t, err)
			seen := false
			for _, e := range got {
				seen = seen || e == want.Entry
			}
			if !seen {
				t.Errorf("%+v is not in %+v", want.Entry, got)
			}
		}
	})
}

func TestPeekRefuses(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		define(t, rdb, message.Topic{Name: "mails", Kind: message.KindFixedTime, Slots: 4})
		for says, call := range map[string]func() ([]Entry, error){
			"limit is 0":       func() ([]Entry, error) { return each(i.Peek(ctx, "mails", Waiting, nil, 0)) },
			`state is "asleep`: func() ([]Entry, error) { return each(i.Peek(ctx, "mails", "asleep", nil, 1)) },
			"slot is 4; it must be from 0 to 3 in topic mails": func() ([]Entry, error) { return each(i.Peek(ctx, "mails", Waiting, []int{0, 4}, 1)) },
			"slot is -1": func() ([]Entry, error) { return each(i.Peek(ctx, "mails", Waiting, []int{-1}, 1)) },
		} {
			_, err := call()
			wantError(t, err, message.ErrInvalid, says)
		}
		_, err := each(i.Peek(ctx, "letters", Waiting, nil, 1))
		wantError(t, err, ErrUnknownTopic)
	})
}
