package protocol_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// numbersOfScripts are the limits as the scripts write them, and how often they stand in
// which script. A script cannot take them from the one table, so this compares both.
var numbersOfScripts = []struct {
	text  string
	limit float64
	times map[string]int
}{
	{"16", limits.Retries, map[string]int{"turn": 4, "add": 1, "send": 2, "plan": 1, "slot": 1, "dead": 4, "reschedule": 2, "purge": 1}}, // in turn also the draw of one turn in 16
	{"17", limits.Deliveries, map[string]int{"turn": 3, "reschedule": 2}},
	{"17", limits.MinPriority, map[string]int{"turn": 3, "reschedule": 2}},
	{"18", limits.PutBack, map[string]int{"turn": 1, "dead": 1, "reschedule": 2}},
	{"2 ^ 53 - 1", limits.MaxScore, map[string]int{"dead": 1, "reschedule": 1}},
	{"2 ^ 53", limits.MaxScore + 1, map[string]int{"turn": 1, "send": 1, "dead": 2, "reschedule": 1}},
	{"1e11", limits.MinTime, map[string]int{"reschedule": 1}},
	{"253402300800000", limits.MaxTime, map[string]int{"reschedule": 1}},
	{"9e13", limits.MaxRetryTime, map[string]int{"reschedule": 1}},
	{"1e12", limits.MaxDelay, map[string]int{"turn": 3, "plan": 1}},
	{"1048576", limits.BatchBytes, map[string]int{"turn": 1}},
	{"256", protocol.MaxBatch, map[string]int{"turn": 3}},
}

func TestLimitsOfScripts(t *testing.T) {
	t.Parallel()
	_, rdb := servertest.Memory(t)
	for _, n := range numbersOfScripts {
		value, err := rdb.Eval(ctx, "return string.format('%.0f', "+n.text+")", nil).Text()
		if want := fmt.Sprintf("%.0f", n.limit); err != nil || value != want {
			t.Errorf("%s is %s in the scripts, and %s in the table: %v", n.text, value, want, err)
		}
		whole := regexp.MustCompile(`(^|[^\w.])` + regexp.QuoteMeta(n.text) + `($|[^\w.])`)
		for name, source := range sources {
			_, code := parts(source)
			if times := len(whole.FindAllString(code, -1)); times != n.times[name] {
				t.Errorf("%s stands %d times in %s.lua, not %d: is it a limit?", n.text, times, name, n.times[name])
			}
		}
	}
}
