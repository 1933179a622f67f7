package commands

import (
	"context"
	"io"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

func TestSend(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		s.refused(t, 1, "to define it, say --kind range-merge, priority or fixed-time", "send", "prices", "x", "--range", "10m")
		wantText(t, s.text(t, "send", "prices", "price of 4711", "--range", "10h", "--kind", "range-merge", "--slots", "4"),
			"stored in slot 2 of prices, due in SPAN (TIME)")
		wantText(t, s.text(t, "send", "prices", "price of 4711", "--range", "20h"), "merged in slot 2 of prices, due in SPAN (TIME)")
		first := s.objects(t, "explain", "prices", "price of 4711")[0]["waiting"].(map[string]any)["due"]
		merged := s.objects(t, "send", "prices", "price of 4711", "--range", "20h")[0]
		if merged["due"] != first {
			t.Errorf("%v, and it is due %v", merged, first)
		}
		wantJSON(t, merged, `{"content":"price of 4711","outcome":"merged","slot":2,"topic":"prices"}`, "due")

		wantText(t, s.text(t, "send", "orders", "order 1", "--priority", "500", "--basis", "customer 12", "--kind", "priority"),
			"stored in slot 3 of orders, priority 500")
		wantJSON(t, s.objects(t, "send", "orders", "order 1", "--priority", "900", "--basis", "customer 12")[0],
			`{"content":"order 1","outcome":"merged","priority":900,"slot":3,"topic":"orders"}`)

		wantText(t, s.text(t, "send", "mails", "mail 1", "--in", "2d", "--kind", "fixed-time", "--literal"), "stored in slot 15 of mails, due in SPAN (TIME)")
		then := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
		wantJSON(t, s.objects(t, "send", "mails", "mail 1", "--at", then.Format(time.RFC3339))[0],
			`{"content":"mail 1","due":"`+frame.Stamp(then)+`","outcome":"merged","slot":15,"topic":"mails"}`)

		wantText(t, s.text(t, "send", "mails", "mail 2", "--at", "2020-01-01"), "stored in slot 53 of mails, due now, past its time (TIME)")
		wantJSON(t, s.objects(t, "send", "mails", "mail 2", "--at", "2020-01-01T00:00:00Z")[0],
			`{"content":"mail 2","due":"2020-01-01T00:00:00.000Z","outcome":"merged","past":true,"slot":53,"topic":"mails"}`)

		// Each send moves it, up to its ceiling.
		extend := func(of string) []string {
			return []string{"send", "edits", "page 12", "--kind", "range-merge", "--range", of, "--extend", "--ceiling", "20h"}
		}
		due := func(of string) time.Time {
			due, err := time.Parse(time.RFC3339Nano, s.objects(t, extend(of)...)[0]["due"].(string))
			must.Do(t, err)
			return due
		}
		one, nine, twenty := due("1h"), due("9h"), due("1199m59s")
		if moved, stopped := nine.Sub(one), twenty.Sub(one); moved < 8*time.Hour || moved > 8*time.Hour+time.Minute || stopped < 19*time.Hour-time.Minute || stopped > 19*time.Hour+time.Millisecond {
			t.Errorf("due %v, then %v, then %v", one, nine, twenty)
		}
		wantText(t, s.text(t, extend("9h")...), "merged in slot 20 of edits, due in SPAN (TIME)")

		// Any bytes, from the command line and from stdin.
		for _, r := range []result{
			s.answered("", "send", "orders", "AAH/Cg==", "--base64", "--priority", "20", "--json"),
			s.answered("AAH/\nCg==\n", "send", "orders", "-", "--base64", "--priority", "20", "--json"),
			s.answered("\x00\x01\xff\n", "send", "orders", "-", "--priority", "20", "--json"),
		} {
			if r.code != 0 || !strings.Contains(r.out, `"content_base64":"AAH/Cg=="`) {
				t.Errorf("%+v", r)
			}
		}
		if all := members(t, s.rdb, message.Topic{Name: "orders"}, inStore); all["\x00\x01\xff\n"] != 20 || len(all) != 2 {
			t.Error(all)
		}

		for _, c := range []struct{ words, args string }{
			{"orders is a priority topic: a message needs a priority", "send orders x"},
			{"orders is a priority topic", "send orders x --range 10m"},
			{"--ceiling is 10m0s; it must be larger than --range, which is 10m0s", "send prices x --range 10m --extend --ceiling 10m"},
			{"--ceiling is 1h0m0s; it must be 0 where --extend is not set", "send prices x --range 10m --ceiling 1h"},
			{"--ceiling is not set; it must be larger than --range where --extend is set", "send prices x --range 10m --extend"},
			{"orders is a priority topic: extend and ceiling are for range merges", "send orders x --priority 20 --extend"},
			{"extend and ceiling are for range merges", "send mails x --in 1h --ceiling 1h"},
			{"--ttl is 1h0m0s; it must be left out: the topic has no Notes, and a topic never changes. Define another one with --notes", "send orders x --priority 20 --ttl 1h"},
			{"--header is set; it must be left out: the topic has no Notes", "send orders x --priority 20 --header a=b"},
			{"--header is an empty key", "send offers x --priority 20 --header =b --kind priority --notes"},
			{`--header is "shop", not name=value`, "send orders x --priority 20 --header shop"},
			{`--header is "shop", not name=value`, "send orders --batch - --priority 20 --header shop"},
			{"not a duration such as", "send orders x --priority 20 --ttl 10"},
			{"nothing else", "send orders x --priority 20 --range 10m"},
			{"needs a time, either in or at", "send mails x --in 1h --at 2040-01-01"},
			{"--priority is 16; it must be 17 to", "send orders x --priority 16"},
			{"--priority is 5; it must be 17 to", "send orders x --priority 5"},
			{"--at is 1999-12-31T00:00:00Z; it must be in the year 2000 at the earliest", "send mails x --at 1999-12-31"},
			{"Content is 0 bytes", "send orders - --priority 20"},
			{"either a CONTENT or --batch", "send orders"},
			{"either a CONTENT or --batch", "send orders x --batch -"},
			{"not range-merge, priority or fixed-time", "send new x --kind nonsense"},
			{"not a duration such as", "send prices x --range 10"},
			{"not a time such as", "send mails x --at tomorrow"},
		} {
			s.refused(t, 2, c.words, strings.Fields(c.args)...)
		}
		s.refused(t, 1, "orders is a priority topic, not fixed-time; leave --kind away", "send", "orders", "x", "--kind", "fixed-time", "--priority", "99")
		s.refused(t, 1, "orders has 64 slots, not 32; leave --slots away", "send", "orders", "x", "--slots", "32", "--priority", "20")
		s.refused(t, 1, "mails is literal; leave --literal away", "send", "mails", "x", "--literal=false", "--in", "1h")
		s.refused(t, 1, "mails has no notes; leave --notes away", "send", "mails", "x", "--notes", "--in", "1h")
		s.text(t, "send", "offers", "x", "--kind", "priority", "--notes", "--priority", "20")
		if s.rdb.HGet(ctx, protocol.DefinitionKey("offers"), "notes").Val() != "1" {
			t.Error("offers has no notes")
		}
		s.text(t, "send", "offers", "x", "--priority", "20", "--ttl", "90m", "--header", "shop=Rome", "--header", "q=a=b", "--header", "shop=Bonn", "--header", "empty=")
		note, ok := protocol.ParseNote(s.rdb.HGet(ctx, protocol.NoteKey("offers", slots.Of("x", 64)), "x").Val())
		if !ok || note.Sends != 2 || note.Expires != 0 || !maps.Equal(note.Headers, map[string]string{"shop": "Bonn", "q": "a=b", "empty": ""}) {
			t.Errorf("%+v", note) // the first send had no TTL, so it is wanted for ever
		}
		s.text(t, "send", "offers", "y", "--priority", "20", "--ttl", "90m")
		note, ok = protocol.ParseNote(s.rdb.HGet(ctx, protocol.NoteKey("offers", slots.Of("y", 64)), "y").Val())
		if !ok || time.Duration(note.Expires-note.First)*time.Millisecond != 90*time.Minute || note.Headers != nil {
			t.Errorf("%+v", note)
		}
		s.refused(t, 1, "offers has notes; leave --notes away", "send", "offers", "x", "--notes=false", "--priority", "20")
	})
}

// A signal ends it also while a content is awaited.
func TestInterruptedContent(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	define(t, server.Client(t), "orders")
	stdin, typed := io.Pipe()
	defer typed.Close() // lets the reader of the content go
	ctx, cancel := context.WithCancel(ctx)
	var errs strings.Builder
	code := make(chan int)
	go func() {
		code <- program.Run(ctx, []string{"--redis", "redis://" + server.Addr(), "send", "orders", "-", "--range", "1h"}, stdin, io.Discard, &errs)
	}()
	_, err := typed.Write([]byte("x")) // which returns when it is read
	must.Do(t, err)
	cancel()
	if got := <-code; got != 130 || !strings.HasPrefix(errs.String(), "rmq: interrupted: read the content from stdin") {
		t.Errorf("%d, %q", got, errs.String())
	}
}
