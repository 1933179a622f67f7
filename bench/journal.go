package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/server/databases"
)

var journalSection = section{
	name: "journal", title: "What a journal costs", alone: true,
	about: `Send and handle at once, each round in a process of its own, by 256 callers of Send: without a journal, with one that is written
		behind, and with one that each send waits for. A round ends when all is in SQL, too, and each journal is looked into then: it must have
		one row for each send and one for each end. The rounds that are paced show what the stamp of each send costs Redis: as fast as each
		can, a journal leaves fewer messages a second, and each of them costs more. The journal is a new file of SQLite, and with -journal also
		the databases of these URLs, whose tables are emptied; their servers' CPU is not in the figures. With -before, the benchmark of a
		commit without journals takes part.`,
	run: (*bench).journals,
}

// roomy is a buffer that a round cannot fill: what is behind is written before its end.
const roomy = 1 << 30

func (b *bench) journals() error {
	p, err := b.fleet.Apart(1)
	if err != nil {
		return err
	}
	var goals []goal
	if b.before != "" {
		now := &contestant{name: "no journal", run: func() (servers.Sample, error) { return b.bothInChild(b.self, p) }}
		before := &contestant{name: "before", run: func() (servers.Sample, error) { return b.bothInChild(b.before, p) }}
		if err := b.interleave([]*contestant{now, before}, 4*b.rounds); err != nil {
			return err
		}
		goals = append(goals, atLeast(0.99, "", "no journal: messages/s, to those before there was one", pairs(now, before, servers.Sample.Rate)...))
	}

	none := &contestant{name: "none", title: "none"}
	all, waits := []*contestant{none}, map[*contestant]*rounds{}
	add := func(c *contestant, url string, wait bool) *contestant {
		waits[c] = &rounds{}
		c.run = func() (servers.Sample, error) {
			r := b.request("journaled", p, usual, b.messages/4)
			r.Journal, r.Wait = url, wait
			if strings.HasPrefix(c.name, "paced") {
				r.Load, r.Messages = journalPace, 3*journalPace
			}
			if url == fileJournal {
				dir, err := os.MkdirTemp("", "rmq-bench-")
				if err != nil {
					return servers.Sample{}, err
				}
				defer os.RemoveAll(dir)
				r.Journal += filepath.Join(dir, "journal.db")
			}
			got, err := b.inChild(b.self, r)
			*waits[c] = append(*waits[c], latencies{got.P99})
			return got.Sample, err
		}
		return c
	}
	add(none, "", false)
	slow := add(&contestant{name: "paced", title: "none, paced"}, "", false)
	all = append(all, slow)
	urls := []string{fileJournal}
	if b.journal != "" {
		urls = append(urls, strings.Split(b.journal, ",")...)
	}
	for _, url := range urls {
		_, dialect, err := databases.Open(url + "x") // which opens nothing yet
		if err != nil {
			return err
		}
		all = append(all, add(&contestant{name: "behind", title: dialect.String() + ", behind"}, url, false),
			add(&contestant{name: "wait", title: dialect.String() + ", waited for"}, url, true),
			add(&contestant{name: "paced, behind", title: dialect.String() + ", behind, paced"}, url, false))
	}
	if err := b.interleave(all, b.rounds); err != nil {
		return err
	}
	var rows [][]string
	for _, c := range all {
		m := summarize(c.all)
		beside := none
		if strings.HasPrefix(c.name, "paced") {
			beside = slow
		}
		redis := median(pairs(c, beside, redisMicros))
		rows = append(rows, []string{c.title, report.Round(m.rate), report.Round(m.least) + " .. " + report.Round(m.most), fmt.Sprintf("%.2f", m.redis),
			fmt.Sprintf("%.2f", redis), fmt.Sprintf("%.1f", m.client), fmt.Sprintf("%.1f", waits[c].ms(0.99)), waits[c].spread(0.99)})
		rate := column(c.all, servers.Sample.Rate)
		switch c.name {
		case "behind":
			goals = append(goals, atLeast(15_000, "", c.title+": messages/s", rate...))
		case "paced, behind":
			goals = append(goals, atMost(1.15, "", c.title+": CPU of Redis, to none", pairs(c, slow, redisMicros)...))
		case "wait":
			goals = append(goals, atLeast(8_000, "", c.title+": messages/s", rate...), atMost(25, "ms", c.title+": a send at p99", (*waits[c]).sorted(0.99)...))
		}
	}
	b.Table([]string{"journal", "messages/s", "least .. most", "Redis µs", "to none", "client µs", "a send at p99, ms", "least .. most"}, rows)
	var lines [][]string
	for _, g := range goals {
		lines = append(lines, g.row())
	}
	b.Table([]string{"", "goal", "measured", "least .. most", ""}, lines)
	return nil
}

