package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/transcript"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/rmq"
)

// docs/JOURNAL.md shows a night in which Redis was replaced by an empty one. The test plays it, so the
// document shows exactly what the commands print.

var nightUpdate = flag.Bool("update", false, "rewrite the transcript in docs/JOURNAL.md")

const nightFile = "../../../docs/JOURNAL.md"

// played is when the transcript says that it was played.
var played = time.Date(2026, 1, 31, 3, 7, 0, 0, time.UTC)

func TestNight(t *testing.T) {
	t.Parallel()
	p := &play{shop: newShop(t, "SQLite"), zero: time.Now().Truncate(time.Millisecond)}
	p.run()
	transcript.Check(t, nightFile, "empty", p.text.String(), *nightUpdate, "cd server && go test ./cmd/rmqd -run Night -update")
}

// play is one night.
type play struct {
	*shop
	worker string    // its id
	zero   time.Time // that is shown as played
	text   strings.Builder
}

const asked = "order 4711, 12.50 EUR"

func (p *play) run() {
	p.run23()
	p.reconcile()
	p.server = servertest.Redis(p.t) // the new one
	p.rdb = p.server.Client(p.t)

	p.say("The shop does not send its morning mails, and the orders of the night are gone. What is in Redis?")
	p.rmqd("", "stats")
	p.say("Nothing at all: at 3 a.m. the server was replaced by an empty one. What does the journal say?")
	p.reconcile()
	p.rmqd("", "journal", "status")
	p.say("The reconcile, which runs beside the programs, has noticed what Redis forgot. What would come back?")
	p.rmqd("", "journal", "restore", "--dry-run")
	p.say("The 57 orders were due, so workers may have handled some of them. The handlers expect that. Bring them back.")
	p.rmqd("y\n", "journal", "restore")
	p.say("The workers handle the orders, the mails wait for their time, and the dead are dead as before.")
	stop := p.workers()
	p.rmqd("", "stats")
	p.rmqd("", "verify")
	stop()
	p.say("A customer asks for an order of last night. It was handled before Redis was lost, so it has not come back.")
	p.rmqd("", "explain", "orders", asked)
}

// run23 is what happened until 3 a.m.
func (p *play) run23() {
	tax := rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		if strings.Contains(d.Content, "XI") {
			return rmq.Dead(errors.New("no such tax code: XI"))
		}
		return nil
	})
	p.shop.run(journal.Config{}, func(client *rmq.Client) {
		must.Do(p.t, client.Listen(orders, tax, rmq.ListenOptions{}))
		must.Do(p.t, client.Start(ctx))
		p.send(client, orders, 311, func(n int) rmq.Message {
			switch {
			case n == 0:
				return rmq.Priority{Content: asked, Priority: 500}
			case n < 5:
				return rmq.Priority{Content: fmt.Sprintf("order %d, 1.00 XI", 4711+n), Priority: 500}
			}
			return rmq.Priority{Content: fmt.Sprintf("order %d, 1.00 EUR", 4711+n), Priority: 500}
		})
		await.True(p.t, "four are stored, and no batch is on its way", func() bool {
			return len(p.stored()) == 4 && len(p.rdb.Keys(ctx, "prepare{orders_*}").Val()) == 0
		})
		workers, err := p.rdb.ZRange(ctx, "rmq:workers{orders}", 0, -1).Result()
		must.Do(p.t, err)
		p.worker = workers[0]
	})
	p.shop.run(journal.Config{}, func(client *rmq.Client) {
		p.send(client, orders, 57, func(n int) rmq.Message {
			return rmq.Priority{Content: fmt.Sprintf("order %d, 1.00 EUR", 5022+n), Priority: 500}
		})
		p.send(client, mails, 1204, func(n int) rmq.Message {
			return rmq.FixedTime{Content: fmt.Sprintf("mail %d", n), At: p.zero.Add(5 * time.Hour)}
		})
	})
	ms := func(ago time.Duration) int64 { return p.zero.Add(-ago).UnixMilli() }
	exec(p.t, p.journal,
		fmt.Sprintf("UPDATE rmq_sent SET at = %d", ms(6*time.Hour+30*time.Second)), fmt.Sprintf("UPDATE rmq_ended SET at = %d", ms(6*time.Hour+29*time.Second)))
}

