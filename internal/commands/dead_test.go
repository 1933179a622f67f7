package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/message"
)

// topicWithDead is a topic with 30 dead messages, which died an hour ago and a minute apart. The
// first is the oldest, and of the last nothing is known.
func topicWithDead(t testing.TB, rdb redis.UniversalClient) (topic message.Topic, died func(i int) time.Time) {
	t.Helper()
	topic = message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 4}
	first := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	died = func(i int) time.Time { return first.Add(time.Duration(i) * time.Minute) }
	bury(t, rdb, topic, 30, func(i int) deadOne {
		c := deadOne{fmt.Sprintf("order %d", 4700+i), died(i), whyOf(died(i), "500", "the shop timed out\n\tat shop.go:"+strconv.Itoa(i))}
		switch {
		case i == 7:
			c.content, c.why = binary, whyOf(died(i), "700", "\x1b[31mno\xff such shop")
		case i == 29:
			c.why = ""
		case i%2 == 1:
			c.why = whyOf(died(i), "-", "no such shop")
		}
		return c
	})
	return topic, died
}

func TestDeadList(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		_, died := topicWithDead(t, s.rdb)
		rows := strings.SplitAfter(s.text(t, "dead", "list", "orders"), "\n")
		wantText(t, rows[0]+rows[1]+rows[2]+rows[3], `
			DIED  SLOT  ATTEMPTS  CONTENT  LAST ERROR
			SPAN ago  3  order 4729
			SPAN ago  1  17  order 4728  "the shop timed out\n\tat shop.go:28"
			SPAN ago  0  17  order 4727  no such shop`)
		if len(rows) != 23 || rows[21] != "and 10 more; --limit shows more, rmq dead export all\n" {
			t.Errorf("%q", rows)
		}
		listed := s.objects(t, "dead", "list", "orders", "--limit", "0")
		if len(listed) != 30 {
			t.Errorf("%d of 30", len(listed))
		}
		wantJSON(t, listed[0], fmt.Sprintf(`{"content":"order 4729","died":"%s","slot":3}`, frame.Stamp(died(29))))
		wantJSON(t, listed[1], fmt.Sprintf(`{"attempts":17,"content":"order 4728","died":"%s","first_failure":"%s","last_failure":"%s",`+
			`"priority":500,"reason":"the shop timed out\n\tat shop.go:28","slot":1,"worker":"app7-1"}`,
			frame.Stamp(died(28)), frame.Stamp(died(28).Add(-6*time.Minute)), frame.Stamp(died(28))))

		for args, want := range map[string]int{
			"--content order*": 29, "--content *472?": 10, "--content nothing": 0, "--content-regex 47[01]": 19, "--content-regex ^order": 29,
			"--reason timed": 15, "--reason such": 14, "--reason nothing": 0,
			"--older-than 45m30s": 15, "--newer-than 45m30s": 15, "--older-than 45m30s --newer-than 50m30s": 5,
			"--died-before " + frame.Stamp(died(3)): 3, "--died-after " + frame.Stamp(died(3)): 26,
			"--died-before " + frame.Stamp(died(3)) + " --older-than 1s": 3, "--limit 7": 7, "--limit 7 --reason timed": 7,
		} {
			if got := len(s.objects(t, append([]string{"dead", "list", "orders", "--limit", "0"}, strings.Fields(args)...)...)); got != want {
				t.Errorf("%s: %d, want %d", args, got, want)
			}
		}
		sum := 0
		for _, slots := range []string{"0", "1", "2,3"} {
			sum += len(s.objects(t, "dead", "list", "orders", "--limit", "0", "--slot", slots))
		}
		if sum != 30 {
			t.Errorf("%d in all slots", sum)
		}
		if got := s.text(t, "dead", "list", "orders", "--content", "nothing"); got != "no dead message in orders that fits\n" {
			t.Error(got)
		}
		send(t, s.rdb, rangeMerge("alive"), soon("x"))
		if got := s.text(t, "dead", "list", "alive"); got != "no dead message in alive\n" {
			t.Error(got)
		}
		for _, c := range []struct{ words, args string }{
			{"--limit is -1", "--limit -1"},
			{"--content", "--content ["},
			{"regular expression", "--content-regex ("},
			{"not both", "--content a --content-regex a"},
			{"slot is 4", "--slot 4"},
			{"not a duration", "--older-than yesterday"},
			{"not a time", "--died-before yesterday"},
		} {
			s.refused(t, 2, c.words, append([]string{"dead", "list", "orders"}, strings.Fields(c.args)...)...)
		}
		s.refused(t, 2, "did you mean list", "dead", "lst", "orders")
	})
}

