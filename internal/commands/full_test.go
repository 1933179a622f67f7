package commands

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/message"
)

// multitude fills all slots of a topic with as many contents in the store as there are dead:
// "waiting 1" … and "dead 1" …, by a script, so that it takes no time here.
func multitude(t *testing.T, s at, topic message.Topic, each int, waiting, died time.Time) {
	t.Helper()
	const script = `
		for i = ARGV[1] + 1, ARGV[1] + 2500 do
			redis.call('ZADD', KEYS[1], ARGV[2] + i, 'waiting ' .. ARGV[4] .. ' ' .. i)
			redis.call('ZADD', KEYS[2], ARGV[3] + i, 'dead ' .. ARGV[4] .. ' ' .. i)
		end
		return 1`
	for slot := range topic.Slots {
		k := protocol.KeysOf(topic.Name, slot)
		for from := 0; from < each; from += 2500 { // a Cluster takes a server that computes for long for a dead one
			must.Do(t, s.rdb.Eval(ctx, script, []string{k.Store, k.Dead}, from, waiting.UnixMilli(), died.UnixMilli(), slot).Err())
		}
	}
}

// With a million that wait and a million that are dead, by day 40,000, all commands that look
// answer as they do with ten.
func TestLookingAtMillions(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		each := night.Times(2_500, 62_500)
		topic := message.Topic{Name: "orders", Kind: message.KindFixedTime, Slots: 16}
		send(t, s.rdb, topic, message.FixedTime{Content: "first", SlotBasis: "3", At: time.Now().Add(time.Hour)})
		multitude(t, s, topic, each, time.Now().Add(2*time.Hour), time.Now().Add(-time.Hour))

		objects := s.objects(t, "stats")
		want(t, field(objects, "waiting"), fmt.Sprint([]float64{float64(16*each + 1)}))
		want(t, field(objects, "dead"), fmt.Sprint([]float64{float64(16 * each)}))
		s.text(t, "stats")
		s.text(t, "stats", "--slots")
		want(t, len(s.objects(t, "slots", "orders")), "16")
		want(t, field(s.objects(t, "peek", "orders", "--limit", "3"), "content"), "[first waiting 0 1 waiting 1 1]")
		want(t, field(s.objects(t, "peek", "orders", "--state", "dead", "--slot", "5", "--limit", "2"), "content"),
			fmt.Sprintf("[dead 5 %d dead 5 %d]", each, each-1))
		want(t, len(s.objects(t, "peek", "orders", "--limit", "3000")), "3000")
		want(t, s.objects(t, "explain", "orders", fmt.Sprintf("waiting 7 %d", each))[0]["before"], fmt.Sprint(each-1))
		if out := s.text(t, "explain", "orders", "dead 7 100"); !strings.HasPrefix(out, "dead 7 100 in slot 7 of orders\n") {
			t.Error(out)
		}
		s.text(t, "dead", "list", "orders", "--newer-than", "1h")
		s.text(t, "dead", "show", "orders", "dead 7 100")
		s.text(t, "doctor")
	})
}
