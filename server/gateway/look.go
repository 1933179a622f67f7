package gateway

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/inspector/doctor"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/server/gateway/internal/problem"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
)

// list is what each list also has: whether there is more, and what could not be looked at.
type list struct {
	More    bool           `json:"more"`
	Missing []wire.Missing `json:"missing,omitempty"`
}

// listed is the part of a list that is answered, where err is that of reading it.
func listed[T, W any](c *call, all []T, err error, name func(T) string, show func(T) W) ([]W, list, error) {
	missing, err := c.missing(err)
	if err != nil {
		return nil, list{}, err
	}
	some, more, err := request.PageOf(c.query, all, name)
	shown := make([]W, len(some))
	for n, one := range some {
		shown[n] = show(one)
	}
	return shown, list{more, missing}, err
}

// listTopics lists the topics that whoever asks may look at.
func listTopics(c *call) error {
	topics, err := c.inspector.Topics(c.ctx())
	topics = slices.DeleteFunc(topics, func(t inspector.Topic) bool { return !c.sees(t.Name) })
	shown, rest, err := listed(c, topics, err, func(t inspector.Topic) string { return t.Name }, wire.TopicOf)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, struct {
		Topics []wire.Topic `json:"topics"`
		list
	}{shown, rest})
}

// showTopic counts what a topic holds.
func showTopic(c *call) error {
	s, failed := c.inspector.Stats(c.ctx(), c.topic())
	missing, err := c.missing(failed)
	switch {
	case err != nil:
		return err
	case s.Read == 0: // there is nothing to show
		return failed
	}
	return c.answer(http.StatusOK, struct {
		wire.Stats
		Missing []wire.Missing `json:"missing,omitempty"`
	}{wire.StatsOf(s), missing})
}

// showSlots shows who has each slot of a topic, and what is in it.
func showSlots(c *call) (err error) {
	after := -1
	if text, given := c.query["after"]; given {
		if after, err = strconv.Atoi(text); err != nil {
			return problem.Invalid("after", strconv.Quote(text), "the number of a slot")
		}
		delete(c.query, "after")
	}
	slots, err := c.inspector.Slots(c.ctx(), c.topic())
	slots = slices.DeleteFunc(slots, func(s inspector.Slot) bool { return s.Index <= after })
	shown, rest, err := listed(c, slots, err, nil, func(s inspector.Slot) wire.Slot { return wire.SlotOf(c.topic(), s) })
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, struct {
		Slots []wire.Slot `json:"slots"`
		list
	}{shown, rest})
}

// workerList is what GET /v1/workers answers.
type workerList struct {
	Workers  []wire.Worker   `json:"workers"`
	Vanished []wire.Vanished `json:"vanished,omitempty"`
	Unseen   []wire.Unseen   `json:"unseen,omitempty"` // topics whose workers are not among them
	list
}

// listWorkers lists the workers of the topics that whoever asks may look at.
func listWorkers(c *call) error {
	var answer workerList
	workers, err := c.inspector.Workers(c.ctx())
	missing, err := c.missing(err)
	if err != nil {
		return err
	}
	unseen, err := c.inspector.Unseen(c.ctx())
	if missing, err = c.alsoMissing(missing, err); err != nil {
		return err
	}
	gone, err := c.inspector.Vanished(c.ctx())
	if missing, err = c.alsoMissing(missing, err); err != nil {
		return err
	}
	workers = slices.DeleteFunc(workers, func(w inspector.Worker) bool { return !seesWorker(c, w) })
	answer.Workers, answer.list, err = listed(c, workers, nil, func(w inspector.Worker) string { return w.ID }, func(w inspector.Worker) wire.Worker {
		x := wire.WorkerOf(w, false)
		x.Assigned, x.Held, x.Probing = visible(c, w.Assigned), visible(c, w.Held), visible(c, x.Probing)
		x.Running = visibleRuns(c, x.Running)
		return x
	})
	if err != nil {
		return err
	}
	answer.Missing, answer.Vanished = missing, visibleGone(c, gone)
	for _, t := range unseen {
		if c.sees(t.Name) {
			answer.Unseen = append(answer.Unseen, wire.Unseen{Topic: t.Name, Why: "it is shared by ZooKeeper: rmqd serve with --zk and the --namespace of the topic shows its workers"})
		}
	}
	return c.answer(http.StatusOK, answer)
}

// seesWorker reports whether a worker works at a topic that the holder may look at.
func seesWorker(c *call, w inspector.Worker) bool {
	return c.all() || len(visible(c, w.Assigned))+len(visible(c, w.Held))+len(visible(c, w.Probing)) > 0
}

// visible is the part of a map by topics that whoever asks may look at.
func visible[T any](c *call, of map[string]T) map[string]T {
	if of == nil {
		return nil
	}
	part := map[string]T{}
	for topic, v := range of {
		if c.sees(topic) {
			part[topic] = v
		}
	}
	return part
}

// visibleRuns are those of topics that whoever asks may look at.
func visibleRuns(c *call, all []wire.Running) []wire.Running {
	return slices.DeleteFunc(all, func(r wire.Running) bool { return !c.sees(r.Topic) })
}

// visibleGone are workers that vanished, with those of their topics that whoever asks may look at.
func visibleGone(c *call, all []inspector.Vanished) (some []wire.Vanished) {
	for _, v := range all {
		v.Topics = slices.DeleteFunc(v.Topics, func(topic string) bool { return !c.sees(topic) })
		if len(v.Topics) > 0 {
			some = append(some, wire.VanishedOf(v))
		}
	}
	return some
}

// doctorPatience is how long the doctor may take. That servers do not answer is a finding, too.
const doctorPatience = 10 * time.Second

// askDoctor checks the servers and settings. A finding may be about several topics, so it needs the right to look at
// all of them.
func askDoctor(c *call) error {
	if err := c.mayAll("the doctor"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx(), doctorPatience)
	defer cancel()
	checks := c.inspector.Doctor(ctx)
	fails := slices.ContainsFunc(checks, func(check doctor.Check) bool { return check.Level == doctor.Fail })
	return c.answer(http.StatusOK, struct {
		OK     bool           `json:"ok"`
		Checks []doctor.Check `json:"checks"`
	}{!fails, checks})
}
