package main

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/rmq"
)

var fairnessSection = section{
	name: "fairness", title: "One tenant floods, the others are quiet",
	about: `One of 100 tenants imports 100,000 rows at once, as fast as the queue takes them. Each of the others sends one message a second at
		random times for 8 s, the same times for all contestants. Every handler takes 5 ms (time.Sleep), and 64 of them run at once. The wait
		is from the moment a message was to be sent to the start of its handler, in milliseconds; what has not been handled 6 s after the
		last send has waited until then, at least, and is counted as "still waiting". Rows that are left are counted in Redis. RMQ has 64 slots unless said. Where the tenant is the
		slot basis, the import has one slot, and so one handler at a time: that is the price, which the column "import takes" shows, from
		the rate. Two quiet tenants share that slot, since 99 in 64 slots make 1.5 for each. "Lower priority" means
		that the rows have a lower one than all else; asynq has queues with weights for that, here 9 to 1, and looks every 10 ms for tasks
		when it has none, not every second. The list is LPUSH and BRPOP, and loses what a worker has in hand when it dies.`,
	run: (*bench).fairness,
}

const (
	tenantTakes = 5 * time.Millisecond
	tenantGrace = 6 * time.Second
)

// shared is a contestant with many tenants, and what became of their messages.
type shared struct {
	contestant
	slots              int // 0: it has none, or a tenant has no slot of its own
	open               func(handle func(content string)) (tenantQueue, error)
	all, apart, beside rounds // waits of the quiet tenants: those in other slots, those in the importer's
	stuck              int    // of all rounds
	imported           []servers.Sample
	over               int // rounds in which the import was over
}

func (b *bench) fairness() error {
	p, err := b.fleet.Apart(1)
	if err != nil {
		return err
	}
	rows, during := 100_000, 8*time.Second
	if b.quick {
		rows, during = 20_000, 2*time.Second
	}
	load := newTenants(100, limits.DefaultSlots, rows, during)
	cells := b.sharing(p, load)
	all := make([]*contestant, len(cells))
	for i, c := range cells {
		c.run = func() (servers.Sample, error) { return b.share(p, load, c) }
		all[i] = &c.contestant
	}
	if err := b.interleave(all, b.rounds); err != nil {
		return err
	}
	var table [][]string
	for _, c := range cells {
		apart, beside := "-", "-"
		if c.slots > 0 {
			apart = fmt.Sprintf("%.1f", c.apart.ms(0.99))
		}
		if n := len(c.neighbours(load)); n > 0 {
			beside = fmt.Sprintf("%.1f (%d tenants)", c.beside.ms(0.99), n)
		}
		rate := summarize(c.imported).rate
		table = append(table, []string{c.title, fmt.Sprintf("%.1f", c.all.ms(0.5)), fmt.Sprintf("%.1f", c.all.ms(0.99)), c.all.spread(0.99), apart, beside,
			fmt.Sprintf("%d of %d", c.stuck, len(c.all)*len(load.quiet)), report.Round(rate), fmt.Sprintf("%.0f s", float64(rows)/rate),
			fmt.Sprintf("%.0f %%", 100*summarize(c.contestant.all).busy)})
	}
	b.Table([]string{"", "quiet tenants: p50", "p99", "least .. most", "p99 in other slots", "p99 in the import's slot", "still waiting", "rows/s",
		"import takes", "Redis core"}, table)
	return nil
}

