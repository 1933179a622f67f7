package console

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/server/console/internal/filter"
	"github.com/slotmq/go-rmq/server/console/internal/jobs"
	"github.com/slotmq/go-rmq/server/console/internal/problem"
)

// doRequeue begins to have dead messages delivered again.
func doRequeue(v *visit) error {
	if j := v.jobs.Find(v.param("key")); j != nil { // the button was pressed twice
		return toJob(v, j)
	}
	o, err := requeueOptions(v)
	if problem.Mistake(err) {
		p, err2 := ask(v)
		if err2 != nil {
			return err2
		}
		p.Wrong, p.Rate, p.Priority = v.say(err), v.param("rate"), v.param("priority")
		return v.showBody(v.page, p)
	}
	f := filter.Of(v.values())
	q, err := f.Query(v.ctx, v.cfg.Redis, v.contents)
	if err != nil {
		return err
	}
	total, least, err := countDead(v, f.Topic, q)
	if err != nil {
		return err
	}
	asked := &jobs.Job{ID: v.param("key"), What: "requeue", Topic: f.Topic, Total: total, Least: least, Rate: o.Rate, Filter: f.Words()}
	if e, is := picked(v, f, q); is {
		asked.Which = v.contents.Shown(e.Content)
		if v.contents.InAddress(e.Content) { // what is known by its hash cannot be found once it is done
			asked.Of = v.contents.Link(f.Topic, e)
		}
	}
	return begin(v, asked, func(ctx context.Context) (string, error) {
		o.Progress = func(r inspector.Requeued) { asked.Show(requeuedSoFar(r)) }
		done, err := v.inspector.Dead().Requeue(ctx, f.Topic, q, o)
		asked.Show(requeuedSoFar(done))
		return requeuedText(done), err
	})
}

// requeueOptions are how fast, and with which priority.
func requeueOptions(v *visit) (o inspector.RequeueOptions, err error) {
	if text := v.field("rate"); text != "" {
		if o.Rate, err = humantime.ParseRate(text); err != nil {
			return o, problem.Refused("A rate is written as 100/s, 600/m or 3600/h, and is at least 3.6/h; leave the field empty for as fast as it goes.")
		}
	}
	if text := v.field("priority"); text != "" {
		if o.Priority, err = strconv.ParseInt(text, 10, 64); err != nil {
			return o, problem.Refused("A priority is a whole number; leave the field empty for the one that each was sent with.")
		}
		return o, checked.Priority(o.Priority)
	}
	return o, nil
}

// picked is the message, if exactly one was chosen.
func picked(v *visit, f filter.Filter, q inspector.DeadQuery) (e inspector.Entry, is bool) {
	if len(f.Picks) != 1 {
		return e, false
	}
	for e, err := range v.inspector.Dead().List(v.ctx, f.Topic, q) {
		return e, err == nil
	}
	return e, false
}

func requeuedSoFar(r inspector.Requeued) int {
	return r.Stored + r.Merged + r.Gone + r.Unknown + r.Lost
}

// requeuedText says what became of the messages.
func requeuedText(r inspector.Requeued) string {
	parts := []string{words.Count(r.Stored+r.Merged, "message") + " requeued"}
	add := func(n int, format string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf(format, words.Grouped(n)))
		}
	}
	add(r.Merged, "%s of them merged into live copies")
	add(r.Gone, "%s were not dead any more, or died again")
	add(r.Unknown, "%s stay dead, since their priority is not known: give one in the form")
	add(r.Lost, "%s more may be requeued, since an answer was lost")
	return strings.Join(parts, "; ") + "."
}

// doDelete begins to forget dead messages. Who asks for it has typed how many they are.
func doDelete(v *visit) error {
	if j := v.jobs.Find(v.param("key")); j != nil {
		return toJob(v, j)
	}
	p, err := ask(v)
	if err != nil {
		return err
	}
	if p.Least {
		p.Wrong = "They are too many to count in time, so they are not deleted together. Choose fewer: by slots, or by when they died."
		return v.showBody(v.page, p)
	}
	number := v.field("number")
	if n, err := strconv.Atoi(strings.ReplaceAll(number, ",", "")); err != nil || n != p.Count {
		p.Wrong = fmt.Sprintf("You typed %q, but the number is %s. Nothing is deleted.", number, words.Grouped(p.Count))
		return v.showBody(v.page, p)
	}
	q, err := p.Filter.Query(v.ctx, v.cfg.Redis, v.contents)
	if err != nil {
		return err
	}
	asked := &jobs.Job{ID: v.param("key"), What: "delete", Topic: p.Topic, Total: p.Count, Filter: p.Words}
	if e, is := picked(v, p.Filter, q); is {
		asked.Which = v.contents.Shown(e.Content)
	}
	return begin(v, asked, func(ctx context.Context) (string, error) {
		n, unsure, err := v.inspector.Dead().Delete(ctx, p.Topic, q, asked.Show)
		asked.Show(n)
		text := words.Count(n, "message") + " deleted for ever"
		if unsure > 0 {
			text += fmt.Sprintf("; %s more may be, since an answer was lost", words.Grouped(unsure))
		}
		return text + ".", err
	})
}

// jobsOf are the jobs that go on at a topic.
func jobsOf(v *visit, topic string) []*jobs.Job {
	return v.jobs.Running(func(of string) bool { return of == topic })
}

// begin runs a job beside the request, and leads to its page.
func begin(v *visit, j *jobs.Job, run func(context.Context) (string, error)) error {
	j.Who = v.who
	who := *v // the request ends before
	j, err := v.jobs.Begin(j, who.note, func(ctx context.Context) (string, error) {
		defer who.collector.Act()
		return run(ctx)
	})
	if err != nil {
		return err
	}
	return toJob(v, j)
}

// toJob leads to the page of a job.
func toJob(v *visit, j *jobs.Job) error {
	return v.goTo("job", url.Values{"topic": {j.Topic}, "id": {j.ID}})
}

// jobPage is what the page of a job shows.
type jobPage struct {
	*jobs.Job
	jobs.Progress
}

func jobOf(v *visit) (*jobs.Job, error) {
	j := v.jobs.Find(v.param("id"))
	if j == nil || j.Topic != v.param("topic") {
		return nil, problem.Missing("This job is not known here: the console was restarted, or another console runs it.")
	}
	return j, nil
}

func loadJob(v *visit) (any, error) {
	j, err := jobOf(v)
	if err != nil {
		return nil, err
	}
	v.subjects = map[string]bool{j.Subject(): true}
	return jobPage{j, j.State()}, nil
}

// doStop ends a job before its time.
func doStop(v *visit) error {
	j, err := jobOf(v)
	if err != nil {
		return err
	}
	j.Stop()
	v.note(j.Action(" is stopped", j.State().Done), nil)
	return toJob(v, j)
}
