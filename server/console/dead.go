package console

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/server/console/internal/filter"
	"github.com/slotmq/go-rmq/server/console/internal/jobs"
	"github.com/slotmq/go-rmq/server/console/internal/problem"
	"github.com/slotmq/go-rmq/server/internal/audit"
)

// The page of the dead: why are they, first; then the latest of them.

// mostListed dead messages are on the page.
const mostListed = 50

// deadPage is what it shows.
type deadPage struct {
	At      time.Time
	Topic   string
	Filter  filter.Filter
	Count   int
	Reasons []reasonRow
	Wrong   string // what is wrong with the filter
	Partly  string // why not all were grouped
	List    []deadRow
	Jobs    []*jobs.Job
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

func loadDead(v *visit) (any, error) {
	f := filter.Of(v.values())
	p := &deadPage{Topic: f.Topic, Filter: f, Export: "export?" + f.Values().Encode(), Jobs: jobsOf(v, f.Topic)}
	q, err := f.Query(v.ctx, v.cfg.Redis, v.contents)
	if problem.Mistake(err) && !errors.Is(err, problem.Guess) {
		p.Wrong = v.say(err)
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	if err := p.group(v); err != nil {
		return nil, err
	}
	q.Newest, q.Limit = true, mostListed
	for e, err := range v.inspector.Dead().List(v.ctx, f.Topic, q) {
		if err != nil {
			if p.Partly, err = incomplete(err); err != nil {
				return nil, err
			}
			break
		}
		p.List = append(p.List, deadRow{e, v.contents.Shown(e.Content), v.contents.Link(f.Topic, e), v.contents.Pick(e)})
	}
	p.Count = max(p.Count, len(p.List))
	return p, nil
}

// group reads why messages are dead, by all reasons. Its result is not kept for other people: their filters differ, and
// the messages may be long.
func (p *deadPage) group(v *visit) error {
	all := p.Filter
	all.Group, all.Grouped, all.Picks = "", false, nil
	q, err := all.Query(v.ctx, v.cfg.Redis, v.contents)
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(v.ctx, v.answerWithin*2/3)
	defer cancel()
	reasons, err := v.inspector.Dead().Reasons(within, all.Topic, q)
	if err != nil && len(reasons) == 0 {
		return err
	}
	if p.At = time.Now(); err != nil {
		p.Partly = problem.Sentence(err)
	}
	for _, r := range reasons {
		row := reasonRow{Reason: r, Chosen: p.Filter.Grouped && r.Text == p.Filter.Group && !r.Rest, Example: v.contents.Shown(r.Latest.Content)}
		if r.Cut && v.contents.Hidden { // its length and code would be those of its beginning
			row.Example = "a long one"
		}
		if !r.Rest {
			one := all
			one.Group, one.Grouped = r.Text, true
			row.Link = "dead?" + one.Values().Encode()
		}
		p.Reasons = append(p.Reasons, row)
		if !p.Filter.Grouped || row.Chosen {
			p.Count += r.Count
		}
	}
	return nil
}

// askPage is what stands before a requeue or a deletion.
type askPage struct {
	Topic    string
	Filter   filter.Filter
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

func ask(v *visit) (*askPage, error) {
	f := filter.Of(v.values())
	if err := f.Until(v.ctx, v.cfg.Redis); err != nil {
		return nil, err
	}
	t, err := v.inspector.Topic(v.ctx, f.Topic)
	if err != nil {
		return nil, err
	}
	q, err := f.Query(v.ctx, v.cfg.Redis, v.contents)
	if err != nil {
		return nil, err
	}
	back := f
	back.Before, back.After, back.Picks = "", "", nil
	p := &askPage{Topic: f.Topic, Filter: f, Words: f.Words(), Key: jobs.NewKey(), Timed: t.Kind.Timed(), Rate: "100/s", Back: "dead?" + back.Values().Encode()}
	p.Count, p.Least, err = countDead(v, f.Topic, q)
	return p, err
}

// countDead counts dead messages. To choose by an error or a content it must read all of them. That may take longer
// than people wait; then it says "at least".
func countDead(v *visit, topic string, q inspector.DeadQuery) (n int, least bool, err error) {
	within, cancel := context.WithTimeout(v.ctx, v.countWithin)
	defer cancel()
	n, err = v.inspector.Dead().Count(within, topic, q)
	if err != nil && n > 0 && within.Err() != nil && v.ctx.Err() == nil {
		return n, true, nil
	}
	return n, false, err
}

func loadAsk(v *visit) (any, error) { return ask(v) }

// export writes the dead messages that a filter chooses, a line of JSON for each, as rmq dead export does.
func export(v *visit) error {
	if v.contents.Hidden {
		return problem.Forbidden("This console hides contents, which an export would have.")
	}
	f := filter.Of(v.values())
	q, err := f.Query(v.ctx, v.cfg.Redis, v.contents)
	if err != nil {
		return err
	}
	if _, err := v.inspector.Topic(v.ctx, f.Topic); err != nil {
		return err
	}
	if v.r.Method == http.MethodHead {
		exportHead(v)
		return nil
	}
	if err := v.enter(v.exporting); err != nil {
		return err
	}
	defer func() { <-v.exporting }()
	q.Complete = true
	out := json.NewEncoder(v.w)
	out.SetEscapeHTML(false)
	begun := false
	to := http.NewResponseController(v.w)
	n := 0
	note := func(result string, err error) {
		v.note(audit.Action{What: "export", Topic: f.Topic, Count: n, Filter: f.Words(), Result: result}, err)
	}
	for e, err := range v.inspector.Dead().List(v.r.Context(), f.Topic, q) {
		if err != nil {
			note("", err)
			if !begun {
				return err
			}
			panic(http.ErrAbortHandler) // a browser must see that the file is not whole
		}
		if !begun {
			begun = true
			exportHead(v)
		}
		_ = to.SetWriteDeadline(time.Now().Add(writeWithin))
		if out.Encode(wire.DeadOf(e, false)) != nil {
			note("who asked has gone", nil)
			return nil
		}
		n++
	}
	if !begun {
		exportHead(v)
	}
	note("", nil)
	return nil
}

func exportHead(v *visit) {
	v.w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
	v.w.Header().Set("Content-Disposition", `attachment; filename="dead.jsonl"`)
}