// workers are those that have connected to the new Redis, and have handled what waits. They go on
// until stop.
func (p *play) workers() (stop func()) {
	going, stopped := make(chan struct{}), make(chan struct{})
	handled := make(chan struct{}, 57)
	go func() {
		defer close(stopped)
		p.shop.run(journal.Config{}, func(client *rmq.Client) {
			must.Do(p.t, client.Listen(orders, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error {
				handled <- struct{}{}
				return nil
			}), rmq.ListenOptions{}))
			must.Do(p.t, client.Start(ctx))
			<-going
		})
	}()
	for range 57 {
		<-handled
	}
	await.True(p.t, "it goes on", func() bool {
		return !slices.ContainsFunc(p.everything(), func(key string) bool { return strings.Contains(key, "prepare{orders") })
	})
	return func() { close(going); <-stopped }
}

// reconcile is a round of the one that runs all night. It finds what is missing, or nothing.
func (p *play) reconcile() { p.call("journal", "reconcile", "--rate", "20000/s") }

// everything are the keys that there are.
func (p *play) everything() []string { return p.rdb.Keys(ctx, "*").Val() }

func (p *play) send(client *rmq.Client, topic rmq.Topic, n int, of func(int) rmq.Message) {
	p.t.Helper()
	batch := make([]rmq.Message, n)
	for i := range batch {
		batch[i] = of(i)
	}
	_, err := client.SendBatch(ctx, topic, batch)
	must.Do(p.t, err)
}

// say explains.
func (p *play) say(text string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > 120 {
			p.text.WriteString(line + "\n")
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	p.text.WriteString(line + "\n\n")
}

// rmqd is a call, as a terminal shows it, with the answer that was typed.
func (p *play) rmqd(answer string, args ...string) {
	p.t.Helper()
	var shown bytes.Buffer
	program.Run(ctx, append([]string{"--redis", "redis://" + p.server.Addr(), "--journal", p.journal}, args...), strings.NewReader(answer), &shown, &shown)
	line := "rmqd"
	for _, arg := range args {
		if strings.Contains(arg, " ") {
			arg = "'" + arg + "'"
		}
		line += " " + arg
	}
	out := strings.ReplaceAll(shown.String(), "[y/N] ", "[y/N] "+answer)
	fmt.Fprintf(&p.text, "```\n$ %s\n%s```\n\n", line, p.steady(out))
}

var (
	moments = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}`)
	ends    = regexp.MustCompile(`(?m) +$`)
	longer  = regexp.MustCompile(`6h\d+m ago`)                            // where the play lasts
	signs   = regexp.MustCompile(`(?m)^\w+  \d+( of \d+)?  [\d.]+/s.*\n`) // of life, on a machine that is slow
)

// steady replaces what is another each time: the day, the id of the worker, the journal's file.
func (p *play) steady(out string) string {
	out = longer.ReplaceAllString(signs.ReplaceAllString(out, ""), "6h ago")
	out = strings.ReplaceAll(ends.ReplaceAllString(out, ""), p.worker, "app7-c9a21165")
	out = strings.ReplaceAll(out, p.journal, "sqlite:/var/lib/rmq/journal.db")
	return moments.ReplaceAllStringFunc(out, func(text string) string {
		t, err := time.ParseInLocation("2006-01-02 15:04:05.000", text, time.Local)
		must.Do(p.t, err)
		return t.Add(played.Sub(p.zero)).UTC().Format("2006-01-02 15:04:05.000")
	})
}
