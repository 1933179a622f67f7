package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
)

var workSection = section{
	name: "work", title: "Handlers that take time", alone: true,
	about: `How long a message waits from the moment it was to be sent to the start of its handler, in milliseconds, while handlers take time: they
		sleep, as those do that wait for something else. Messages come at random times (Poisson), which are planned before the first is sent, so
		nobody who is slow moves the plan, and all contestants of a table have the same one. The first tenth does not count. There are 64 places for
		handlers: one worker of 64, two of 32, or eight of 8; a worker is a client of its own in this process, or an asynq Server. The load is what
		the handlers need of the places. RMQ has its default settings but for the slots; asynq looks for tasks every 10 ms when it has none.
		"Backlog" is a pile that was sent before, at once: its rate, as a share of what the places could do. Redis's CPU and core are those while
		the messages of the plan were sent and handled. What is not handled some seconds after the last send has waited until then, and is counted
		as "left"; a message that was sent late has waited since its time: where many were, this machine was too busy. A round in which one is lost
		or comes twice fails, and so does one in which two handlers of an entity run at once. "Ideal" is the same plan in one queue that loses no
		time. One round each. RMQ handles the messages of a slot one after the other, so what is behind a slow one waits for it: the goals at the
		end are for a coming change of that.`,
	run: (*bench).works,
}

// workRun is what the parts have measured so far.
type workRun struct {
	*bench
	p     servers.Place
	cells []*workCell
	goals []goal
}

// workPart is a table, or a few rows of one.
type workPart struct {
	name string
	run  func(*workRun) error
}

func workParts() (all []workPart) {
	for _, h := range handlings {
		all = append(all, workPart{h.name, func(r *workRun) error { return r.handling(h) }})
	}
	return append(all, workPart{"zipf", (*workRun).zipf}, workPart{"failing", (*workRun).failing}, workPart{"due", (*workRun).due},
		workPart{"crowd", (*workRun).crowd}, workPart{"slow", (*workRun).slow}, workPart{"alone", (*workRun).alone})
}

func workPartNames() (names []string) {
	for _, part := range workParts() {
		names = append(names, part.name)
	}
	return names
}

func (b *bench) works() error {
	p, err := b.fleet.Apart(1)
	if err != nil {
		return err
	}
	defer b.progress.Done()
	r := &workRun{bench: b, p: p}
	b.Text("The seed of the plans is %d.", b.work.seed)
	for _, part := range workParts() {
		if !b.chose(part.name) {
			continue
		}
		b.progress.Say("work, %s …", part.name)
		if err := part.run(r); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	r.verdict()
	sent, left := 0, 0
	for _, c := range r.cells {
		sent, left = sent+c.sent, left+c.left
	}
	b.Text("In %d rounds %s messages were sent, and %s were left: lost 0, come twice 0, two handlers of an entity at once 0.",
		len(r.cells), report.Count(float64(sent)), report.Count(float64(left)))
	return nil
}

// workCell is a row: a contestant at a load, and what came of it.
type workCell struct {
	handling string
	percent  int
	workers
	waits   latencies
	micros  float64 // of Redis, for a message
	core    float64 // of Redis
	backlog float64
	behind  float64 // of the plan, when messages were sent: p99 in ms
	sent    int
	left    int
}

// title of a row.
func (c *workCell) title() string {
	who := "asynq"
	if c.slots > 0 {
		who = fmt.Sprintf("RMQ, %d slots", c.slots)
	}
	return fmt.Sprintf("%d × %d, %d %%: %s", c.n, c.places, c.percent, who)
}

// contestants are who is compared, with so many workers.
func contestants(n int) (all []workers) {
	widths := []int{256}
	if n == 1 {
		widths = []int{usual, 64, limits.DefaultSlots}
		slices.Sort(widths)
		widths = slices.Compact(widths)
	}
	for _, slots := range append(widths, 0) {
		all = append(all, workers{n: n, places: workPlaces / n, slots: slots})
	}
	return all
}

const (
	workGrace = 5 * time.Second
	pileTakes = 2 * time.Second // in an ideal queue
	pileMost  = 20_000          // messages
)

// handling measures one way in which handlers take time.
func (r *workRun) handling(h handling) error {
	var rows [][]string
	for _, percent := range r.percents(h.loads) {
		plan := newWorkPlan(r.work.seed, h, h.rate(workPlaces, percent), r.sending())
		ideal := idealQueue{workers: 1, places: workPlaces}.waits(plan)
		rows = append(rows, append([]string{fmt.Sprintf("ideal, %d %%", percent)}, append(quantiles(ideal), "1", "", "", "", "")...))
		for _, n := range r.fleets() {
			for _, who := range contestants(n) {
				round := workRound{workers: who, plan: plan, grace: workGrace}
				if percent == r.percents(h.loads)[0] {
					round.pile = workPile(r.work.seed, h, min(pileMost, int(h.rate(workPlaces, 100)*pileTakes.Seconds())))
				}
				c := &workCell{handling: h.name, percent: percent, workers: who}
				if err := r.measure(c, round); err != nil {
					return err
				}
				rows = append(rows, c.row())
			}
		}
	}
	r.Text("**Handlers take %s:**", h.title)
	r.Table(workHeader, rows)
	r.Result("work_"+h.name+"_p99_ms", "%.1f", r.worst(h.name, h.loads[0]))
	return nil
}

var workHeader = []string{"", "p50", "p90", "p99", "max", "backlog", "Redis µs", "Redis core", "sent late, p99", "left"}

// measure fills a cell in.
func (r *workRun) measure(c *workCell, round workRound) error {
	result, err := r.workRound(r.p, round)
	if err != nil {
		return fmt.Errorf("%s: %w", c.title(), err)
	}
	c.take(result, result.waits(result.end, nil))
	r.cells = append(r.cells, c)
	r.progress.Say("work, %s, %s: p50 %.1f, p99 %.1f ms, backlog %.2f, %d left", c.handling, c.title(), c.waits.ms(0.5), c.waits.ms(0.99), c.backlog, c.left)
	return nil
}

func (c *workCell) take(result workResult, waits latencies) {
	c.waits, c.backlog, c.sent, c.left = waits, result.backlog, result.Messages, int(result.identities.left.Load())
	c.micros, c.core, c.behind = redisMicros(result.Sample), result.Busy(), result.behind.ms(0.99)
}

func (c *workCell) row() []string {
	backlog := "-"
	if c.backlog > 0 {
		backlog = fmt.Sprintf("%.2f", c.backlog)
	}
	return append(append([]string{c.title()}, quantiles(c.waits)...), backlog, fmt.Sprintf("%.0f", c.micros), fmt.Sprintf("%.0f %%", 100*c.core),
		fmt.Sprintf("%.1f", c.behind), report.Count(float64(c.left)))
}

// quantiles are p50, p90, p99 and the maximum.
func quantiles(l latencies) (all []string) {
	for _, share := range []float64{0.5, 0.9, 0.99, 1} {
		all = append(all, fmt.Sprintf("%.1f", l.ms(share)))
	}
	return all
}
