package commands

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
)

func TestEvery(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		send(t, s.rdb, message.Topic{Name: "reports", Kind: message.KindFixedTime, Slots: 4}, message.FixedTime{Content: "a", In: 10 * time.Hour})
		says := func(want string, args ...string) {
			t.Helper()
			wantText(t, s.text(t, append([]string{"every"}, args...)...), want)
		}
		says("no plans in reports", "list", "reports")
		says("no plans", "list")
		nightly := []string{"set", "reports", "nightly", "--content", "nightly report", "--cron", "0 3 * * *", "--zone", "Europe/Berlin"}
		says("nightly: added, in slot 0 of reports, due in SPAN (TIME)", nightly...)
		says("nightly: kept, in slot 0 of reports, due in SPAN (TIME)", nightly...)
		says("nightly: replaced, in slot 0 of reports, due in SPAN (TIME)", append(nightly, "--missed", "skip")...)
		says("a series: added, in slot 1 of reports, due in SPAN (TIME)",
			"set", "reports", "a series", "--content", "look", "--basis", "shop 1", "--cron", "@hourly", "--delay", "90s", "--period", "1500ms", "--repeat", "9")
		says("look: added, in slot 2 of reports, due in SPAN (TIME)", "set", "reports", "look", "--content", "look", "--period", "10m", "--until", "2090-01-01T00:00:00Z")
		says(`PLAN  NEXT  SLOT  RULE  CONTENT
			a series  due in SPAN  1  @hourly, SPAN later, 10 times 1.5s apart  look
			look  due in SPAN  2  each SPAN, until TIME  look
			nightly  due in SPAN  0  0 3 * * * Europe/Berlin, missed ones left out  nightly report`, "list", "reports", "--wide")
		send(t, s.rdb, message.Topic{Name: "bills", Kind: message.KindFixedTime, Slots: 4}, message.FixedTime{Content: "a", In: 10 * time.Hour})
		says("bill: added, in slot 3 of bills, due in SPAN (TIME)", "set", "bills", "bill", "--content", "bill", "--period", "10m", "--until", "2090-01-01T00:00:00Z")
		if got := s.text(t, "every", "list"); !strings.HasPrefix(got, "TOPIC    PLAN") || !strings.Contains(got, "bills    bill ") || !strings.Contains(got, "reports  nightly ") {
			t.Errorf("of all topics: %s", got)
		}
		if got := s.objects(t, "every", "list"); len(got) != 4 || got[0]["topic"] != "bills" || got[1]["topic"] != "reports" {
			t.Errorf("of all topics: %v", got)
		}
		for _, plan := range s.objects(t, "every", "list", "reports") {
			want := map[string]any{"topic": "reports", "name": "look", "slot": 2., "content": "look", "period_ms": 600_000., "until": "2090-01-01T00:00:00.000Z", "missed": "once"}
			if plan["name"] != "look" {
				continue
			}
			next, nerr := time.Parse(time.RFC3339, plan["next"].(string))
			set, serr := time.Parse(time.RFC3339, plan["set"].(string))
			if nerr != nil || serr != nil || next.Sub(set) != 10*time.Minute {
				t.Errorf("set at %v, next at %v", plan["set"], plan["next"])
			}
			delete(plan, "next")
			delete(plan, "set")
			if len(plan) != len(want) {
				t.Errorf("%v, not %v", plan, want)
			}
			for field, value := range want {
				if plan[field] != value {
					t.Errorf("%s is %v, not %v", field, plan[field], value)
				}
			}
		}

		// Now, beside its times.
		before := s.objects(t, "every", "list", "reports")
		runs := func(want string) {
			t.Helper()
			if got := s.text(t, "every", "run", "reports", "nightly"); !strings.HasPrefix(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		}
		runs("stored in slot 0 of reports, due ")
		if got := s.text(t, "peek", "reports"); !strings.Contains(got, "nightly report") {
			t.Errorf("%q", got)
		}
		runs("merged in slot 0 of reports, due ")
		if got := s.text(t, "every", "run", "reports", "a series"); !strings.HasPrefix(got, "stored in slot 1 of reports, ") { // by its basis
			t.Errorf("%q", got)
		}
		if after := s.objects(t, "every", "list", "reports"); after[2]["next"] != before[2]["next"] {
			t.Errorf("%v, before %v", after, before)
		}

		// A clock was years ahead.
		must.Do(t, s.rdb.ZRem(ctx, protocol.PlanKey("reports", 2), "look").Err())
		says("look: mended, in slot 2 of reports, due in SPAN (TIME)", "set", "reports", "look", "--content", "look", "--period", "10m", "--until", "2090-01-01T00:00:00Z")

		// At its end it stays, so that it is not begun again.
		at := protocol.RuleKey("reports", 2)
		ended := strings.Replace(s.rdb.HGet(ctx, at, "look").Val(), fmt.Sprint(time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()), "1700000000000", 1)
		must.Do(t, s.rdb.HSet(ctx, at, "look", ended).Err())
		must.Do(t, s.rdb.ZRem(ctx, protocol.PlanKey("reports", 2), "look").Err())
		says("look: kept, in slot 2 of reports, ended; to begin it again, rmq every stop it\nfirst", "set", "reports", "look", "--content", "look", "--period", "10m", "--until", "2023-11-14T22:13:20Z")
		if got := s.text(t, "every", "list", "reports"); !strings.Contains(got, "look      ended") {
			t.Errorf("%q", got)
		}

		says("look of reports is stopped", "stop", "reports", "look")
		s.refused(t, 1, "no plan look in reports; rmq every list shows those it has", "every", "stop", "reports", "look")
		s.refused(t, 1, "no plan look in reports; rmq every list shows those it has", "every", "run", "reports", "look")
		if got := s.objects(t, "every", "stop", "reports", "a series"); len(got) != 1 || got[0]["stopped"] != true || got[0]["name"] != "a series" {
			t.Errorf("%v", got)
		}

		// Programs that set it in turn.
		set := ""
		for hour := range 4 {
			set = s.text(t, "every", "set", "reports", "in turn", "--content", "look", "--cron", fmt.Sprintf("0 %d * * *", hour))
		}
		if set = strings.Join(strings.Fields(set), " "); !strings.HasPrefix(set, "in turn: unsent, in slot 2 of reports, due in ") || !strings.HasSuffix(set, "); it was set with different rules in turn, and nothing was sent between") {
			t.Errorf("%q", set)
		}
		s.text(t, "every", "stop", "reports", "in turn")

		// One that cannot be read here.
		rule := protocol.RuleKey("reports", 0)
		must.Do(t, s.rdb.HSet(ctx, rule, "nightly", strings.Replace(s.rdb.HGet(ctx, rule, "nightly").Val(), "Europe/Berlin", "Mars/Base", 1)).Err())
		says(`PLAN  NEXT  SLOT  RULE  CONTENT
			nightly  due in SPAN  0  cannot be read here, see rmq doctor`, "list", "reports")
		if got := s.objects(t, "every", "list", "reports"); !strings.Contains(got[0]["error"].(string), "Mars/Base") || got[0]["content"] != nil {
			t.Errorf("%v", got)
		}
		s.refused(t, 1, "Mars/Base", "every", "run", "reports", "nightly")
	})
}

