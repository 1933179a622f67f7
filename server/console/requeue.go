package console

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/words"
)

// doRequeue begins to have dead messages delivered again.
func (v *visit) doRequeue() error {
	if j := v.jobs.find(v.param("key")); j != nil { // the button was pressed twice
		return v.toJob(j)
	}
	o, err := v.requeueOptions()
	if mistake(err) {
		p, err2 := v.ask()
		if err2 != nil {
			return err2
		}
		p.Wrong, p.Rate, p.Priority = v.say(err), v.param("rate"), v.param("priority")
		return v.showBody(v.page, p)
	}
	f := v.filter()
	q, err := f.query(v.ctx, v.Console)
	if err != nil {
		return err
	}
	total, least, err := v.countDead(f.Topic, q)
	if err != nil {
		return err
	}
	asked := &job{ID: v.param("key"), What: "requeue", Topic: f.Topic, Total: total, Least: least, Rate: o.Rate, Filter: f.Words()}
	if e, is := v.picked(f, q); is {
		asked.Which = v.shown(e.Content)
		if !v.cfg.HideContents && len(e.Content) <= longestNamed { // what is known by its hash cannot be found once it is done
			asked.Of = v.linkOf(f.Topic, e)
		}
	}
	j, err := v.begin(asked, func(ctx context.Context, j *job) (string, error) {
		o.Progress = func(r inspector.Requeued) { j.show(requeuedSoFar(r)) }
		done, err := v.inspector.DeadRequeue(ctx, f.Topic, q, o)
		j.show(requeuedSoFar(done))
		return requeuedText(done), err
	})
	if err != nil {
		return err
	}
	return v.toJob(j)
}

// requeueOptions are how fast, and with which priority.
func (v *visit) requeueOptions() (o inspector.RequeueOptions, err error) {
	if text := strings.TrimSpace(v.param("rate")); text != "" {
		if o.Rate, err = humantime.ParseRate(text); err != nil {
			return o, refused("A rate is written as 100/s, 600/m or 3600/h, and is at least 3.6/h; leave the field empty for as fast as it goes.")
		}
	}
	if text := strings.TrimSpace(v.param("priority")); text != "" {
		if o.Priority, err = strconv.ParseInt(text, 10, 64); err != nil {
			return o, refused("A priority is a whole number; leave the field empty for the one that each was sent with.")
		}
		return o, checked.Priority(o.Priority)
	}
	return o, nil
}

// picked is the message, if exactly one was chosen.
func (v *visit) picked(f filter, q inspector.DeadQuery) (e inspector.Entry, is bool) {
	if len(f.Picks) != 1 {
		return e, false
	}
	for e, err := range v.inspector.Dead(v.ctx, f.Topic, q) {
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
func (v *visit) doDelete() error {
	if j := v.jobs.find(v.param("key")); j != nil {
		return v.toJob(j)
	}
	p, err := v.ask()
	if err != nil {
		return err
	}
	if p.Least {
		p.Wrong = "They are too many to count in time, so they are not deleted together. Choose fewer: by slots, or by when they died."
		return v.showBody(v.page, p)
	}
	number := strings.TrimSpace(v.param("number"))
	if n, err := strconv.Atoi(strings.ReplaceAll(number, ",", "")); err != nil || n != p.Count {
		p.Wrong = fmt.Sprintf("You typed %q, but the number is %s. Nothing is deleted.", number, words.Grouped(p.Count))
		return v.showBody(v.page, p)
	}
	q, err := p.Filter.query(v.ctx, v.Console)
	if err != nil {
		return err
	}
	asked := &job{ID: v.param("key"), What: "delete", Topic: p.Topic, Total: p.Count, Filter: p.Words}
	if e, is := v.picked(p.Filter, q); is {
		asked.Which = v.shown(e.Content)
	}
	j, err := v.begin(asked, func(ctx context.Context, j *job) (string, error) {
		n, unsure, err := v.inspector.DeadDelete(ctx, p.Topic, q, j.show)
		j.show(n)
		text := words.Count(n, "message") + " deleted for ever"
		if unsure > 0 {
			text += fmt.Sprintf("; %s more may be, since an answer was lost", words.Grouped(unsure))
		}
		return text + ".", err
	})
	if err != nil {
		return err
	}
	return v.toJob(j)
}
