package console

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/slotmq/go-rmq/inspector"
)

// The page of the dead: why are they, first; then the latest of them.

// mostListed dead messages are on the page.
const mostListed = 50

// deadPage is what it shows.
type deadPage struct {
	At      time.Time
	Topic   string
	Filter  filter
	Count   int
	Reasons []reasonRow
	Wrong   string // what is wrong with the filter
	Partly  string // why not all were grouped
	List    []deadRow
	Jobs    []*job
	Export  string // the address of the list as a file
}

// reasonRow is why messages are dead.
type reasonRow struct {
	inspector.Reason
	Chosen  bool
	Example string
	Link    string // to those alone
}

// deadRow is a dead message.
type deadRow struct {
	inspector.Entry
	Shown, Link, Pick string
}

// reasons reads why messages are dead; partly says why not all of them were read. It is not kept for others: filters are of
// all kinds, and the messages may be long.
func (v *visit) reasons(f filter) (all []inspector.Reason, partly, err error) {
	q, err := f.query(v.ctx, v.Console)
	if err != nil {
		return nil, nil, err
	}
	within, cancel := context.WithTimeout(v.ctx, v.answerWithin*2/3)
	defer cancel()
	if all, err = v.inspector.DeadReasons(within, f.Topic, q); len(all) > 0 {
		return all, err, nil
	}
	return nil, nil, err
}

func (v *visit) loadDead() (any, error) {
	f := v.filter()
	p := &deadPage{Topic: f.Topic, Filter: f, Export: "export?" + f.values().Encode(), Jobs: v.jobsOf(f.Topic)}
	q, err := f.query(v.ctx, v.Console)
	if mistake(err) && !errors.Is(err, errGuess) {
		p.Wrong = v.say(err)
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	all := f
	all.Group, all.Grouped, all.Picks = "", false, nil
	reasons, partly, err := v.reasons(all)
	if err != nil {
		return nil, err
	}
	p.At = time.Now()
	if partly != nil {
		p.Partly = sentence(partly)
	}
	for _, r := range reasons {
		example := v.shown(r.Latest.Content)
		if r.Cut && v.cfg.HideContents { // its length and code would be those of its beginning
			example = "a long one"
		}
		row := reasonRow{Reason: r, Chosen: f.Grouped && r.Text == f.Group && !r.Rest, Example: example}
		if !r.Rest {
			one := all
			one.Group, one.Grouped = r.Text, true
			row.Link = "dead?" + one.values().Encode()
		}
		p.Reasons = append(p.Reasons, row)
		if !f.Grouped || row.Chosen {
			p.Count += r.Count
		}
	}
	q.Newest, q.Limit = true, mostListed
	var partial *inspector.PartialError
	for e, err := range v.inspector.Dead(v.ctx, f.Topic, q) {
		if errors.As(err, &partial) {
			p.Partly = sentence(err)
			break
		}
		if err != nil {
			return nil, err
		}
		p.List = append(p.List, deadRow{e, v.shown(e.Content), v.linkOf(f.Topic, e), v.pickOf(e)})
	}
	p.Count = max(p.Count, len(p.List))
	return p, nil
}

// askPage is what stands before a requeue or a deletion.
type askPage struct {
	Topic    string
	Filter   filter
	Words    []string
	Count    int
	Least    bool   // there are more: they could not all be counted in time
	Key      string // of this form: sent twice, it begins once
	Timed    bool
	Rate     string
	Priority string
	Wrong    string // what was wrong with the form
	Back     string
}

func (v *visit) ask() (*askPage, error) {
	f := v.filter()
	if err := f.until(v.ctx, v.Console); err != nil {
		return nil, err
	}
	t, err := v.inspector.Topic(v.ctx, f.Topic)
	if err != nil {
		return nil, err
	}
	q, err := f.query(v.ctx, v.Console)
	if err != nil {
		return nil, err
	}
	back := f
	back.Before, back.After, back.Picks = "", "", nil
	p := &askPage{Topic: f.Topic, Filter: f, Words: f.Words(), Key: newKey(), Timed: t.Kind.Timed(), Rate: "100/s", Back: "dead?" + back.values().Encode()}
	p.Count, p.Least, err = v.countDead(f.Topic, q)
	return p, err
}

// countDead counts dead messages. To choose by an error or a content all of them are read, which may take longer than people
// wait: then there are at least so many.
func (v *visit) countDead(topic string, q inspector.DeadQuery) (n int, least bool, err error) {
	within, cancel := context.WithTimeout(v.ctx, v.countWithin)
	defer cancel()
	n, err = v.inspector.DeadCount(within, topic, q)
	if err != nil && n > 0 && within.Err() != nil && v.ctx.Err() == nil {
		return n, true, nil
	}
	return n, false, err
}

func (v *visit) loadRequeue() (any, error) { return v.ask() }
func (v *visit) loadDelete() (any, error)  { return v.ask() }

// toJob leads to the page of a job.
func (v *visit) toJob(j *job) error {
	return v.goTo("job", url.Values{"topic": {j.Topic}, "id": {j.ID}})
}
