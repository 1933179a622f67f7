package console

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/server/internal/audit"
)

// jobs are what people have begun and what takes a while. They go on when the page is closed, and end with the
// process; what they have done by then stays done.
type jobs struct {
	mu  sync.Mutex
	all map[string]*job
}

const (
	mostRunning = 8   // jobs at a time
	mostKept    = 100 // that have ended
)

// jobsOf are the jobs that go on at a topic.
func (v *visit) jobsOf(topic string) []*job {
	return v.jobs.running(func(of string) bool { return of == topic })
}

// job is one of them.
type job struct {
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

	mu     sync.Mutex
	done   int
	ended  time.Time
	result string
	err    error
	asked  bool // to stop
	cancel context.CancelFunc
	news   func()
}

// deed is what is logged of it.
func (j *job) deed(now string, count int) audit.Deed {
	d := audit.Deed{What: j.What + now, Topic: j.Topic, Count: count, Which: j.Which, Filter: j.Filter}
	if j.Rate > 0 {
		d.With = fmt.Sprintf("%g/s", j.Rate)
	}
	return d
}

// subject is what the stream of its page hears of.
func (j *job) subject() string { return "job " + j.ID }

func newJobs() *jobs { return &jobs{all: map[string]*job{}} }

// newKey names a form.
func newKey() string { return rand.Text() }

func (js *jobs) find(id string) *job {
	js.mu.Lock()
	defer js.mu.Unlock()
	return js.all[id]
}

// running are those that have not ended, at the topics that someone may look at, the latest first.
func (js *jobs) running(looksAt func(topic string) bool) (all []*job) {
	js.mu.Lock()
	defer js.mu.Unlock()
	for _, j := range js.all {
		if j.State().Ended.IsZero() && looksAt(j.Topic) {
			all = append(all, j)
		}
	}
	slices.SortFunc(all, func(a, b *job) int { return b.Began.Compare(a.Began) })
	return all
}

// add takes a job in, unless too many run. One that has the same id is returned instead.
func (js *jobs) add(j *job) (*job, error) {
	js.mu.Lock()
	defer js.mu.Unlock()
	if there := js.all[j.ID]; there != nil {
		return there, nil
	}
	var ended []*job
	for _, other := range js.all {
		if !other.State().Ended.IsZero() {
			ended = append(ended, other)
		}
	}
	if len(js.all)-len(ended) >= mostRunning {
		return nil, &problem{http.StatusTooManyRequests, fmt.Sprintf("%d jobs are running already. Wait for one of them, or stop it.", mostRunning)}
	}
	slices.SortFunc(ended, func(a, b *job) int { return a.Began.Compare(b.Began) })
	for n := range max(0, len(ended)+1-mostKept) {
		delete(js.all, ended[n].ID)
	}
	js.all[j.ID] = j
	return j, nil
}

// begin runs a job beside the request.
func (v *visit) begin(j *job, run func(context.Context, *job) (string, error)) (*job, error) {
	if len(j.ID) < 20 || len(j.ID) > 40 {
		return nil, errTorn
	}
	var ctx context.Context
	ctx, j.cancel = context.WithCancel(v.closing)
	j.Who, j.Began = v.who, time.Now()
	j.news = func() { v.collector.tell(j.subject()) }
	there, err := v.jobs.add(j)
	if err == nil && there == j {
		err = v.hold()
	}
	if err != nil || there != j {
		j.cancel()
		return there, err
	}
	v.note(j.deed(" begins", j.Total), nil)
	who := *v // the request ends before
	go func() {
		defer v.running.Done()
		defer j.cancel()
		text, err := run(ctx, j)
		v.collector.act()
		j.end(text, err)
		did := j.deed(" ends", j.State().Done)
		did.Result = text
		who.note(did, err)
	}()
	return j, nil
}

// show notes how many messages are done.
func (j *job) show(done int) {
	j.mu.Lock()
	j.done = done
	j.mu.Unlock()
	j.news()
}

func (j *job) end(result string, err error) {
	j.mu.Lock()
	j.ended, j.result, j.err = time.Now(), result, err
	j.mu.Unlock()
	j.news()
}

// jobState is how far a job is.
type jobState struct {
	Done    int
	Part    int // in percent
	Ended   time.Time
	Result  string
	Problem string // why it has not ended well
	Stopped bool
	Left    time.Duration // until it ends, at the pace that it had so far; 0: not known
}

// State is how far it is now.
func (j *job) State() jobState {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := jobState{Done: j.done, Ended: j.ended, Result: j.result, Stopped: j.asked, Part: 100}
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
		s.Problem = sentence(j.err)
	}
	return s
}

// jobPage is what the page of a job shows.
type jobPage struct {
	*job
	jobState
}

func (v *visit) job() (*job, error) {
	j := v.jobs.find(v.param("id"))
	if j == nil || j.Topic != v.param("topic") {
		return nil, &problem{http.StatusNotFound, "This job is not known here: the console was restarted, or another console runs it."}
	}
	return j, nil
}

func (v *visit) loadJob() (any, error) {
	j, err := v.job()
	if err != nil {
		return nil, err
	}
	v.subjects = map[string]bool{j.subject(): true}
	return jobPage{j, j.State()}, nil
}

// doStop ends a job before its time.
func (v *visit) doStop() error {
	j, err := v.job()
	if err != nil {
		return err
	}
	j.mu.Lock()
	j.asked = j.asked || j.ended.IsZero()
	j.mu.Unlock()
	j.cancel()
	v.note(j.deed(" is stopped", j.State().Done), nil)
	return v.toJob(j)
}
