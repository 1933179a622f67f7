package main

import (
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
)

var goalsSection = section{
	name: "goals", title: "The goals for many slots, and for flow that regulates itself", alone: true,
	about: `Each line is measured as in a table of its own: both, lateness, paced, idle, flow and outage. A ratio is the median of those of
		the rounds; a ZADD of its own is one of 64 in a write.`,
	begin: (*bench).beginIdle,
	run:   (*bench).goals,
}

// goals measures all of them, and prints one table.
func (b *bench) goals() error {
	var all []goal
	for _, measure := range []func(servers.Place) ([]goal, error){b.widthGoals, b.lateGoals, b.pacedGoals, b.idleGoals, b.flowGoals, b.outageGoals} {
		p, err := b.fleet.Apart(1)
		if err != nil {
			return err
		}
		some, err := measure(p)
		if err != nil {
			return err
		}
		all = append(all, some...)
		b.fleet.Release(p.Servers[0])
	}
	var rows [][]string
	met := 0
	for _, g := range all {
		rows = append(rows, g.row())
		if g.met() {
			met++
		}
	}
	b.Table([]string{"", "goal", "measured", "least .. most", ""}, rows)
	b.Text("%d of %d goals are met.", met, len(all))
	return nil
}

// widthGoals are about what slots cost while messages are sent and handled at once.
func (b *bench) widthGoals(p servers.Place) (goals []goal, err error) {
	widths := []int{usual, limits.DefaultSlots, 256}
	var ours []*contestant
	for _, slots := range widths {
		ours = append(ours, &contestant{name: fmt.Sprintf("%d slots", slots), run: func() (servers.Sample, error) { return b.bothRMQ(p, slots, b.messages) }})
	}
	bare := &contestant{name: "ZADD", run: func() (servers.Sample, error) { return b.ceiling(p, 1) }}
	if err := b.interleave(append(ours, bare), b.rounds); err != nil {
		return nil, err
	}
	for i, bound := range []float64{0.95, 0.8} {
		goals = append(goals, atLeast(bound, "", fmt.Sprintf("send and handle at once: messages/s with %d slots to %d", widths[i+1], widths[0]),
			pairs(ours[i+1], ours[0], servers.Sample.Rate)...))
	}
	for i, bound := range []float64{1.15, 1.25, 1.6} {
		goals = append(goals, atMost(bound, "", fmt.Sprintf("Redis CPU of a message's life to a ZADD of its own, %d slots", widths[i]),
			pairs(ours[i], bare, redisMicros)...))
	}
	return goals, nil
}

// lateGoals are about messages of which 200 are due at each whole second.
func (b *bench) lateGoals(p servers.Place) (goals []goal, err error) {
	widths, late := []int{limits.DefaultSlots, 256}, make([]rounds, 2)
	var all []*contestant
	for i, slots := range widths {
		all = append(all, &contestant{name: fmt.Sprintf("late, %d slots", slots), run: func() (servers.Sample, error) {
			s, one, err := b.lateRMQ(p, slots, b.dues(true))
			late[i] = append(late[i], one)
			return s, err
		}})
	}
	if err := b.interleave(all, b.rounds); err != nil {
		return nil, err
	}
	for i, bound := range []float64{3, 5} {
		goals = append(goals, atMost(bound, "ms", fmt.Sprintf("late at p99, %d due at once on %d slots", duePerSecond, widths[i]), late[i].sorted(0.99)...))
	}
	return goals, nil
}

// pacedGoals are about a steady load.
func (b *bench) pacedGoals(p servers.Place) ([]goal, error) {
	busy, calm := b.pacedCell(p, limits.DefaultSlots, 50_000, 3*time.Second), b.pacedCell(p, limits.DefaultSlots, 100, 3*time.Second)
	few := b.pacedCell(p, usual, 100, 3*time.Second)
	if err := b.interleave([]*contestant{&busy.contestant, &calm.contestant, &few.contestant}, b.rounds); err != nil {
		return nil, err
	}
	percent := column(busy.all, func(s servers.Sample) float64 { return 100 * s.Busy() })
	return []goal{
		atMost(4, "ms", busy.name+": p99", busy.late.sorted(0.99)...),
		atMost(25, "%", busy.name+": Redis core", percent...),
		atMost(1, "ms", calm.name+": p99", calm.late.sorted(0.99)...),
		atMost(1, "ms", few.name+": p99", few.late.sorted(0.99)...),
	}, nil
}

// idleGoals are about a worker that has nothing to do.
func (b *bench) idleGoals(servers.Place) ([]goal, error) {
	if err := b.idlers.wait(b.progress); err != nil {
		return nil, err
	}
	return []goal{atMost(3, "/s", fmt.Sprintf("commands of an idle worker with %d slots", limits.DefaultSlots), b.idlers.commands(limits.DefaultSlots))}, nil
}

// flowGoals are about a topic with a bottleneck behind it, as it is by default.
func (b *bench) flowGoals(p servers.Place) ([]goal, error) {
	cells, err := b.flowRounds(p)
	if err != nil {
		return nil, err
	}
	alone, ours, best := cells[0], cells[1], cells[1]
	for _, c := range cells[2:] {
		if summarize(c.all).rate > summarize(best.all).rate {
			best = c
		}
	}
	var waits []float64
	for i, one := range ours.late {
		waits = append(waits, one.ms(0.99)/alone.late[i].ms(0.99))
	}
	settles := fmt.Sprintf("handlers before a bottleneck of %d, with 64 places", picturesAtOnce)
	return []goal{
		atLeast(6, "", settles, ours.handlers(0.5)...),
		atMost(14, "", settles, ours.handlers(0.5)...),
		atLeast(0.95, "", "what they handle a second to the best there is", pairs(&ours.contestant, &best.contestant, servers.Sample.Rate)...),
		atMost(1.2, "", "their neighbour's wait at p99 to what it is alone", waits...),
	}, nil
}

// outageGoals are about handlers that all fail.
func (b *bench) outageGoals(p servers.Place) ([]goal, error) {
	all, err := b.outageRounds(p)
	if err != nil {
		return nil, err
	}
	var spent, dead []float64
	for _, o := range all {
		spent, dead = append(spent, o.inAnHour()), append(dead, float64(o.dead))
	}
	what := fmt.Sprintf("an hour of outage behind the handlers, %s due: ", report.Count(outageDue))
	return []goal{atMost(0, "", what+"dead", dead...), atMost(200, "", what+"deliveries spent", spent...)}, nil
}
