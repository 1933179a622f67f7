package gateway

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/internal/wire"
)

// filter says which dead messages are meant. The words are those of rmq dead.
type filter struct {
	Content    string `json:"content"`
	Base64     []byte `json:"content_base64"` // exactly that content
	Regexp     string `json:"content_regex"`
	Reason     string `json:"reason"`
	OlderThan  string `json:"older_than"`
	NewerThan  string `json:"newer_than"`
	DiedBefore string `json:"died_before"`
	DiedAfter  string `json:"died_after"`
	Slots      []int  `json:"slots"`
}

// filterNames are the parameters of a filter.
var filterNames = []string{"content", "content_base64", "content_regex", "reason", "older_than", "newer_than", "died_before", "died_after", "slots"}

// filterOf reads a filter from parameters.
func filterOf(q query) (f filter, err error) {
	f = filter{
		Content: q["content"], Regexp: q["content_regex"], Reason: q["reason"],
		OlderThan: q["older_than"], NewerThan: q["newer_than"], DiedBefore: q["died_before"], DiedAfter: q["died_after"],
	}
	if text, given := q["content_base64"]; given {
		content, err := unbase64(text)
		if err != nil || text == "" {
			return f, invalid("content_base64", strconv.Quote(text), "a content in base64")
		}
		f.Base64 = []byte(content)
	}
	if text, given := q["slots"]; given {
		if f.Slots, err = wire.ParseSlots(text); err != nil {
			return f, invalid("slots", strconv.Quote(text), "slots such as 3, 3,7 or 0-5")
		}
	}
	return f, nil
}

// query is what a filter says, as of now by the clock of Redis.
func (f filter) query(ctx context.Context, c *call) (q inspector.DeadQuery, err error) {
	q = inspector.DeadQuery{Slots: f.Slots, Reason: f.Reason}
	given := 0
	for _, there := range []bool{f.Content != "", f.Base64 != nil, f.Regexp != ""} {
		if there {
			given++
		}
	}
	switch {
	case given > 1:
		return q, invalid("content", "given in several ways", "one of content, content_base64 and content_regex")
	case f.Slots != nil && len(f.Slots) == 0:
		return q, invalid("slots", "[]", "the numbers of some slots; leave it out for all")
	case f.Content != "":
		if q.Content, err = inspector.Glob(f.Content); err != nil {
			return q, invalid("content", strconv.Quote(f.Content), "a glob such as order 47*: "+err.Error())
		}
	case f.Regexp != "":
		if q.Content, err = inspector.Regexp(f.Regexp); err != nil {
			return q, invalid("content_regex", strconv.Quote(f.Regexp), "a regular expression: "+err.Error())
		}
	case f.Base64 != nil:
		exact := string(f.Base64)
		q.Content = func(content string) bool { return content == exact }
	}
	for _, one := range []struct {
		name, text string
		to         *time.Time
	}{{"died_before", f.DiedBefore, &q.OlderThan}, {"died_after", f.DiedAfter, &q.NewerThan}} {
		if err := instant(one.name, one.text, one.to); err != nil {
			return q, err
		}
	}
	var older, newer time.Duration
	if err := spans(field{"older_than", f.OlderThan, &older}, field{"newer_than", f.NewerThan, &newer}); err != nil {
		return q, err
	}
	for _, one := range []struct {
		name, text string
		age        time.Duration
	}{{"older_than", f.OlderThan, older}, {"newer_than", f.NewerThan, newer}} {
		if one.text != "" && one.age < time.Millisecond {
			return q, invalid(one.name, one.text, "1ms or more; leave it out if the age does not matter")
		}
	}
	var now time.Time
	if older != 0 || newer != 0 {
		if now, err = cluster.Now(ctx, c.cfg.Redis); err != nil {
			return q, err
		}
	}
	wire.Aged(&q, now, older, newer)
	return q, nil
}

// maxListed is how many bytes of contents and errors one answer lists, unless one message alone has more.
const maxListed = 8 << 20

// listDead lists dead messages, the latest first.
func (c *call) listDead() error {
	params, err := c.query(append([]string{"limit"}, filterNames...)...)
	if err != nil {
		return err
	}
	f, err := filterOf(params)
	if err != nil {
		return err
	}
	topic := c.r.PathValue("topic")
	if _, err := c.inspector.Topic(c.ctx(), topic); err != nil {
		return err
	}
	q, err := f.query(c.ctx(), c)
	if err != nil {
		return err
	}
	q.Newest = true
	if c.wantsStream() {
		if q.Limit, err = params.number("limit", 0, 1<<31-1); err != nil {
			return err
		}
		return c.streamDead(topic, q)
	}
	limit, err := params.number("limit", standardPage, maxPage)
	if err != nil {
		return err
	}
	q.Limit = limit + 1 // to know whether there are more
	answer := struct {
		Messages []wire.Dead `json:"messages"`
		list
	}{Messages: []wire.Dead{}}
	bytes := 0
	for e, err := range c.inspector.Dead(c.ctx(), topic, q) {
		if err != nil {
			if answer.Missing, err = c.missing(err); err != nil {
				return err
			}
			break
		}
		bytes += len(e.Content)
		if e.Failure != nil {
			bytes += len(e.Failure.Reason)
		}
		answer.More = answer.More || len(answer.Messages) == limit || bytes > maxListed && len(answer.Messages) > 0
		if answer.More {
			continue // there is no room for another one, but parts that could not be read may follow
		}
		answer.Messages = append(answer.Messages, wire.DeadOf(e, false))
	}
	return c.answer(http.StatusOK, answer)
}

// streamDead lists them all.
func (c *call) streamDead(topic string, q inspector.DeadQuery) error {
	s := c.stream()
	for e, err := range c.inspector.Dead(c.ctx(), topic, q) {
		if err != nil {
			missing, err := c.missing(err)
			return s.end(err, missing)
		}
		if !s.line(wire.DeadOf(e, false), false) {
			break
		}
	}
	return s.end(nil, nil)
}