// Those that died for one reason are counted together, whatever numbers it has.
func TestDeadByReason(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		_, died := topicWithDead(t, s.rdb)
		wantText(t, s.text(t, "dead", "list", "orders", "--by", "reason"), `
			DEAD  LATEST  CONTENT  LAST ERROR
			15  SPAN ago  order 4728  the shop timed out
			13  SPAN ago  order 4727  no such shop
			1  SPAN ago  order 4729  (not known)
			1  SPAN ago  "a\x00b\r\n\xff\xfe {3} \"q\" \x1b[SPAN'é\…  "\x1b[#mno such shop"
			30 dead messages for 4 reasons`)
		wantText(t, s.text(t, "dead", "list", "orders", "--by", "reason", "--limit", "1", "--reason", "shop"), `
			DEAD  LATEST  CONTENT  LAST ERROR
			15  SPAN ago  order 4728  the shop timed out
			29 dead messages for 3 reasons; 2 reasons more with --limit 0`)
		all := s.objects(t, "dead", "list", "orders", "--by", "reason")
		if len(all) != 4 {
			t.Errorf("%d reasons", len(all))
		}
		wantJSON(t, all[0], fmt.Sprintf(`{"count":15,"first_died":"%s","last_died":"%s","reason":"the shop timed out","topic":"orders"}`, frame.Stamp(died(0)), frame.Stamp(died(28))), "latest")
		s.refused(t, 2, `--by is "age"; it must be reason`, "dead", "list", "orders", "--by", "age")
	})
}

func TestDeadShow(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		_, died := topicWithDead(t, s.rdb)
		wantText(t, s.text(t, "dead", "show", "orders", "order 4728"), `
			order 4728
			  dead in  slot 1 of orders
			  died  TIME
			  attempts  17
			  first failure  TIME
			  last failure  TIME
			  worker  app7-1
			  priority  500
			  last error  the shop timed out
			  at shop.go:28`)
		wantText(t, s.text(t, "dead", "show", "orders", "order 4729"), `
			order 4729
			  dead in  slot 3 of orders
			  died  TIME
			  last error  nothing is known of its failures`)
		shown := s.objects(t, "dead", "show", "orders", "YQBiDQr//iB7M30gInEiIBtbMzFtJ8Op4oCu", "--base64")[0]
		wantJSON(t, shown, fmt.Sprintf(`{"attempts":17,"content_base64":"YQBiDQr//iB7M30gInEiIBtbMzFtJ8Op4oCu","died":"%s","priority":700,"reason":"\u001b[31mno�`+
			` such shop","slot":%v,"worker":"app7-1"}`, frame.Stamp(died(7)), shown["slot"]), "first_failure", "last_failure")
		if out := s.call(t, "dead", "show", "orders", binary).out; strings.Contains(out, "\x1b") || !strings.Contains(out, `"\x1b[31mno\xff such shop"`) {
			t.Error(out)
		}
		s.refused(t, 1, "nothing is not dead in orders; rmq explain shows where it is", "dead", "show", "orders", "nothing")
	})
}

