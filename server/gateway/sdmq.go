package gateway

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slotmq/go-rmq/journal/recovery"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/poll"
	"github.com/slotmq/go-rmq/producer"
	"github.com/slotmq/go-rmq/server/gateway/internal/problem"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
	"github.com/slotmq/go-rmq/server/tokens"
)

// The calls of sdmq, for programs that make them already: the same library behind other words. A job is a message of a
// fixed-time topic.

type sdmq struct {
	*takes
	producer *producer.Producer
}

func (s sdmq) routes() []route {
	return []route{
		{"POST /push", tokens.Send, nil, inSDMQ(s.push)},
		{"GET /delete", tokens.Send, nil, inSDMQ(s.deleteJob, "jobId")},
		{"GET /get/{topic}", tokens.Take, nil, inSDMQ(s.getJob, "ttr")},
		{"GET /finish", tokens.Take, nil, inSDMQ(s.finishJob, "jobId")},
		{"GET /reStore", tokens.Act, nil, inSDMQ(s.restoreJobs, "expire")},
		{"GET /reStoreJob", tokens.Act, nil, inSDMQ(s.restoreJob, "jobId")},
	}
}

// sdmqAnswer is what each of them answers. The code is the status, too.
type sdmqAnswer struct {
	Success bool   `json:"success"`
	Code    int    `json:"code"`
	Message string `json:"message,omitempty"`
	Data    any    `json:"data"`
}

// inSDMQ makes a route of a call with some parameters: what it returns, or its error, in the form of sdmq.
func inSDMQ(do func(c *call) (any, error), params ...string) func(c *call) error {
	return func(c *call) (err error) {
		var data any
		if c.query, err = request.ReadQuery(c.r.URL.RawQuery, params); err == nil {
			data, err = do(c)
		}
		if err == nil {
			return c.answer(http.StatusOK, sdmqAnswer{true, http.StatusOK, "", data})
		}
		p := c.fail(err)
		return c.answer(p.Status, sdmqAnswer{false, p.Status, p.Full().Detail, nil})
	}
}

// push sends a job, and answers its id.
func (s sdmq) push(c *call) (any, error) {
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
		return nil, problem.Invalid("topic", "missing", "the name of a topic")
	case asked.Delay < 0 || asked.Delay > longest:
		return nil, problem.Invalid("delay", strconv.FormatInt(asked.Delay, 10), "0 or more milliseconds, up to 10 years")
	case asked.CreateTime < 0 || asked.CreateTime > time.Now().UnixMilli()+longest:
		return nil, problem.Invalid("createTime", strconv.FormatInt(asked.CreateTime, 10), "milliseconds since 1970")
	}
	if err := c.may(asked.Topic); err != nil {
		return nil, err
	}
	m := message.FixedTime{Content: asked.content(), In: max(time.Duration(asked.Delay), 1) * time.Millisecond}
	if asked.CreateTime > 0 {
		m.At, m.In = time.UnixMilli(asked.CreateTime+asked.Delay), 0
	}
	if _, err := s.producer.Send(c.ctx(), message.Topic{Name: asked.Topic, Kind: message.KindFixedTime}, m); err != nil {
		return nil, err
	}
	return jobID(asked.Topic, m.Content), nil
}

// namedJob reads the jobId of a call, and finds out what it names.
func namedJob(c *call) (topic, content string, err error) {
	topic, content, is := parseJobID(c.query["jobId"])
	if !is {
		return "", "", problem.Invalid("jobId", strconv.Quote(c.query["jobId"]), "an id that /push has answered, whole and unchanged")
	}
	return topic, content, c.may(topic)
}

// deleteJob cancels a job. One that is not there is deleted already.
func (s sdmq) deleteJob(c *call) (any, error) {
	topic, content, err := namedJob(c)
	if err != nil {
		return nil, err
	}
	_, _, err = c.inspector.Cancel(c.ctx(), topic, content, "")
	return nil, c.unsure(err)
}