// journalPace is how many messages a second the paced rounds send.
const journalPace = 15_000

// fileJournal begins the URL of a file that each round makes.
const fileJournal = "sqlite:"

func (b *bench) bothInChild(program string, p servers.Place) (servers.Sample, error) {
	got, err := b.inChild(program, b.request("both", p, usual, b.messages))
	return got.Sample, err
}

// journaled is a round with a journal, if there is a URL of one. P99 is that of the calls of Send.
func (j job) journaled() (a answer, err error) {
	var log *journal.Journal
	adjust := func(*rmq.Config) error { return nil }
	if j.Journal != "" {
		db, dialect, err := databases.Open(j.Journal)
		if err != nil {
			return a, err
		}
		defer db.Close()
		if log, err = journal.Open(db, dialect, journal.Config{Wait: j.Wait, Buffer: roomy}); err != nil {
			return a, err
		}
		defer log.Close(ctx)
		for _, table := range []string{"rmq_sent", "rmq_ended"} {
			if _, err := db.ExecContext(ctx, "DELETE FROM "+table); err != nil {
				return a, err
			}
		}
		adjust = func(cfg *rmq.Config) error { cfg.Journal = log; return nil }
	}
	texts, ids, took := contents(j.Messages, j.Payload), newIdentities(j.Messages), make(latencies, j.Messages)
	if err := j.place.Empty(); err != nil {
		return a, err
	}
	rdb := j.place.Dial()[0]
	defer rdb.Close()
	topic := rmq.Topic{Name: "bench", Kind: rmq.KindRangeMerge, Slots: j.Slots}
	client, err := listening(rdb, topic, func(d *rmq.Delivery) { ids.handled(d.Content) }, adjust)
	if err != nil {
		return a, err
	}
	a.Sample, err = j.place.Measure(j.Messages, func() error {
		if err := client.Start(ctx); err != nil {
			return err
		}
		start := time.Now()
		err := each(j.Messages, j.callers, func(i int) error {
			if j.Load > 0 {
				time.Sleep(load{rate: j.Load}.pace(i) - time.Since(start))
			}
			begin := time.Now()
			err := sendPlain(client, topic, texts[i])
			took[i] = time.Since(begin)
			return err
		})
		if err == nil {
			err = ids.wait()
		}
		if err == nil {
			err = client.Close(ctx)
		}
		if err == nil && log != nil {
			err = log.Close(ctx)
		}
		return err
	})
	slices.Sort(took)
	a.P99 = took[len(took)*99/100]
	if err == nil {
		err = ids.check()
	}
	if err == nil && log != nil {
		err = wholeJournal(log, j.Messages)
	}
	return a, err
}

// wholeJournal checks that a journal has all of a round.
func wholeJournal(log *journal.Journal, messages int) error {
	s, err := log.Status(ctx)
	if err == nil && (s.Sent != int64(messages) || s.Ended != s.Sent || len(s.Gaps) > 0) {
		err = fmt.Errorf("the journal has %d sends and %d ends of %d messages, and %d gaps", s.Sent, s.Ended, messages, len(s.Gaps))
	}
	return err
}
