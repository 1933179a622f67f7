package gateway

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/slotmq/go-rmq/journal/recovery"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/poll"
	"github.com/slotmq/go-rmq/server/tokens"
)

// The calls of sdmq, for programs that make them already: the same library behind other words. A job is a message of a
// fixed-time topic.

func sdmqRoutes() []route {
	return []route{
		{"POST /push", tokens.Send, sdmq((*call).push)},
		{"GET /delete", tokens.Send, sdmq((*call).deleteJob)},
		{"GET /get/{topic}", tokens.Take, sdmq((*call).getJob)},
		{"GET /finish", tokens.Take, sdmq((*call).finishJob)},
		{"GET /reStore", tokens.Act, sdmq((*call).restoreJobs)},
		{"GET /reStoreJob", tokens.Act, sdmq((*call).restoreJob)},
	}
}

// sdmqAnswer is what each of them answers. The code is the status, too.
type sdmqAnswer struct {
	Success bool   `json:"success"`
	Code    int    `json:"code"`
	Message string `json:"message,omitempty"`
	Data    any    `json:"data"`
}

// sdmq makes a route of a call: what it returns, or its error, in the form of sdmq.
func sdmq(do func(c *call) (any, error)) func(c *call) error {
	return func(c *call) error {
		data, err := do(c)
		if err == nil {
			return c.answer(http.StatusOK, sdmqAnswer{true, http.StatusOK, "", data})
		}
		p := c.problem(err)
		if !p.slow {
			c.stopIfGone()
		}
		c.noteFailure(p, err)
		return c.answer(p.Status, sdmqAnswer{false, p.Status, p.full().Detail, nil})
	}
}

// push sends a job, and answers its id.
func (c *call) push() (any, error) {
	if _, err := c.query(); err != nil {
		return nil, err
	}
	var asked struct {
		job
		Topic      string `json:"topic"`
		Delay      int64  `json:"delay"`      // ms
		CreateTime int64  `json:"createTime"` // ms since 1970; 0: now
		Status     int    `json:"status"`     // these two say nothing here
		TTL        int64  `json:"ttl"`
	}
	if err := c.read(&asked); err != nil {
		return nil, err
	}
	const longest = int64(10 * 366 * 24 * time.Hour / time.Millisecond)
	switch {
	case asked.Topic == "":
		return nil, invalid("topic", "missing", "the name of a topic")
	case asked.Delay < 0 || asked.Delay > longest:
		return nil, invalid("delay", strconv.FormatInt(asked.Delay, 10), "0 or more milliseconds, up to 10 years")
	case asked.CreateTime < 0 || asked.CreateTime > time.Now().UnixMilli()+longest:
		return nil, invalid("createTime", strconv.FormatInt(asked.CreateTime, 10), "milliseconds since 1970")
	}
	if err := c.may(asked.Topic); err != nil {
		return nil, err
	}
	m := message.FixedTime{Content: asked.content(), In: max(time.Duration(asked.Delay), 1) * time.Millisecond}
	if asked.CreateTime > 0 {
		m.At, m.In = time.UnixMilli(asked.CreateTime+asked.Delay), 0
	}
	if _, err := c.producer.Send(c.ctx(), message.Topic{Name: asked.Topic, Kind: message.KindFixedTime}, m); err != nil {
		return nil, err
	}
	return jobID(asked.Topic, m.Content), nil
}

// namedJob reads the jobId of a call, and finds out what it names.
func (c *call) namedJob() (topic, content string, err error) {
	q, err := c.query("jobId")
	if err != nil {
		return "", "", err
	}
	topic, content, is := parseJobID(q["jobId"])
	if !is {
		return "", "", invalid("jobId", strconv.Quote(q["jobId"]), "an id that /push has answered, whole and unchanged")
	}
	return topic, content, c.may(topic)
}

// deleteJob cancels a job. One that is not there is deleted already.
func (c *call) deleteJob() (any, error) {
	topic, content, err := c.namedJob()
	if err != nil {
		return nil, err
	}
	_, _, err = c.inspector.Cancel(c.ctx(), topic, content, "")
	return nil, c.unsure(err)
}

// sdmqTTR is for how long a job is its taker's, unless the call says otherwise.
const sdmqTTR = time.Minute

// getJob takes one job. Its data is null if there is none now.
func (c *call) getJob() (any, error) {
	q, err := c.query("ttr")
	if err != nil {
		return nil, err
	}
	o := poll.Take{Most: 1, TTR: sdmqTTR}
	if err := spans(field{"ttr", q["ttr"], &o.TTR}); err != nil {
		return nil, err
	}
	topic := c.r.PathValue("topic")
	held, err := c.poller.Take(c.ctx(), []string{topic}, o)
	if err != nil || held == nil {
		return nil, err
	}
	c.gaveOut(held)
	if c.ctx().Err() != nil { // whoever asked has gone
		c.giveBack(held)
		return nil, c.ctx().Err()
	}
	content := held.Messages[0].Content
	return gotJob{jobOf(content), topic, jobID(topic, content), held.Receipt, held.Attempt}, nil
}

// finishJob says that a job is done. Its jobId is the receipt that /get has answered.
func (c *call) finishJob() (any, error) {
	q, err := c.query("jobId")
	if err != nil {
		return nil, err
	}
	receipt := q["jobId"]
	if _, err := poll.TopicOf(receipt); err != nil {
		return nil, invalid("jobId", strconv.Quote(receipt), "the receipt that /get has answered, whole and unchanged")
	}
	if err := c.mayFinish(receipt); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(c.ctx(), c.answerWithin)
	defer cancel()
	did, err := c.poller.Finish(ctx, receipt)
	if err != nil {
		return nil, err
	}
	c.metrics.given(receipt, time.Time{})
	if !did {
		return nil, &problem{Type: "conflict", Status: http.StatusConflict, Detail: "it was finished before, or its time to run was over; nothing has changed"}
	}
	c.settled(receipt, outcomes{})
	return nil, nil
}

// restoreJobs brings back all that Redis has lost, with expire=false without what has expired.
func (c *call) restoreJobs() (any, error) {
	q, err := c.query("expire")
	if err != nil {
		return nil, err
	}
	expired, err := q.yes("expire", true)
	if err != nil {
		return nil, err
	}
	if err := c.mayAll("to restore all topics"); err != nil {
		return nil, err
	}
	n, err := c.bringBack(recovery.Restore{Expired: expired})
	if err != nil {
		return nil, err
	}
	return n.Waiting + n.Dead, nil
}

// restoreJob brings back one job.
func (c *call) restoreJob() (any, error) {
	topic, content, err := c.namedJob()
	if err != nil {
		return nil, err
	}
	_, err = c.bringBack(recovery.Restore{Topics: []string{topic}, Content: content, Expired: true})
	return nil, err
}