// sdmqTTR is for how long a job is its taker's, unless the call says otherwise.
const sdmqTTR = time.Minute

// getJob takes one job. Its data is null if there is none now.
func (s sdmq) getJob(c *call) (any, error) {
	ttr, err := c.query.TTR(sdmqTTR)
	if err != nil {
		return nil, err
	}
	topic := c.topic()
	held, err := s.poller.Take(c.ctx(), []string{topic}, poll.Take{Most: 1, TTR: ttr})
	if err != nil || held == nil {
		return nil, err
	}
	s.gaveOut(c, held)
	if c.ctx().Err() != nil { // whoever asked has gone
		s.giveBack(c, held)
		return nil, c.ctx().Err()
	}
	content := held.Messages[0].Content
	return gotJob{jobOf(content), topic, jobID(topic, content), held.Receipt, held.Attempt}, nil
}

// finishJob says that a job is done. Its jobId is the receipt that /get has answered.
func (s sdmq) finishJob(c *call) (any, error) {
	receipt := c.query["jobId"]
	if _, err := poll.TopicOf(receipt); err != nil {
		return nil, problem.Invalid("jobId", strconv.Quote(receipt), "the receipt that /get has answered, whole and unchanged")
	}
	if err := mayFinish(c, receipt); err != nil {
		return nil, err
	}
	did, err := s.finished(c, receipt, request.Outcomes{})
	if err == nil && !did {
		err = problem.New("conflict", "it was finished before, or its time to run was over; nothing has changed")
	}
	return nil, err
}

// restoreJobs brings back all that Redis has lost, with expire=false without what has expired.
func (s sdmq) restoreJobs(c *call) (any, error) {
	expired, err := c.query.Yes("expire", true)
	if err != nil {
		return nil, err
	}
	if err := c.mayAll("to restore all topics"); err != nil {
		return nil, err
	}
	n, err := bringBack(c, recovery.Restore{Expired: expired})
	if err != nil {
		return nil, err
	}
	return n.Waiting + n.Dead, nil
}

// restoreJob brings back one job.
func (s sdmq) restoreJob(c *call) (any, error) {
	topic, content, err := namedJob(c)
	if err != nil {
		return nil, err
	}
	_, err = bringBack(c, recovery.Restore{Topics: []string{topic}, Content: content, Expired: true})
	return nil, err
}

// job is what identifies a job of sdmq. Two that are equal in all of it merge while they wait.
type job struct {
	ID       string `json:"id,omitempty"` // given by who sends it
	BizKey   string `json:"bizKey,omitempty"`
	Subtopic string `json:"subtopic,omitempty"`
	Body     string `json:"body"`
}

// gotJob is a job as it is taken.
type gotJob struct {
	job
	Topic   string `json:"topic"`
	JobID   string `json:"jobId"`   // for /delete and /reStoreJob
	Receipt string `json:"receipt"` // for /finish
	Attempt int    `json:"attempt"`
}

// content is the content of the message: the body alone where there is nothing else, so that other workers get just that.
func (j job) content() string {
	if j == (job{Body: j.Body}) {
		return j.Body
	}
	text, _ := json.Marshal(j) // of texts it cannot fail
	return string(text)
}

// jobOf reads a content. One that is not made from a job is the body of one.
func jobOf(content string) (j job) {
	if json.Unmarshal([]byte(content), &j) == nil && j.content() == content && j != (job{Body: j.Body}) {
		return j
	}
	return job{Body: strings.ToValidUTF8(content, string(utf8.RuneError))}
}

// jobID names a message without a table: the topic, and the content in base64.
func jobID(topic, content string) string {
	return topic + ":" + base64.RawURLEncoding.EncodeToString([]byte(content))
}

func parseJobID(id string) (topic, content string, is bool) {
	at := strings.LastIndexByte(id, ':')
	if at < 1 {
		return "", "", false
	}
	text, err := base64.RawURLEncoding.DecodeString(id[at+1:])
	return id[:at], string(text), err == nil && len(text) > 0
}