func TestDeadRequeue(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		topic, _ := topicWithDead(t, s.rdb)
		if got := s.text(t, "dead", "requeue", "orders", "--reason", "timed out", "--rate", "600/m", "--dry-run"); got != "would requeue 15 dead messages of orders, at 10/s (1s)\n" {
			t.Error(got)
		}
		wantJSON(t, s.objects(t, "dead", "requeue", "orders", "--dry-run")[0], `{"topic":"orders","would_requeue":30}`)
		if n := len(members(t, s.rdb, topic, inDead)); n != 30 {
			t.Errorf("%d dead after --dry-run", n)
		}
		// One content.
		if got := s.text(t, "dead", "requeue", "orders", "order 4700"); got != "requeued 1 dead message of orders\n" {
			t.Error(got)
		}
		wantJSON(t, s.objects(t, "dead", "requeue", "orders", "order 4702")[0], `{"gone":0,"merged":0,"priority_unknown":0,"stored":1,"topic":"orders"}`)
		if all := members(t, s.rdb, topic, inStore); all["order 4700"] != 500 || all["order 4702"] != 500 || len(all) != 2 {
			t.Error(all)
		}
		// One whose priority is not known stays dead until it is given.
		s.text(t, "send", "orders", "order 4704", "--priority", "18") // a live copy
		if got := s.text(t, "dead", "requeue", "orders", "--yes"); got != "requeued 14 dead messages of orders; 1 of them merged into live copies; 14 stay\n"+
			"dead, since their priority is not known: --priority gives them one\n" {
			t.Error(got)
		}
		if all := members(t, s.rdb, topic, inStore); all["order 4704"] != 18 || all[binary] != 700 || len(all) != 16 || len(members(t, s.rdb, topic, inDead)) != 14 {
			t.Error(all)
		}
		wantJSON(t, s.objects(t, "dead", "requeue", "orders", "--yes", "--priority", "20", "--rate", "1000000")[0],
			`{"gone":0,"merged":0,"priority_unknown":0,"stored":14,"topic":"orders"}`)
		if got := s.text(t, "dead", "requeue", "orders"); got != "no dead message of orders is meant; nothing to requeue\n" {
			t.Error(got)
		}
		if got := s.text(t, "dead", "requeue", "orders", "--rate", "100/s", "--dry-run"); got != "no dead message of orders is meant; nothing to requeue\n" {
			t.Error(got)
		}
		wantJSON(t, s.objects(t, "dead", "requeue", "orders", "--dry-run")[0], `{"topic":"orders","would_requeue":0}`)
		if all := members(t, s.rdb, topic, inStore); all["order 4729"] != 20 || len(all) != 30 {
			t.Error(all)
		}
		if got := s.text(t, "verify"); !strings.HasPrefix(got, "ok: ") {
			t.Error(got)
		}
		s.refused(t, 1, "order 4700 is not dead in orders", "dead", "requeue", "orders", "order 4700")
		for _, c := range []struct{ words, args string }{
			{"not a rate such as 100/s", "--rate fast"},
			{"not a rate from 3.6/h", "--rate 1/h"},
			{"--priority is 0", "--priority 0"},
			{"either a CONTENT or flags", "x --limit 3"},
		} {
			bury(t, s.rdb, topic, 1, func(int) deadOne { return deadOne{content: "x", died: time.Now().Add(-time.Hour)} })
			s.refused(t, 2, c.words, append([]string{"dead", "requeue", "orders"}, strings.Fields(c.args)...)...)
		}
	})
}

