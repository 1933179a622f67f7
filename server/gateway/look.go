package gateway

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/wire"
)

// list is what each list says besides: whether there is more behind it, and what could not be looked at.
type list struct {
	More    bool           `json:"more"`
	Missing []wire.Missing `json:"missing,omitempty"`
}

// topics lists the topics that whoever asks may look at.
func (c *call) topics() error {
	q, err := c.query("after", "limit")
	if err != nil {
		return err
	}
	topics, err := c.inspector.Topics(c.ctx())
	missing, err := c.missing(err)
	if err != nil {
		return err
	}
	topics = slices.DeleteFunc(topics, func(t inspector.Topic) bool { return !c.holder.May(c.right, t.Name) })
	topics, more, err := page(q, topics, func(t inspector.Topic) string { return t.Name })
	if err != nil {
		return err
	}
	answer := struct {
		Topics []wire.Topic `json:"topics"`
		list
	}{make([]wire.Topic, len(topics)), list{more, missing}}
	for n, t := range topics {
		answer.Topics[n] = wire.TopicOf(t)
	}
	return c.answer(http.StatusOK, answer)
}

// topic counts what a topic holds.
func (c *call) topic() error {
	if _, err := c.query(); err != nil {
		return err
	}
	s, failed := c.inspector.Stats(c.ctx(), c.r.PathValue("topic"))
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

// slots shows who has each slot of a topic, and what is in it.
func (c *call) slots() error {
	q, err := c.query("after", "limit")
	if err != nil {
		return err
	}
	after := -1
	if text, given := q["after"]; given {
		if after, err = strconv.Atoi(text); err != nil {
			return invalid("after", strconv.Quote(text), "the number of a slot")
		}
		delete(q, "after")
	}
	name := c.r.PathValue("topic")
	slots, err := c.inspector.Slots(c.ctx(), name)
	missing, err := c.missing(err)
	if err != nil {
		return err
	}
	slots = slices.DeleteFunc(slots, func(s inspector.Slot) bool { return s.Index <= after })
	slots, more, err := page(q, slots, nil)
	if err != nil {
		return err
	}
	answer := struct {
		Slots []wire.Slot `json:"slots"`
		list
	}{make([]wire.Slot, len(slots)), list{more, missing}}
	for n, s := range slots {
		answer.Slots[n] = wire.SlotOf(name, s)
	}
	return c.answer(http.StatusOK, answer)
}

// workers lists the workers of the topics that whoever asks may look at.
func (c *call) workers() error {
	q, err := c.query("after", "limit")
	if err != nil {
		return err
	}
	workers, err := c.inspector.Workers(c.ctx())
	missing, err := c.missing(err)
	if err != nil {
		return err
	}
	unseen, err := c.inspector.Unseen(c.ctx())
	alsoMissing, err := c.missing(err)
	if err != nil {
		return err
	}
	gone, err := c.inspector.Vanished(c.ctx())
	stillMissing, err := c.missing(err)
	if err != nil {
		return err
	}
	for _, m := range slices.Concat(alsoMissing, stillMissing) {
		if !slices.Contains(missing, m) {
			missing = append(missing, m)
		}
	}
	workers = slices.DeleteFunc(workers, func(w inspector.Worker) bool { return !c.seesWorker(w) })
	workers, more, err := page(q, workers, func(w inspector.Worker) string { return w.ID })
	if err != nil {
		return err
	}
	answer := struct {
		Workers  []wire.Worker   `json:"workers"`
		Vanished []wire.Vanished `json:"vanished,omitempty"`
		Unseen   []wire.Unseen   `json:"unseen,omitempty"` // topics whose workers are not among them
		list
	}{make([]wire.Worker, len(workers)), c.visibleGone(gone), nil, list{more, missing}}
	for n, w := range workers {
		answer.Workers[n] = wire.WorkerOf(w, false)
		answer.Workers[n].Assigned = visible(c, w.Assigned)
		answer.Workers[n].Held = visible(c, w.Held)
		answer.Workers[n].Probing = visible(c, answer.Workers[n].Probing)
		answer.Workers[n].Running = c.visibleRuns(answer.Workers[n].Running)
	}
	for _, t := range unseen {
		if c.holder.May(c.right, t.Name) {
			answer.Unseen = append(answer.Unseen, wire.Unseen{Topic: t.Name, Why: "it is shared by ZooKeeper: rmqd serve with --zk and the --namespace of the topic shows its workers"})
		}
	}
	return c.answer(http.StatusOK, answer)
}

// seesWorker reports whether a worker has to do with a topic that whoever asks may look at.
func (c *call) seesWorker(w inspector.Worker) bool {
	return c.all(c.right) || len(visible(c, w.Assigned))+len(visible(c, w.Held))+len(visible(c, w.Probing)) > 0
}

// visible is the part of a map by topics that whoever asks may look at.
func visible[T any](c *call, of map[string]T) map[string]T {
	if of == nil {
		return nil
	}
	part := map[string]T{}
	for topic, v := range of {
		if c.holder.May(c.right, topic) {
			part[topic] = v
		}
	}
	return part
}

// visibleRuns are those of topics that whoever asks may look at.
func (c *call) visibleRuns(all []wire.Running) []wire.Running {
	return slices.DeleteFunc(all, func(r wire.Running) bool { return !c.holder.May(c.right, r.Topic) })
}

// visibleGone are workers that vanished, with those of their topics that whoever asks may look at.
func (c *call) visibleGone(all []inspector.Vanished) (some []wire.Vanished) {
	for _, v := range all {
		v.Topics = slices.DeleteFunc(v.Topics, func(topic string) bool { return !c.holder.May(c.right, topic) })
		if len(v.Topics) > 0 {
			some = append(some, wire.VanishedOf(v))
		}
	}
	return some
}

// doctorPatience is how long the doctor may take. That servers do not answer is a finding, too.
const doctorPatience = 10 * time.Second

// doctor checks the servers and settings. A finding may be about several topics, so that it is for who may look at all of them.
func (c *call) doctor() error {
	if _, err := c.query(); err != nil {
		return err
	}
	if err := c.mayAll("the doctor"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx(), doctorPatience)
	defer cancel()
	checks := c.inspector.Doctor(ctx)
	fails := slices.ContainsFunc(checks, func(check inspector.Check) bool { return check.Level == inspector.Fail })
	return c.answer(http.StatusOK, struct {
		OK     bool              `json:"ok"`
		Checks []inspector.Check `json:"checks"`
	}{!fails, checks})
}
