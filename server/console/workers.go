package console

import (
	"cmp"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/wire"
)

// workerRow is what is known of a worker.
type workerRow struct {
	inspector.Worker
	Name   string
	Topics []workerTopic
}

// workerTopic is a topic of a worker.
type workerTopic struct {
	Name    string
	Slots   string // 0-3, 7
	Count   int
	Probing time.Time
}

// workersPage is who works.
type workersPage struct {
	At      time.Time
	Workers []workerRow
	Missed  []string
}

func (v *visit) loadWorkers() (any, error) {
	all, at, err := v.overview()
	if err != nil {
		return nil, err
	}
	p := &workersPage{At: at, Missed: all.missed}
	for _, w := range all.workers {
		r := workerRow{Worker: w, Name: inspector.HolderName(w.ID)}
		for topic, slots := range w.Assigned {
			if v.looksAt(topic) {
				r.Topics = append(r.Topics, workerTopic{topic, wire.Ranges(slots), len(slots), w.Probing[topic]})
			}
		}
		if len(r.Topics) == 0 && len(w.Assigned) > 0 {
			continue
		}
		slices.SortFunc(r.Topics, func(a, b workerTopic) int { return cmp.Compare(a.Name, b.Name) })
		p.Workers = append(p.Workers, r)
	}
	return p, nil
}