// In JSON, too, a requeue that is interrupted says how to go on.
func TestInterruptedInJSON(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		topic, _ := topicWithDead(t, s.rdb)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var out, errs strings.Builder
		code := make(chan int)
		go func() {
			args := []string{"--redis", s.url, "dead", "requeue", "orders", "--yes", "--json", "--rate", "2/s", "--priority", "20", "--limit", "20"}
			code <- program.Run(ctx, args, strings.NewReader(""), &out, &errs)
		}()
		await.True(t, "the first is requeued", func() bool { return len(members(t, s.rdb, topic, inStore)) > 0 })
		cancel()
		if got := <-code; got != 130 {
			t.Errorf("exit code %d", got)
		}
		var j wire.Requeued
		must.Do(t, json.Unmarshal([]byte(out.String()), &j))
		words := []string{fmt.Sprintf("--limit=%d", 20-j.Stored), "--died-before=20", "--rate=2/s", "--priority=20", "--json", "--yes"}
		for _, word := range append(words, "rmq dead requeue orders ") {
			if !strings.Contains(j.GoOn, word) {
				t.Errorf("%q is not in %q", word, j.GoOn)
			}
		}
		if n := len(members(t, s.rdb, topic, inStore)); j.Stored != n || n == 20 || !strings.HasSuffix(errs.String(), fmt.Sprintf("; %d of 20 requeued; go on with: %s\n", n, j.GoOn)) {
			t.Errorf("%d requeued, %+v, %q", n, j, errs.String())
		}
	})
}

// A topic with times has no priorities. That is said before anything else.
func TestRequeueWithWrongPriority(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	s := at{server.Client(t), "redis://" + server.Addr()}
	bury(t, s.rdb, rangeMerge("prices"), 1, func(int) deadOne { return deadOne{content: "x", died: time.Now().Add(-time.Hour)} })
	bury(t, s.rdb, message.Topic{Name: "orders", Kind: message.KindPriority}, 1, func(int) deadOne { return deadOne{content: "x", died: time.Now().Add(-time.Hour)} })
	for _, how := range [][]string{{"--dry-run"}, {"--yes"}, nil, {"x", "--dry-run"}, {"x"}} {
		s.refused(t, 2, "prices is a range-merge topic", append([]string{"dead", "requeue", "prices", "--priority", "17"}, how...)...)
		s.refused(t, 2, "--priority is 16; it must be 17 to", append([]string{"dead", "requeue", "orders", "--priority", "16"}, how...)...)
	}
	if n := len(members(t, s.rdb, rangeMerge("prices"), inDead)); n != 1 {
		t.Error(n)
	}
}

func TestDeadDelete(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		topic, died := topicWithDead(t, s.rdb)
		if r := s.answered("y\n", "dead", "delete", "orders", binary); r.code != 0 || r.errs != "delete 1 dead message of orders for ever? [y/N] " || r.out != "deleted 1 dead message of orders\n" {
			t.Errorf("%+v", r)
		}
		wantJSON(t, s.objects(t, "dead", "delete", "orders", "--yes", "--died-before", frame.Stamp(died(10)))[0], `{"deleted":9,"topic":"orders"}`)
		if got := s.text(t, "dead", "delete", "orders", "--yes", "--limit", "5"); got != "deleted 5 dead messages of orders\n" {
			t.Error(got)
		}
		left := members(t, s.rdb, topic, inDead)
		if _, there := left["order 4714"]; there || len(left) != 15 || left["order 4715"] == 0 {
			t.Error(left)
		}
		if got := s.text(t, "dead", "delete", "orders", "--yes"); got != "deleted 15 dead messages of orders\n" {
			t.Error(got)
		}
		if got := s.text(t, "dead", "delete", "orders"); got != "no dead message of orders is meant; nothing to delete\n" {
			t.Error(got)
		}
		for slot := range 4 {
			if n := s.rdb.Exists(ctx, fmt.Sprintf("why{orders_%d}", slot)).Val(); n != 0 {
				t.Error("what was known of the dead is still there")
			}
		}
	})
}

