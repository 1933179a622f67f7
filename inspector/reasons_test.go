package inspector

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

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
		all, err := i.Dead().Reasons(ctx, topic.Name, DeadQuery{})
		must.Do(t, err)
		if len(all) != 2 || all[0].Text != "no such tax code: #" || all[0].Count != 800 || all[1].Text != "the shop timed out" || all[1].Count != 400 {
			t.Fatalf("%+v", all)
		}
		if r := all[1]; !r.First.Equal(noon) || !r.Last.Equal(noon.Add(597*time.Second)) || r.Latest.Content[:4] != "597 " {
			t.Errorf("%+v", r)
		}
		some, err := i.Dead().Reasons(ctx, topic.Name, DeadQuery{Reason: "timed out", Slots: []int{1}})
		must.Do(t, err)
		if len(some) != 1 || some[0].Count != 200 {
			t.Errorf("%+v", some)
		}
	})
}

// letters are different for each number below 17,576, also where numbers do not count.
func letters(n int) string {
	return string([]byte{byte('a' + n/676%26), byte('a' + n/26%26), byte('a' + n%26)})
}

// However many reasons there are, no more than some are told apart.
func TestManyReasons(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, topicOf(t, message.KindPriority, 1))
		bury(t, rdb, topic, 0, 1500, func(n int) (string, time.Time, string) {
			return fmt.Sprint(n), noon, whyOf(noon, "500", letters(n))
		})
		all, err := i.Dead().Reasons(ctx, topic.Name, DeadQuery{})
		must.Do(t, err)
		if len(all) != mostReasons+1 || !all[mostReasons].Rest || all[mostReasons].Count != 500 {
			t.Errorf("%d, %+v", len(all), all[len(all)-1])
		}
	})
}

// However long their contents are, no more than some of them stay in memory.
func TestReasonsOfLongContents(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	rdb := server.Client(t)
	i := newInspector(t, bounded(t, server.Client(t)), Config{})
	topic := define(t, rdb, topicOf(t, message.KindPriority, 1))
	const size = 100 << 10 // of which 40 have room
	long := func(n int) string { return fmt.Sprintf("%03d", n) + strings.Repeat("é", size/2) }
	whys := func(of func(n int) string) func(n int) (string, time.Time, string) {
		return func(n int) (string, time.Time, string) {
			died := noon.Add(time.Duration(n) * time.Second)
			return long(n), died, whyOf(died, "500", of(n))
		}
	}
	bury(t, rdb, topic, 0, 200, whys(func(int) string { return "one for all" })) // one of them at a time has room
	all, err := i.Dead().Reasons(ctx, topic.Name, DeadQuery{})
	must.Do(t, err)
	if len(all) != 1 || all[0].Cut || all[0].Latest.Content != long(199) {
		t.Errorf("%d reasons, cut %v, %d bytes", len(all), all[0].Cut, len(all[0].Latest.Content))
	}
	bury(t, rdb, topic, 0, 200, whys(letters))
	short := strings.Repeat("s", leastContent)
	buryOne(t, rdb, topic, 0, short, noon.Add(time.Hour))
	all, err = i.Dead().Reasons(ctx, topic.Name, DeadQuery{})
	must.Do(t, err)
	whole, bytes := 0, 0
	for _, r := range all {
		n := int(r.Last.Sub(noon) / time.Second)
		switch content := r.Latest.Content; {
		case r.Cut && (len(content) != leastContent-1 || !strings.HasPrefix(long(n), content)): // a character has two bytes
			t.Errorf("%.10s is cut to %d bytes", content, len(content))
		case !r.Cut && content != long(n) && content != short:
			t.Errorf("%.10s has %d bytes", content, len(content))
		case !r.Cut:
			whole++
		}
		bytes += len(r.Latest.Content)
	}
	if len(all) != 201 || whole != longContents/(size+3)+1 || bytes > longContents+len(all)*leastContent {
		t.Errorf("%d reasons, %d whole ones, %d bytes", len(all), whole, bytes)
	}
}
