package wire

import (
	"time"

	"github.com/slotmq/go-rmq/inspector"
)

// Topic is the definition of a topic. If it cannot be read, only the name is known.
type Topic struct {
	Topic   string `json:"topic"`
	Kind    string `json:"kind,omitempty"`
	Slots   int    `json:"slots,omitempty"`
	Literal bool   `json:"literal,omitempty"`
	Notes   bool   `json:"notes,omitempty"`
	Sharing string `json:"sharing,omitempty"`
	Created Stamp  `json:"created,omitzero"`
}

// TopicOf is the definition of a topic.
func TopicOf(t inspector.Topic) Topic {
	j := Topic{Topic: t.Name, Slots: t.Slots, Literal: t.Literal, Notes: t.Notes, Sharing: t.Sharing, Created: At(t.Created)}
	if t.Kind != 0 {
		j.Kind = t.Kind.String()
	}
	return j
}

// Counts are those of a topic or a slot.
type Counts struct {
	Waiting  int    `json:"waiting"`
	Due      int    `json:"due"`
	Overdue  Millis `json:"overdue_ms"`
	InFlight int    `json:"in_flight"`
	Retrying int    `json:"retrying"`
	Dead     int    `json:"dead"`
}

// countsOf are counts, and for how long the oldest that is due has been so.
func countsOf(c inspector.Counts, overdue time.Duration) Counts {
	return Counts{c.Waiting, c.Due, Millis(overdue), c.InFlight, c.Retrying, c.Dead}
}

// Stats are the counts of a topic.
type Stats struct {
	Topic
	Counts
	Read    int    `json:"read_slots,omitempty"` // if not all could be read
	Paused  int    `json:"paused_slots"`
	Workers *int   `json:"workers"`          // null: not known
	Takers  int    `json:"takers,omitempty"` // programs that take batches for others, such as gateways
	Limit   *Limit `json:"limit,omitempty"`
}

// StatsOf are the counts of a topic.
func StatsOf(s inspector.Stats) Stats {
	j := Stats{TopicOf(s.Topic), countsOf(s.Counts, s.Overdue), s.Read, s.Paused, &s.Workers, s.Takers, LimitOf(s.Policy)}
	if s.Read == s.Topic.Slots {
		j.Read = 0
	}
	if s.Workers < 0 {
		j.Workers = nil
	}
	return j
}

// Watched are the counts of a topic that is looked at again and again.
type Watched struct {
	Stats
	Change *Change `json:"change_per_second,omitempty"` // since the last look
}

// Change is how counts have changed a second: what came minus what went.
type Change struct {
	Over     Millis  `json:"over_ms"` // between the two looks
	Waiting  float64 `json:"waiting"`
	InFlight float64 `json:"in_flight"`
	Retrying float64 `json:"retrying"`
	Dead     float64 `json:"dead"`
}

// Undefined is a topic whose definition cannot be read, so that nothing of it can be counted.
type Undefined struct {
	Topic string `json:"topic"`
	Error string `json:"error"`
}

// UndefinedOf is one of that name.
func UndefinedOf(topic string) Undefined {
	return Undefined{topic, "it has no definition that can be read"}
}

// TopicDeleted is what was deleted with a topic.
type TopicDeleted struct {
	Topic    string `json:"topic"`
	Messages int    `json:"messages"`
	Plans    int    `json:"plans"`
}
