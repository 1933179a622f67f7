package proctest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Kind of an event.
type Kind string

// The kinds. Those from Kill on are written by the test and name the worker in the
// note; the others are written by workers.
const (
	Warm    Kind = "warm"    // the process is there and waits for Go
	Ready   Kind = "ready"   // it has started to work
	Start   Kind = "start"   // a handler begins
	Done    Kind = "done"    // a handler returns nil
	Fail    Kind = "fail"    // a handler returns an error: the note
	Seen    Kind = "seen"    // an observer is shown an event of what the note says
	Closing Kind = "closing" // the polite stop begins
	Closed  Kind = "closed"  // and is through
	Stall   Kind = "stall"   // the machine gave the process no time: the note tells for how long
	Kill    Kind = "kill"
	Freeze  Kind = "freeze"
	Thaw    Kind = "thaw"
	Term    Kind = "term"
	Cut     Kind = "cut"  // it is cut off from the keeper of its session
	Mend    Kind = "mend" // until now
	Part    Kind = "part" // it is cut off from Redis, for longer than its session may bear
	Join    Kind = "join" // until now
	Rob     Kind = "rob"  // its session is ended by force
	Down    Kind = "down" // the keeper of the sessions is away: no note, it concerns all
	Up      Kind = "up"   // until now
)

// Event is one line of a log.
type Event struct {
	At     int64 // nanoseconds of the machine's clock, which all processes share
	Worker string
	Kind   Kind

	// Of handlers.
	Topic    string
	Slot     int
	Fence    int64
	Attempt  int
	Priority int64
	Content  string

	Note string
}

const fields = 10

func (e *Event) line() []byte {
	return fmt.Appendf(nil, "%d\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%q\t%q\n",
		e.At, e.Worker, e.Kind, e.Topic, e.Slot, e.Fence, e.Attempt, e.Priority, e.Content, e.Note)
}

func parse(line string) (e Event, err error) {
	f := strings.Split(line, "\t")
	if len(f) != fields {
		return e, fmt.Errorf("line of %d fields: %.200q", len(f), line)
	}
	number := func(i int) (n int64) {
		if err == nil {
			n, err = strconv.ParseInt(f[i], 10, 64)
		}
		return n
	}
	text := func(i int) (s string) {
		if err == nil {
			s, err = strconv.Unquote(f[i])
		}
		return s
	}
	e = Event{
		At: number(0), Worker: f[1], Kind: Kind(f[2]), Topic: f[3], Slot: int(number(4)), Fence: number(5),
		Attempt: int(number(6)), Priority: number(7), Content: text(8), Note: text(9),
	}
	return e, err
}

// Log is the log of one process.
type Log struct {
	worker string
	mu     sync.Mutex
	file   *os.File
}

const logSuffix = ".log"

// OpenLog opens the log of a worker in a directory.
func OpenLog(dir, worker string) (*Log, error) {
	file, err := os.OpenFile(filepath.Join(dir, worker+logSuffix), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return &Log{worker: worker, file: file}, nil
}

// Write appends an event with the present time. What it wrote outlives the
// process, however that ends. A log that cannot be written proves nothing, so
// that is the end of the process.
func (l *Log) Write(e Event) {
	e.Worker, e.At = l.worker, time.Now().UnixNano() // not after a wait for other lines: a process may be frozen in it
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.file.Write(e.line()); err != nil {
		panic(err)
	}
}

// WatchStalls logs every time that this process was given no processor for
// longer than limit, until the process ends.
func (l *Log) WatchStalls(limit time.Duration) {
	go func() {
		last := time.Now()
		for range time.Tick(limit / 4) {
			if late := time.Since(last); late > limit {
				l.Write(Event{Kind: Stall, Note: late.String()})
			}
			last = time.Now()
		}
	}()
}
