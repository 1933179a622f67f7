package gatewaytest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/poll"
	"github.com/slotmq/go-rmq/producer"
	"github.com/slotmq/go-rmq/slots"
)

// The scripts that check producers of other languages. They print what is wrong.
const (
	checkPython = `
import json, produce
v = json.load(open("vectors.json", encoding="utf-8"))
for x in v["slots"]:
    if produce.slot(x["basis"], x["slots"]) != x["slot"]: print("slot", x)
for x in v["commands"]:
    got = produce.commands(x["topic"], x["slots"], x["kind"], x["content"], x["value"], x["now"], x.get("basis"))
    if [[str(w) for w in c] for c in got] != x["commands"]: print("commands", x, got)
print(len(v["slots"]), len(v["commands"]))`

	checkNode = `
import { readFileSync } from 'node:fs'
import { slot, commands } from './produce.mjs'
const v = JSON.parse(readFileSync('vectors.json', 'utf8'))
for (const x of v.slots) if (slot(x.basis, x.slots) !== x.slot) console.log('slot', x)
for (const x of v.commands) {
  const got = commands(x.topic, x.slots, x.kind, x.content, x.value, x.now, x.basis)
  if (JSON.stringify(got.map((c) => c.map(String))) !== JSON.stringify(x.commands)) console.log('commands', x, got)
}
console.log(v.slots.length, v.commands.length)`
)

// The producers by plain Redis compute what the vectors say, and these are what Go computes.
func TestVectorsOfProducers(t *testing.T) {
	t.Parallel()
	var vectors struct {
		Slots []struct {
			Basis       string
			Slots, Slot int
		}
		Commands []struct{ Topic string }
	}
	text, err := os.ReadFile(filepath.Join(clients(t), "vectors.json"))
	must.Do(t, err)
	must.Do(t, json.Unmarshal(text, &vectors))
	for _, v := range vectors.Slots {
		if got := slots.Of(v.Basis, v.Slots); got != v.Slot {
			t.Errorf("%q of %d: %d, not %d", v.Basis, v.Slots, got, v.Slot)
		}
	}
	if len(vectors.Slots) < 30 || len(vectors.Commands) < 5 {
		t.Error("vectors are missing")
	}
	const all = "33 5\n"
	if out := run(t, "", nil, "python3", "-c", checkPython); out != all {
		t.Errorf("Python: %s", out)
	}
	if out := run(t, "", nil, "node", "--input-type=module", "-e", checkNode); out != all {
		t.Errorf("Node: %s", out)
	}
}

// What they send is what the library would have sent: one entry, found by it, in time and by a wake-up.
func TestProducersByPlainRedis(t *testing.T) {
	t.Parallel()
	for _, language := range []string{"python3 produce.py", "node produce.mjs"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			server := servertest.Redis(t)
			rdb := server.Client(t)
			name, script, _ := strings.Cut(language, " ")
			send := func(args ...string) string {
				t.Helper()
				return strings.TrimSpace(run(t, "", []string{"REDIS=" + server.Addr()}, name, append([]string{script}, args...)...))
			}
			p, err := producer.New(rdb, producer.Config{ExactReceipts: true})
			must.Do(t, err)
			defer p.Close(ctx)
			orders := message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 16}
			prices := message.Topic{Name: "prices", Kind: message.KindRangeMerge, Slots: 16}
			mails := message.Topic{Name: "mails", Kind: message.KindFixedTime, Slots: 16}
			for topic, m := range map[message.Topic]message.Message{
				orders: message.Priority{Content: "first", Priority: 100}, prices: message.RangeMerge{Content: "first", Range: time.Hour}, mails: message.FixedTime{Content: "first", In: time.Hour},
			} {
				_, err := p.Send(ctx, topic, m)
				must.Do(t, err)
			}
			for _, topic := range []string{"orders", "prices", "mails"} {
				value := map[string]string{"orders": "500", "prices": "2h", "mails": "2h"}[topic]
				if got := send(topic, value, "订单 4711"); got != "stored" {
					t.Error(got)
				}
				if got := send(topic, value, "first"); got != "merged" {
					t.Error(got)
				}
			}
			for topic, m := range map[message.Topic]message.Message{
				orders: message.Priority{Content: "订单 4711", Priority: 600}, prices: message.RangeMerge{Content: "订单 4711", Range: time.Hour}, mails: message.FixedTime{Content: "订单 4711", In: time.Hour},
			} {
				r, err := p.Send(ctx, topic, m)
				if must.Do(t, err); r.Outcome != producer.Merged {
					t.Errorf("%s: %s, so it was elsewhere", topic.Name, r.Outcome)
				}
			}
			// One that waits hears of it at once.
			taker, err := poll.New(poll.Config{Redis: rdb, SafetyLook: time.Hour})
			must.Do(t, err)
			defer taker.Close(ctx)
			take := func() string {
				held, err := taker.Take(ctx, []string{"orders"}, poll.Take{Wait: await.Patience})
				if must.Do(t, err); held == nil {
					t.Fatal("nothing came")
				}
				_, err = taker.Finish(ctx, held.Receipt)
				must.Do(t, err)
				return held.Messages[0].Content
			}
			if a, b := take(), take(); a+b != "订单 4711first" && a+b != "first订单 4711" {
				t.Error(a, b)
			}
			got := make(chan string)
			go func() { got <- take() }()
			send("orders", "500", "at once")
			if content := <-got; content != "at once" {
				t.Error(content)
			}
			// What they cannot send they refuse.
			_, err = p.Send(ctx, message.Topic{Name: "offers", Kind: message.KindFixedTime, Slots: 1, Notes: true}, message.FixedTime{Content: "x", In: time.Hour})
			must.Do(t, err)
			for args, says := range map[string]string{"offers 1h": "needs a script for each send", "nothing 1h": "there is no topic nothing", "orders 3": "the priority must be 17 to"} {
				out, err := try(t, "", []string{"REDIS=" + server.Addr()}, name, append([]string{script}, append(strings.Fields(args), "x")...)...)
				if err == nil || !strings.Contains(out, says) {
					t.Errorf("%s: %v %s", args, err, out)
				}
			}
		})
	}
}
