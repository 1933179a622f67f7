package commands

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/text/words"
)

func TestSigned(t *testing.T) {
	t.Parallel()
	for rate, says := range map[float64]string{0: "0", 3: "+3", -120: "-120", 0.5: "+0.5", -0.02: "-0.02", 9.94: "+9.9", 10.4: "+10", -12345.6: "-12346"} {
		want(t, words.Signed(rate), says)
	}
}

// With --watch you see how the counts change, in a table and as JSON.
func TestWatchShowsChanges(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	rdb := server.Client(t)
	send(t, rdb, rangeMerge("orders"), later("x"))
	for _, asJSON := range []bool{false, true} {
		row := regexp.MustCompile(`(?m)^NET CHANGE A SECOND +WAITING +FLIGHT +RETRY +DEAD\norders +\+\d+ +0 +0 +\+\d+$`)
		flags, what := []string{}, "TOPIC  "
		if asJSON {
			row = regexp.MustCompile(`"change_per_second":\{"over_ms":\d+,"waiting":\d+[\d.]*,"in_flight":0,"retrying":0,"dead":[\d.]+\}`)
			flags, what = []string{"--json"}, `"topic":"orders"`
		}
		watching, cancel := context.WithCancel(await.Context(t))
		n := 0
		out := &watcher{what: what, times: 1}
		out.enough = func() { // after each look
			if row.MatchString(out.String()) {
				cancel()
				return
			}
			n++
			for i := range 200 { // more each time
				name := fmt.Sprint(asJSON, n, " ", i)
				must.Do(t, rdb.ZAdd(ctx, protocol.StoreKey("orders", 1), redis.Z{Score: float64(time.Now().Add(time.Hour).UnixMilli()), Member: name}).Err())
				must.Do(t, rdb.ZAdd(ctx, protocol.KeysOf("orders", 1).Dead, redis.Z{Score: float64(time.Now().UnixMilli()), Member: name}).Err())
			}
		}
		errs := &watcher{what: "\n", times: 1 << 30}
		code := program.Run(watching, append([]string{"--redis", "redis://" + server.Addr(), "stats", "--watch=100ms"}, flags...), strings.NewReader(""), out, errs)
		if code != 0 || errs.Len() > 0 || !row.MatchString(out.String()) {
			t.Errorf("%d\n%s%s", code, out, errs)
		}
		cancel()
		fits(t, out.String(), map[bool]int{false: 80, true: 1000}[asJSON])
	}
	if out := (at{rdb, "redis://" + server.Addr()}).text(t, "stats"); strings.Contains(out, "CHANGE A SECOND") {
		t.Error(out)
	}
}