// A plan sends a message of its topic's kind.
func TestEveryRunOfEachKind(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		send(t, s.rdb, message.Topic{Name: "prices", Kind: message.KindRangeMerge, Slots: 4}, message.RangeMerge{Content: "a", Range: time.Hour})
		send(t, s.rdb, message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 4}, message.Priority{Content: "a", Priority: 17})
		for topic, want := range map[string]string{"prices": "stored in slot 1 of prices, due ", "orders": "stored in slot 1 of orders, priority 500\n"} {
			args := []string{"every", "set", topic, "p", "--base64", "--content", "/wAB", "--period", "1h"}
			if topic == "orders" {
				args = append(args, "--priority", "500")
			}
			s.text(t, args...)
			if got := s.text(t, "every", "run", topic, "p"); !strings.HasPrefix(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			if got := s.objects(t, "every", "list", topic); got[0]["content_base64"] != "/wAB" {
				t.Errorf("%v", got)
			}
			if s.rdb.ZScore(ctx, protocol.StoreKey(topic, 1), "\xff\x00\x01").Val() == 0 {
				t.Errorf("%s: it is not stored", topic)
			}
		}
	})
}

func TestEveryRefuses(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		send(t, s.rdb, message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 4}, message.Priority{Content: "a", Priority: 17})
		for _, x := range []struct {
			args string
			code int
			says string
		}{
			{"set orders p --cron @daily --priority 17", 2, "--content is missing: what is to be sent"},
			{"set orders p --cron @daily --content x", 2, "--priority is 0; it must be 17 to"},
			{"set orders p --cron 0_25 --content x --priority 17", 2, `--cron is "0_25"; it must be five fields`},
			{"set orders p --cron @daily --zone Mars/Base --content x --priority 17", 2, `--zone is "Mars/Base"; it must be a time zone`},
			{"set orders p --content x --priority 17", 2, `--cron is ""; it must be given, or else --period, --delay or --from: nothing says when to send`},
			{"set orders p --period 1s --repeat 1 --content x --priority 17", 2, "--delay is 0; it must be at least 1ms where neither --cron nor --from says when to begin"},
			{"set orders p --period 50ms --content x --priority 17", 2, "--period is 50ms; it must be at least 100ms"},
			{"set orders p --delay -1s --content x --priority 17", 2, "--delay is"},
			{"set orders p --period 1s --repeat 10001 --delay 1s --content x --priority 17", 2, "--repeat is 10001; it must be 0 to 10000"},
			{"set orders p --period 1s --until 2020-01-01 --content x --priority 17", 2, "--until is 2020-01-01"},
			{"set orders p --from 2020-01-01 --content x --priority 17", 2, "--from is 2020-01-01"},
			{"set orders p --period 1s --missed twice --content x --priority 17", 2, `--missed is "twice"; it must be once or skip`},
			{"set orders p --period 1s --base64 --content x --priority 17", 2, "--base64"},
			{"set orders", 2, "too few arguments"},
			{"set orders p --period 1s --cron @daily --content x --priority 17", 2, "at least 1 where --cron and --period are given (the --period is that"},
			{"set orders " + strings.Repeat("n", 201) + " --period 1s --content x --priority 17", 2, "rmq: NAME is \"" + strings.Repeat("n", 60) + "…\" (201 bytes); it must be 1 to 200"},
			{"set oders p --period 1s --content x --priority 17", 1, "in this Redis there is orders; a program that uses it defines it, or its first message does: rmq send --kind"},
			{"list oders", 1, "oders"},
			{"stop oders p", 1, "oders"},
			{"run oders p", 1, "oders"},
			{"now orders p", 2, "rmq every has no command"},
		} {
			s.refused(t, x.code, x.says, append([]string{"every"}, strings.Fields(x.args)...)...)
		}
		if n := len(s.rdb.HGetAll(ctx, protocol.RuleKey("orders", 0)).Val()); n != 0 {
			t.Error("a plan is stored")
		}
	})
}
