package inspector

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/message"
)

func TestReasonOf(t *testing.T) {
	t.Parallel()
	for failure, want := range map[string]string{
		"no such tax code: 4711":                        "no such tax code: #",
		"dial tcp 10.0.0.7:5432: i/o timeout":           "dial tcp #.#.#.#:#: i/o timeout",
		"shop 550e8400-e29b-41d4-a716-446655440000 has": "shop # has",
		"panic: x\ngoroutine 7 [running]":               "panic: x",
		"  spaced \r\n":                                 "spaced",
		"":                                              "",
		"\xff\xfe bad":                                  " bad",
	} {
		if got := ReasonOf(failure); got != want {
			t.Errorf("%q is %q, not %q", failure, got, want)
		}
	}
}

func TestDeadReasons(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, topicOf(t, message.KindPriority, 2))
		for slot := range 2 {
			bury(t, rdb, topic, slot, 600, func(n int) (string, time.Time, string) {
				died := noon.Add(time.Duration(n) * time.Second)
				why := fmt.Sprintf("no such tax code: %d", n)
				if n%3 == 0 {
					why = "the shop timed out"
				}
				return fmt.Sprintf("%d of %d", n, slot), died, whyOf(died, "500", why)
			})
		}
		all, err := i.DeadReasons(ctx, topic.Name, DeadQuery{})
		must(t, err)
		if len(all) != 2 || all[0].Text != "no such tax code: #" || all[0].Count != 800 || all[1].Text != "the shop timed out" || all[1].Count != 400 {
			t.Fatalf("%+v", all)
		}
		if r := all[1]; !r.First.Equal(noon) || !r.Last.Equal(noon.Add(597*time.Second)) || r.Latest.Content[:4] != "597 " {
			t.Errorf("%+v", r)
		}
		some, err := i.DeadReasons(ctx, topic.Name, DeadQuery{Reason: "timed out", Slots: []int{1}})
		must(t, err)
		if len(some) != 1 || some[0].Count != 200 {
			t.Errorf("%+v", some)
		}
	})
}

// However many reasons there are, no more than some are told apart.
func TestManyReasons(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, topicOf(t, message.KindPriority, 1))
		letters := func(n int) string { return string([]byte{byte('a' + n/676%26), byte('a' + n/26%26), byte('a' + n%26)}) }
		bury(t, rdb, topic, 0, 1500, func(n int) (string, time.Time, string) {
			return fmt.Sprint(n), noon, whyOf(noon, "500", letters(n))
		})
		all, err := i.DeadReasons(ctx, topic.Name, DeadQuery{})
		must(t, err)
		if len(all) != mostReasons+1 || !all[mostReasons].Rest || all[mostReasons].Count != 500 {
			t.Errorf("%d, %+v", len(all), all[len(all)-1])
		}
	})
}
