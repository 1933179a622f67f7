package proctest

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/await"
)

// Dir holds the logs of some processes and follows them. Its methods are for
// one goroutine, that of the test.
type Dir struct {
	Path string

	// What the logs tell so far.
	Handled map[string]int // content: times done
	By      map[string]int // worker: contents done
	Count   map[Kind]int   // events

	t         testing.TB
	log       *Log // the test's own
	processes []*Process
	tails     map[string]*tail
	events    []Event
	open      map[place]Event
	last      map[slotName]Event
	seen      map[string]map[Kind]bool
}

// place is where one handler at a time may run.
type place struct {
	worker, topic string
	slot          int
}

func (e *Event) place() place { return place{e.Worker, e.Topic, e.Slot} }

// tail is the part of a file that was not read yet.
type tail struct {
	file *os.File
	rest []byte // a line not yet complete
}

// Await returns when cond holds, which is asked each time the logs were read
// anew. If a process ends by itself, it ends the test.
func (d *Dir) Await(what string, cond func() bool) {
	d.t.Helper()
	await.True(d.t, what, func() bool {
		d.read()
		if cond() {
			return true
		}
		for _, p := range d.processes {
			if gone, err := p.Gone(); gone && !p.asked {
				d.t.Fatalf("%s ended by itself: %v; so not: %s", p.Name, err, what)
			}
		}
		return false
	})
}

// AwaitEvent returns the first event that fits, when there is one.
func (d *Dir) AwaitEvent(what string, fits func(Event) bool) (found Event) {
	d.t.Helper()
	seen := 0
	d.Await(what, func() bool {
		for ; seen < len(d.events); seen++ {
			if fits(d.events[seen]) {
				found = d.events[seen]
				return true
			}
		}
		return false
	})
	return found
}

// AwaitKind returns the first event of a kind that a worker has written.
func (d *Dir) AwaitKind(worker string, kind Kind) Event {
	d.t.Helper()
	return d.AwaitEvent(worker+" is "+string(kind), func(e Event) bool { return e.Worker == worker && e.Kind == kind })
}

// Events returns all events up to now, in the order of their times.
func (d *Dir) Events() []Event {
	d.t.Helper()
	d.read()
	sorted := slices.Clone(d.events)
	slices.SortStableFunc(sorted, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return sorted
}

// Open is how many handlers of a worker run.
func (d *Dir) Open(worker string) (n int) {
	for p := range d.open {
		if p.worker == worker {
			n++
		}
	}
	return n
}

// Runs reports whether a worker handles a content.
func (d *Dir) Runs(worker, content string) bool {
	for p, e := range d.open {
		if p.worker == worker && e.Content == content {
			return true
		}
	}
	return false
}

// Last is the last start of a handler in a slot.
func (d *Dir) Last(topic string, slot int) Event { return d.last[slotName{topic, slot}] }

// Saw reports whether an event of a worker was read.
func (d *Dir) Saw(worker string, kind Kind) bool { return d.seen[worker][kind] }

// read reads what is new in the logs.
func (d *Dir) read() {
	names, _ := filepath.Glob(filepath.Join(d.Path, "*"+logSuffix))
	for _, name := range names {
		if d.tails[name] != nil {
			continue
		}
		file, err := os.Open(name)
		if err != nil {
			d.t.Fatal(err)
		}
		d.t.Cleanup(func() { file.Close() })
		d.tails[name] = &tail{file: file}
	}
	for name, x := range d.tails {
		more, err := io.ReadAll(x.file)
		if err != nil {
			d.t.Fatal(err)
		}
		if len(more) == 0 {
			continue
		}
		x.rest = append(x.rest, more...)
		end := bytes.LastIndexByte(x.rest, '\n') + 1 // a killed process may leave a torn line
		for line := range strings.Lines(string(x.rest[:end])) {
			e, err := parse(strings.TrimSuffix(line, "\n"))
			if err != nil {
				d.t.Fatalf("%s: %v", filepath.Base(name), err)
			}
			d.note(e)
		}
		x.rest = append(x.rest[:0], x.rest[end:]...)
	}
}

func (d *Dir) note(e Event) {
	d.events = append(d.events, e)
	d.Count[e.Kind]++
	if d.seen[e.Worker] == nil {
		d.seen[e.Worker] = map[Kind]bool{}
	}
	d.seen[e.Worker][e.Kind] = true
	switch e.Kind {
	case Start:
		d.open[e.place()] = e
		if e.At > d.last[e.slot()].At { // the logs are read one after the other
			d.last[e.slot()] = e
		}
	case Done:
		d.Handled[e.Content]++
		d.By[e.Worker]++
		delete(d.open, e.place())
	case Fail:
		delete(d.open, e.place())
	}
}