// sharing are the contestants.
func (b *bench) sharing(p servers.Place, load tenants) (all []*shared) {
	add := func(name string, slots int, open func(handle func(string)) (tenantQueue, error)) {
		all = append(all, &shared{contestant: contestant{name: name, title: name}, slots: slots, open: open})
	}
	ours := func(kind rmq.Kind, slots int, spread bool) func(func(string)) (tenantQueue, error) {
		return func(handle func(string)) (tenantQueue, error) { return newTenantRMQ(p, kind, slots, spread, handle) }
	}
	theirs := func(queues map[string]int, queue func(string, bool) string) func(func(string)) (tenantQueue, error) {
		return func(handle func(string)) (tenantQueue, error) { return newTenantAsynq(p, queues, queue, handle) }
	}
	add("RMQ, slot by tenant", limits.DefaultSlots, ours(rmq.KindFixedTime, limits.DefaultSlots, false))
	add("RMQ, slot by tenant, 256 slots", 256, ours(rmq.KindFixedTime, 256, false))
	add("RMQ, slot by tenant, import of lower priority", limits.DefaultSlots, ours(rmq.KindPriority, limits.DefaultSlots, false))
	add("RMQ, no slot basis", 0, ours(rmq.KindFixedTime, limits.DefaultSlots, true))
	add("RMQ, no slot basis, import of lower priority", 0, ours(rmq.KindPriority, limits.DefaultSlots, true))
	add("asynq, one queue", 0, theirs(map[string]int{"default": 1}, func(string, bool) string { return "default" }))
	add("asynq, import in a queue of lower weight", 0, theirs(map[string]int{"default": 9, "import": 1}, func(_ string, row bool) string {
		if row {
			return "import"
		}
		return "default"
	}))
	own := map[string]int{}
	for _, name := range load.names {
		own[name] = 1
	}
	add("asynq, a queue for each tenant", 0, theirs(own, func(tenant string, _ bool) string { return tenant }))
	add("Redis list", 0, func(handle func(string)) (tenantQueue, error) { return newTenantList(p, handle) })
	return all
}

// share is a round of a contestant.
func (b *bench) share(p servers.Place, load tenants, c *shared) (result servers.Sample, err error) {
	if err := p.Empty(); err != nil {
		return result, err
	}
	var noted atomic.Pointer[arrivals]
	q, err := c.open(func(content string) {
		noted.Load().note(content)
		time.Sleep(tenantTakes)
	})
	if err != nil {
		return result, err
	}
	texts := contents(max(load.size(), len(load.names)), b.payload)
	noted.Store(newArrivals(len(load.names), time.Now()))
	if err = q.start(); err == nil { // and open connections, load scripts
		err = each(len(load.names), len(load.names), func(i int) error { return q.send(load.names[i], texts[i]) })
	}
	if err == nil {
		err = noted.Load().wait()
	}
	if err != nil {
		return result, err
	}
	var end time.Duration
	var a *arrivals
	result, err = p.Measure(0, func() error {
		a = newArrivals(load.size(), time.Now())
		noted.Store(a)
		flooded := make(chan error, 1)
		go func() { flooded <- q.flood(load.importer, texts[len(load.quiet):load.size()]) }()
		err := play(len(load.quiet), load.pace, a.begin, func(i int) error { return q.send(load.quiet[i].tenant, texts[i]) })
		if first := <-flooded; err == nil {
			err = first
		}
		for grace := time.Now(); load.stuck(a) > 0 && time.Since(grace) < tenantGrace; {
			time.Sleep(time.Millisecond)
		}
		end = time.Since(a.begin)
		return err
	})
	if err == nil {
		err = q.stop()
	}
	if err != nil {
		return result, err
	}
	result.Messages = a.once()
	c.note(load, a, end)
	held, err := q.left()
	if err == nil {
		err = a.checkRest(held)
	}
	return result, err
}

// neighbours are the quiet tenants in the importer's slot.
func (c *shared) neighbours(load tenants) []string {
	if c.slots == 0 {
		return nil
	}
	return load.beside(load.importer, c.slots)
}

// note adds what became of a round's messages.
func (c *shared) note(load tenants, a *arrivals, end time.Duration) {
	neighbours := c.neighbours(load)
	isBeside := func(tenant string) bool { return slices.Contains(neighbours, tenant) }
	c.all = append(c.all, load.waits(a, end, func(string) bool { return true }))
	c.beside = append(c.beside, load.waits(a, end, isBeside))
	c.apart = append(c.apart, load.waits(a, end, func(tenant string) bool { return !isBeside(tenant) }))
	c.stuck += load.stuck(a)
	rows, last := load.imported(a)
	c.imported = append(c.imported, servers.Sample{Messages: rows, Took: last})
}
