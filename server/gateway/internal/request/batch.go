package request

import (
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/poll"
	"github.com/slotmq/go-rmq/server/gateway/internal/problem"
)

// MaxWait is how long a take may wait.
const MaxWait = 60 * time.Second

// Take asks for a batch.
type Take struct {
	Topics []string `json:"topics"`
	Most   *int     `json:"most"`
	TTR    string   `json:"ttr"`
	Wait   string   `json:"wait"`
}

// Options are how to take. What is given counts, also where it is 0.
func (t Take) Options() (o poll.Take, err error) {
	if len(t.Topics) == 0 {
		return o, problem.Invalid("topics", "missing", fmt.Sprintf("1 to %d names of topics", limits.TakeTopics))
	}
	if err := read(field{"ttr", t.TTR, &o.TTR}, field{"wait", t.Wait, &o.Wait}); err != nil {
		return o, err
	}
	if t.Most != nil {
		o.Most = *t.Most
	}
	switch {
	case t.TTR != "" && o.TTR == 0:
		return o, problem.Invalid("ttr", t.TTR, "from 1s to 12h")
	case t.Most != nil && o.Most == 0:
		return o, problem.Invalid("most", "0", "1 to 256")
	case o.Wait > MaxWait:
		return o, problem.Invalid("wait", t.Wait, "at most 60s")
	}
	return o, nil
}

// TTR reads for how long a taker may keep a job.
func (q Query) TTR(otherwise time.Duration) (time.Duration, error) {
	err := read(field{"ttr", q["ttr"], &otherwise})
	return otherwise, err
}

// The outcomes.
const (
	Failed     = "failed"
	Dead       = "dead"
	Later      = "later"
	NotStarted = "not_started"
)

// Finish is what is said of a batch. What no result is about is done.
type Finish struct {
	Receipt string   `json:"receipt"`
	Results []Result `json:"results"`
}

// Result is what became of a message, or of all messages of the batch if it names none.
type Result struct {
	Content
	Verdict
}

// Fail is what is said of a batch as a whole: failed, unless it says otherwise.
type Fail struct {
	Receipt string `json:"receipt"`
	Verdict
}

// Verdict is what became of something.
type Verdict struct {
	Outcome string `json:"outcome"`
	In      string `json:"in"`
	Why     string `json:"why"`
}

// Outcomes counts the messages of a batch by their outcome. Rest is the outcome of all others, "" if
// they are done.
type Outcomes struct {
	Of   map[string]int
	Rest string
}

// Verdicts are for the poller, and say how many messages had which outcome.
func (f Finish) Verdicts() (verdicts []poll.Verdict, outcomes Outcomes, err error) {
	outcomes.Of = map[string]int{}
	for n, r := range f.Results {
		v, err := r.Verdict.read()
		var content string
		var one bool
		if err == nil {
			content, one, err = r.Content.read()
		}
		switch {
		case err != nil:
			return nil, outcomes, problem.Inside(err, fmt.Sprintf("results[%d]", n))
		case one:
			v = v.Of(content)
			outcomes.Of[r.Outcome]++
		default:
			outcomes.Rest = r.Outcome
		}
		verdicts = append(verdicts, v)
	}
	return verdicts, outcomes, nil
}

// Verdicts are one.
func (f Fail) Verdicts() ([]poll.Verdict, Outcomes, error) {
	v, err := f.Verdict.read()
	return []poll.Verdict{v}, Outcomes{Rest: f.Outcome}, err
}

// read is the verdict as the poller has it.
func (v Verdict) read() (poll.Verdict, error) {
	var in time.Duration
	if err := read(field{"in", v.In, &in}); err != nil {
		return poll.Verdict{}, err
	}
	if v.In != "" && (v.Outcome == Dead || v.Outcome == NotStarted) {
		return poll.Verdict{}, problem.Invalid("in", v.In, "missing where the outcome is "+v.Outcome)
	}
	switch v.Outcome {
	case Failed:
		return poll.Failed(v.Why, in), nil
	case Dead:
		return poll.Dead(v.Why), nil
	case Later:
		return poll.Later(in, v.Why), nil
	case NotStarted:
		return poll.NotStarted(), nil
	}
	return poll.Verdict{}, problem.Invalid("outcome", v.Outcome, "failed, dead, later or not_started; what is done needs no result")
}