func TestDeadExport(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		topic, died := topicWithDead(t, s.rdb)
		exported := s.objects(t, "dead", "export", "orders")
		listed := s.objects(t, "dead", "list", "orders", "--limit", "0")
		for i := range exported {
			if a, b := fmt.Sprint(exported[i]), fmt.Sprint(listed[29-i]); a != b {
				t.Errorf("%d: %s is exported, %s listed", i, a, b)
			}
		}
		file := filepath.Join(t.TempDir(), "orders.jsonl")
		if got := s.call(t, "--wide", "dead", "export", "orders", "--out", file); got.out != "wrote 30 dead messages of orders to "+file+"\n" || got.code != 0 {
			t.Errorf("%+v", got)
		}
		written, err := os.ReadFile(file)
		must.Do(t, err)
		if string(written) != s.text(t, "dead", "export", "orders", "--json") {
			t.Errorf("%s", written)
		}
		s.refused(t, 2, "is there already", "dead", "export", "orders", "--out", file)
		s.refused(t, 2, "no such file", "dead", "export", "orders", "--out", filepath.Join(file+"x", "y"))
		if around, err := os.ReadDir(filepath.Dir(file)); err != nil || len(around) != 1 {
			t.Errorf("%v, %v", around, err)
		}
		wantJSON(t, s.objects(t, "dead", "export", "orders", "--limit", "3", "--out", file+"2")[0], `{"exported":3,"file":"`+file+`2","topic":"orders"}`)
		if got := s.objects(t, "dead", "export", "orders", "--died-after", frame.Stamp(died(28))); len(got) != 1 {
			t.Error(got)
		}
		if got := s.text(t, "dead", "export", "orders", "--out", "-", "--json"); got != string(written) {
			t.Errorf("to stdout: %s", got)
		}
		// What was exported can be sent again.
		s.text(t, "dead", "delete", "orders", "--yes")
		if got := s.call(t, "send", "orders", "--batch", file, "--priority", "20"); got.code != 0 || got.out != "sent 30 messages to orders: 30 stored, 0 merged\n" {
			t.Errorf("%+v", got)
		}
		if all := members(t, s.rdb, topic, inStore); all[binary] != 700 || all["order 4728"] != 500 || all["order 4729"] != 20 {
			t.Error(all)
		}
	})
}

// An age that overflows, or is nothing, or a time that is still to come, means nothing that
// anybody would say. It deleted everything.
func TestDeadDeleteProtectsWhatWasNotMeant(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		topic := message.Topic{Name: "orders", Kind: message.KindRangeMerge, Slots: 4}
		bury(t, s.rdb, topic, 20, func(i int) deadOne {
			return deadOne{content: fmt.Sprintf("order %d", i), died: time.Now().Add(-time.Hour)}
		})
		for _, c := range []struct{ words, args string }{
			{`--older-than is "65535d2000000h", more than 106751d`, "--older-than 65535d2000000h"},
			{"more than 106751d", "--older-than 9223372036s1000ms"},
			{"less than 1ms; leave it out", "--older-than 0s"},
			{"less than 1ms; leave it out", "--newer-than 0s"},
			{"not a duration", "--older-than=-1h"},
			{"not a duration", "--older-than="},
			{"in the years 1970 to 9999", "--died-before 0001-01-01T00:00:00Z"},
			{"in the years 1970 to 9999", "--died-after 0001-01-01T00:00:00.0001Z"},
			{"--died-before is 2099-01-01T00:00:00Z; it must be no later than the server's clock", "--died-before 2099-01-01T00:00:00Z"},
		} {
			for _, does := range []string{"delete", "requeue"} {
				s.refused(t, 2, c.words, append([]string{"dead", does, "orders", "--yes"}, strings.Fields(c.args)...)...)
			}
		}
		if n := len(members(t, s.rdb, topic, inDead)); n != 20 {
			t.Errorf("%d of 20 are left", n)
		}
		s.text(t, "dead", "delete", "orders", "--yes", "--older-than", "106751d")
		if n := len(members(t, s.rdb, topic, inDead)); n != 20 {
			t.Errorf("%d of 20 are left", n)
		}
		s.text(t, "dead", "delete", "orders", "--yes", "--newer-than", "106751d")
		if n := len(members(t, s.rdb, topic, inDead)); n != 0 {
			t.Errorf("%d of 20 are left", n)
		}
	})
}
