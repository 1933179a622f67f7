package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/internal/protocol"
)

var backlogSection = section{
	name: "backlog", title: "On top of a huge backlog", alone: true,
	about: `Two Redis without persistence, with a topic of 256 slots each, on which so many messages of 32 bytes wait, all of them due and added
		in random order of their times; the rounds of both are interleaved. Sending: up to 200,000 messages that are due in a day, by 256
		callers of Send and by SendBatch of 512 from two goroutines; they are removed again. Handling: a worker starts, handles as many, and
		is closed. Adding: as many as it handled take their place, by ZADDs of up to 64 in random order among those that wait.`,
	run: (*bench).onTop,
}

const (
	smallBacklog  = 100_000 // which the huge one is compared with
	backlogRound  = 200_000 // messages of a round, at most half of those that wait
	backlogBytes  = 32      // of a message
	backlogMemory = 160     // bytes that a message takes, rather too many
)

// room fails unless so many messages fit into the memory that is free.
func room(messages int) error {
	if messages < smallBacklog {
		return fmt.Errorf("-backlog %d: at least %s messages, with which it is compared", messages, report.Count(smallBacklog))
	}
	free, err := servers.Free()
	if err != nil {
		return err
	}
	const rest = 2 << 30 // for everything else
	if need := float64(messages)*backlogMemory + rest; need > float64(free) {
		fit := max(0, free-rest) / backlogMemory / smallBacklog * smallBacklog
		return fmt.Errorf("-backlog %d needs %s of memory, and %s are free: %s messages would fit",
			messages, gigabytes(need), gigabytes(float64(free)), report.Count(float64(fit)))
	}
	return nil
}

func gigabytes(bytes float64) string { return fmt.Sprintf("%.1f GB", bytes/1e9) }

// onTop measures each kind of work on a small backlog and on a huge one.
func (b *bench) onTop() error {
	var logs []*backlog
	var all []*contestant // three for each backlog
	for _, size := range []int{smallBacklog, b.options.backlog} {
		title := report.Count(float64(size))
		l, err := b.begin(title, size, backlogBytes, randomDue())
		if err != nil {
			return err
		}
		n := min(backlogRound, size/2)
		logs = append(logs, l)
		all = append(all,
			&contestant{name: title + " Send", run: func() (servers.Sample, error) { return b.sendOnTop(l, n, 1) }},
			&contestant{name: title + " SendBatch", run: func() (servers.Sample, error) { return b.sendOnTop(l, n, 512) }},
			&contestant{name: title + " handle", run: func() (servers.Sample, error) { return l.round(n) }},
		)
	}
	if err := b.interleave(all, b.rounds); err != nil {
		return err
	}
	small, huge := logs[0], logs[1]
	works := []struct {
		title       string
		small, huge []servers.Sample
	}{
		{"Send, 256 callers", all[0].all, all[3].all},
		{"SendBatch of 512", all[1].all, all[4].all},
		{"handling", all[2].all, all[5].all},
		{"adding, ZADD of 64", small.adding, huge.adding},
	}
	var rows [][]string
	for _, w := range works {
		s, h := summarize(w.small), summarize(w.huge)
		rows = append(rows, []string{
			w.title, report.Round(s.rate), fmt.Sprintf("%.2f", s.redis), report.Round(h.rate), report.Round(h.least) + " .. " + report.Round(h.most),
			fmt.Sprintf("%.2f", h.redis), fmt.Sprintf("%.0f %%", 100*h.busy), fmt.Sprintf("%.2f", h.rate/s.rate), fmt.Sprintf("%.2f", h.redis/s.redis),
		})
	}
	few, many := report.Count(float64(small.size)), report.Count(float64(huge.size))
	b.Table([]string{"", "messages/s on " + few, "Redis µs", "on " + many, "least .. most", "Redis µs", "Redis core", "times the rate", "times the Redis µs"}, rows)

	rows = nil
	for _, l := range logs {
		row, err := b.clear(l)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	b.Table([]string{"waiting", "filled in", "messages/s", "Redis µs", "memory", "bytes a message", "killed in", "free before", "free after"}, rows)
	b.Text("Filling is by ZADDs of up to 64 in random order, from the first message to the last. A message of %d bytes takes %.0f bytes of "+
		"Redis's memory among %s, %.2f times what it takes among %s. Nothing needs to be cleaned up: the server is killed.",
		backlogBytes, huge.bytes, many, huge.bytes/small.bytes, few)
	return nil
}

// sendOnTop sends messages that are not due yet, and removes them again.
func (b *bench) sendOnTop(l *backlog, n, perCall int) (servers.Sample, error) {
	result, err := b.sendAll(l.place, l.topic, dueLater(l.added, n, l.content), perCall)
	if err != nil {
		return result, err
	}
	removed, rdb, now := 0, l.place.Servers[0].Rdb, strconv.FormatInt(time.Now().UnixMilli(), 10)
	for slot := range l.topic.Slots {
		some, err := rdb.ZRemRangeByScore(ctx, protocol.StoreKey(l.topic.Name, slot), "("+now, "+inf").Result()
		if err != nil {
			return result, fmt.Errorf("remove what was sent: %w", err)
		}
		removed += int(some)
	}
	if removed != n {
		return result, fmt.Errorf("%d messages were sent and %d of them waited", n, removed)
	}
	return result, l.check()
}

// clear kills the server of a backlog, and reports what it was like.
func (b *bench) clear(l *backlog) ([]string, error) {
	b.progress.Say("removing %s …", report.Count(float64(l.size)))
	defer b.progress.Done()
	before, err := servers.Free()
	if err != nil {
		return nil, err
	}
	memory, begun := l.place.Memory(), time.Now()
	b.fleet.Release(l.place.Servers[0])
	took := time.Since(begun)
	after, err := servers.Free()
	return []string{
		report.Count(float64(l.size)), l.filling.Took.Round(100 * time.Millisecond).String(), report.Round(l.filling.Rate()),
		fmt.Sprintf("%.2f", summarize([]servers.Sample{l.filling}).redis), report.Count(float64(memory)/1e6) + " MB", fmt.Sprintf("%.0f", l.bytes),
		took.Round(time.Millisecond).String(), gigabytes(float64(before)), gigabytes(float64(after)),
	}, err
}
