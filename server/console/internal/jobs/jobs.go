package jobs

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/server/console/internal/problem"
	"github.com/slotmq/go-rmq/server/internal/audit"
)

// Jobs are what people have begun and what takes a while. They go on when the page is closed, and end with the
// process; what they have done by then stays done.
type Jobs struct {
	closing context.Context    // ends all jobs
	hold    func() error       // is called before a job begins, which it may refuse
	release func()             // is called when a job has ended
	notify  func(about string) // is called when there is something new of a subject

	mu  sync.Mutex
	all map[string]*Job
}

const (
	mostRunning = 8   // jobs at a time
	mostKept    = 100 // that have ended
)

// Job is one of them.
type Job struct {
	ID     string // the key of the form that began it
	What   string // requeue or delete
	Topic  string
	Filter []string // in words
	Of     string   // the address of the message, if one was chosen: people want to see what becomes of it
	Which  string   // the message, for the log
	Who    string
	Total  int  // messages that are meant
	Least  bool // there are more
	Rate   float64
	Began  time.Time

	mu      sync.Mutex
	done    int
	ended   time.Time
	result  string
	err     error
	asked   bool // to stop
	cancel  context.CancelFunc
	changed func()
}

// Action is what is logged about it.
func (j *Job) Action(now string, count int) audit.Action {
	d := audit.Action{What: j.What + now, Topic: j.Topic, Count: count, Which: j.Which, Filter: j.Filter}
	if j.Rate > 0 {
		d.With = fmt.Sprintf("%g/s", j.Rate)
	}
	return d
}

// Subject is what the stream of its page hears of.
func (j *Job) Subject() string { return "job " + j.ID }

// New returns no jobs yet, whose surroundings are these.
func New(closing context.Context, hold func() error, release func(), notify func(about string)) *Jobs {
	return &Jobs{closing: closing, hold: hold, release: release, notify: notify, all: map[string]*Job{}}
}

// NewKey names a form.
func NewKey() string { return rand.Text() }

// Find is a job with an id; nil: it is not known.
func (js *Jobs) Find(id string) *Job {
	js.mu.Lock()
	defer js.mu.Unlock()
	return js.all[id]
}

// Running are those that have not ended, at the topics that someone may look at, the latest first.
func (js *Jobs) Running(looksAt func(topic string) bool) (all []*Job) {
	js.mu.Lock()
	defer js.mu.Unlock()
	for _, j := range js.all {
		if j.State().Ended.IsZero() && looksAt(j.Topic) {
			all = append(all, j)
		}
	}
	slices.SortFunc(all, func(a, b *Job) int { return b.Began.Compare(a.Began) })
	return all
}

// add takes a job in, unless too many run. One that has the same id is returned instead.
func (js *Jobs) add(j *Job) (*Job, error) {
	js.mu.Lock()
	defer js.mu.Unlock()
	if there := js.all[j.ID]; there != nil {
		return there, nil
	}
	var ended []*Job
	for _, other := range js.all {
		if !other.State().Ended.IsZero() {
			ended = append(ended, other)
		}
	}
	if len(js.all)-len(ended) >= mostRunning {
		return nil, problem.New(http.StatusTooManyRequests, fmt.Sprintf("%d jobs are running already. Wait for one of them, or stop it.", mostRunning))
	}
	slices.SortFunc(ended, func(a, b *Job) int { return a.Began.Compare(b.Began) })
	for n := range max(0, len(ended)+1-mostKept) {
		delete(js.all, ended[n].ID)
	}
	js.all[j.ID] = j
	return j, nil
}

// Begin runs a job beside the request, which ends before. One that has the same id is returned instead. Note is called when it begins
// and when it ends.
func (js *Jobs) Begin(j *Job, note func(audit.Action, error), run func(context.Context) (string, error)) (*Job, error) {
	if len(j.ID) < 20 || len(j.ID) > 40 {
		return nil, problem.Torn
	}
	var ctx context.Context
	ctx, j.cancel = context.WithCancel(js.closing)
	j.Began = time.Now()
	j.changed = func() { js.notify(j.Subject()) }
	there, err := js.add(j)
	if err == nil && there == j {
		err = js.hold()
	}
	if err != nil || there != j {
		j.cancel()
		return there, err
	}
	note(j.Action(" begins", j.Total), nil)
	go func() {
		defer js.release()
		defer j.cancel()
		text, err := run(ctx)
		j.end(text, err)
		did := j.Action(" ends", j.State().Done)
		did.Result = text
		note(did, err)
	}()
	return j, nil
}

// Stop ends a job before its time.
func (j *Job) Stop() {
	j.mu.Lock()
	j.asked = j.asked || j.ended.IsZero()
	j.mu.Unlock()
	j.cancel()
}

// Show notes how many messages are done.
func (j *Job) Show(done int) {
	j.mu.Lock()
	j.done = done
	j.mu.Unlock()
	j.changed()
}

func (j *Job) end(result string, err error) {
	j.mu.Lock()
	j.ended, j.result, j.err = time.Now(), result, err
	j.mu.Unlock()
	j.changed()
}

// Progress is how far a job is.
type Progress struct {
	Done    int
	Part    int // in percent
	Ended   time.Time
	Result  string
	Problem string // why it has not ended well
	Stopped bool
	Left    time.Duration // until it ends, at the pace that it had so far; 0: not known
}

// State is how far it is now.
func (j *Job) State() Progress {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := Progress{Done: j.done, Ended: j.ended, Result: j.result, Stopped: j.asked, Part: 100}
	if j.Total > 0 {
		s.Part = min(100, 100*j.done/j.Total)
	}
	if left := j.Total - j.done; j.done > 0 && left > 0 && !j.Least && j.ended.IsZero() {
		each := time.Since(j.Began).Seconds() / float64(j.done)
		if j.Rate > 0 {
			each = max(each, 1/j.Rate) // it begins with some at once
		}
		s.Left = time.Duration(each * float64(left) * float64(time.Second)).Round(time.Second)
	}
	if j.err != nil && !j.asked {
		s.Problem = problem.Sentence(j.err)
	}
	return s
}
