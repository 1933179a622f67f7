package gateway

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/journal/recovery"
	"github.com/slotmq/go-rmq/luascripts"
)

// restoring is what POST /v1/restore is asked. The words are those of the flags of rmqd journal restore.
type restoring struct {
	Topics    []string `json:"topics"`
	written            // of one message, of the one topic
	Since     string   `json:"since"`
	NewerThan string   `json:"newer_than"`
	Expired   bool     `json:"expired"`
	LeaveDead bool     `json:"leave_dead"`
	Rate      string   `json:"rate"`
	DryRun    bool     `json:"dry_run"`
}

// options are what is asked, as the library has it.
func (r restoring) options() (o recovery.Restore, err error) {
	o = recovery.Restore{Topics: r.Topics, Expired: r.Expired, LeaveDead: r.LeaveDead, DryRun: r.DryRun}
	if r.Topics != nil && len(r.Topics) == 0 {
		return o, invalid("topics", "[]", "the names of some topics; leave it out for all")
	}
	var one bool
	if o.Content, one, err = r.read(); err != nil {
		return o, err
	}
	if one {
		switch {
		case o.Content == "": // as of a variable that is not set: it must not mean all
			return o, invalid("content", "empty", "the content of a message; leave it out to restore the whole topic")
		case len(r.Topics) != 1:
			return o, invalid("topics", strconv.Itoa(len(r.Topics))+" topics", "one topic where there is a content")
		}
	}
	if err := instant("since", r.Since, &o.Since); err != nil {
		return o, err
	}
	var newer time.Duration
	if err := spans(field{"newer_than", r.NewerThan, &newer}); err != nil {
		return o, err
	}
	switch {
	case r.NewerThan == "":
	case newer < time.Millisecond:
		return o, invalid("newer_than", r.NewerThan, "1ms or more; leave it out if the age does not matter")
	case r.Since != "":
		return o, invalid("newer_than", r.NewerThan, "missing where there is a since")
	default:
		o.Since = time.Now().Add(-newer)
	}
	if r.Rate != "" {
		if o.Rate, err = humantime.ParseRate(r.Rate); err != nil {
			return o, invalid("rate", strconv.Quote(r.Rate), "a rate from 3.6/h to 1000000/s, such as 5000/s")
		}
	}
	return o, nil
}

// mostCounted is the largest rate that there is. To count is cheap.
const mostCounted = 1_000_000

// restored is a line of progress, and the answer.
type restored struct {
	wire.Restored
	Done bool `json:"done"`
}

// restore brings back what Redis has lost, and the journal knows.
func (c *call) restore() error {
	if _, err := c.query(); err != nil {
		return err
	}
	var asked restoring
	if err := c.read(&asked); err != nil {
		return err
	}
	o, err := asked.options()
	if err != nil {
		return err
	}
	for _, topic := range o.Topics {
		if err := c.may(topic); err != nil {
			return err
		}
	}
	if o.Topics == nil {
		if err := c.mayAll("to restore all topics"); err != nil {
			return err
		}
	}
	if o.DryRun && o.Rate == 0 {
		o.Rate = mostCounted
	}
	var s *stream
	if c.wantsStream() {
		if _, err := c.recovery(); err != nil { // as an answer of its own
			return err
		}
		s = c.stream()
		o.Progress = func(n recovery.Restored) { s.line(restored{wire.Restored{Dry: o.DryRun, Restored: n}, false}, true) }
	}
	n, err := c.bringBack(o)
	switch {
	case s == nil && err != nil:
		return err
	case s == nil:
		return c.answer(http.StatusOK, restored{wire.Restored{Dry: o.DryRun, Restored: n}, true})
	}
	s.line(restored{wire.Restored{Dry: o.DryRun, Restored: n}, err == nil}, true)
	return s.end(err, nil)
}

// recovery is what restores. Without a journal there is nothing to restore from.
func (c *call) recovery() (*recovery.Recovery, error) {
	if c.cfg.Journal == nil {
		return nil, &problem{Type: "conflict", Status: http.StatusConflict,
			Detail: "this gateway has no journal, so it does not know what Redis has lost: start rmqd serve with --journal and the URL of the database in which your programs keep theirs"}
	}
	return recovery.New(recovery.Config{Journal: c.cfg.Journal, Redis: c.cfg.Redis, Namespace: c.cfg.Namespace, Logger: c.log})
}

// bringBack restores.
func (c *call) bringBack(o recovery.Restore) (n recovery.Restored, err error) {
	r, err := c.recovery()
	if err != nil {
		return n, err
	}
	n, err = r.Restore(c.ctx(), o)
	switch {
	case err != nil:
		return n, c.soFar(err, fmt.Sprintf("%d waiting and %d dead messages are back", n.Waiting, n.Dead))
	case o.Content != "" && n.Waiting+n.Dead+n.There+n.Expired+n.Unsure+n.Unknown == 0:
		return n, &problem{Type: "not-found", Status: http.StatusNotFound, Detail: fmt.Sprintf(
			"nothing of this message is to be restored in %s: it was not sent, or it is over; rmqd journal history says what became of it", shorten(luascripts.Qualify(c.cfg.Namespace, o.Topics[0])))}
	}
	return n, nil
}
