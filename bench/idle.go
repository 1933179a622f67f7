package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/rmq"
)

var idleSection = section{
	name: "idle", title: "What an idle worker asks of Redis", quick: true,
	about: `Workers with default settings, each on a Redis of its own, were started before all other measurements and left alone. Every 30 s a
		worker looks at its slots in case a wake-up got lost, so they were watched for 60 s (30 s in -quick). Commands are those that Redis
		counts: those inside scripts, too, and not those of this program. The last row is a Redis without any client.`,
	begin: (*bench).beginIdle,
	run:   (*bench).idle,
}

// idlers are workers with nothing to do, watched while other sections run.
type idlers struct {
	all     []*idler
	took    time.Duration
	watched chan struct{} // closed when the counts are there
}

// idler is one of them, and its Redis.
type idler struct {
	slots  int // 0: no worker
	place  servers.Place
	client *rmq.Client
	asked  servers.Counts
}

func (b *bench) beginIdle() error {
	if b.idlers != nil { // for another section
		return nil
	}
	b.idlers = &idlers{watched: make(chan struct{}), took: 60 * time.Second}
	widths := []int{usual, limits.DefaultSlots, 256, 0}
	if b.quick {
		b.idlers.took, widths = 30*time.Second, []int{usual, limits.DefaultSlots, 0}
	}
	for _, slots := range widths {
		p, err := b.fleet.Apart(1)
		if err != nil {
			return err
		}
		i := &idler{slots: slots, place: p}
		i.count(1)
		i.count(-1) // what one reading costs, taken away
		if slots > 0 {
			topic := rmq.Topic{Name: "bench", Kind: rmq.KindFixedTime, Slots: slots}
			if i.client, err = listening(p.Dial()[0], topic, func(*rmq.Delivery) {}); err == nil {
				err = i.client.Start(ctx)
			}
			if err != nil {
				return err
			}
		}
		b.idlers.all = append(b.idlers.all, i)
	}
	go b.idlers.watch()
	return nil
}

func (i *idler) count(times int64) { i.asked.Add(i.place.Servers[0].Counts(), times) }

// watch counts for some time, once the workers have looked at every slot.
func (w *idlers) watch() {
	defer close(w.watched)
	time.Sleep(500 * time.Millisecond)
	for _, i := range w.all {
		i.count(-1)
	}
	time.Sleep(w.took)
	for _, i := range w.all {
		i.count(1)
	}
}

// wait returns when the counts are there, and the workers are closed.
func (w *idlers) wait(progress *report.Progress) error {
	progress.Say("until %.0f s have passed …", w.took.Seconds())
	<-w.watched
	progress.Done()
	for _, i := range w.all {
		if i.client != nil {
			if err := i.client.Close(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// commands is how many a second a worker with so many slots has asked for.
func (w *idlers) commands(slots int) float64 {
	at := slices.IndexFunc(w.all, func(i *idler) bool { return i.slots == slots })
	return float64(w.all[at].asked.Commands) / w.took.Seconds()
}

func (b *bench) idle() error {
	if err := b.idlers.wait(b.progress); err != nil {
		return err
	}
	b.Result("idle_cmds", "%.1f", b.idlers.commands(usual))
	var rows [][]string
	for _, i := range b.idlers.all {
		title, commands := "no worker", b.idlers.commands(i.slots)
		if i.slots > 0 {
			title = fmt.Sprintf("a worker, %d slots", i.slots)
		}
		rows = append(rows, []string{title, fmt.Sprintf("%.2f", commands), fmt.Sprintf("%d", i.asked.Turns),
			fmt.Sprintf("%.3f %%", 100*i.asked.CPU.Seconds()/b.idlers.took.Seconds())})
	}
	b.Table([]string{"", "commands/s", "scripts", "Redis core"}, rows)
	return nil
}
