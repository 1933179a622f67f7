package wire

import (
	"strings"

	"github.com/slotmq/go-rmq/inspector"
)

// Explanation is where a message is, and what it waits for there.
type Explanation struct {
	Topic string `json:"topic"`
	Shown
	Slot     int      `json:"slot"`
	Now      Stamp    `json:"now"`
	Waiting  *Entry   `json:"waiting,omitempty"`
	Before   *int     `json:"before,omitempty"`
	Beside   *int     `json:"same_priority,omitempty"` // that may go before it, too
	Flight   *Flight  `json:"in_flight,omitempty"`
	Retry    *Entry   `json:"retrying,omitempty"`
	Dead     *Entry   `json:"dead,omitempty"`
	Failure  *Failure `json:"failure,omitempty"`
	PutBack  *PutBack `json:"put_back,omitempty"`
	Note     *Note    `json:"note,omitempty"`
	Unique   Stamp    `json:"unique_until,omitzero"`
	WaitsFor []string `json:"waits_for"`
	Journal  []Row    `json:"journal,omitempty"`
}

// Flight is the batch that a message is in.
type Flight struct {
	Worker    string `json:"worker"`
	Since     Stamp  `json:"since,omitzero"`
	Attempt   int    `json:"attempt"`
	LeaseEnds Stamp  `json:"lease_ends,omitzero"`
	Batch     int    `json:"batch"`

	// Running is what the handler has run for long; Runs, that it is about this message, and not about another one of the batch.
	Running *Running `json:"running,omitempty"`
	Runs    bool     `json:"runs,omitempty"`
}

// PutBack is what is known of a message that its handler put back.
type PutBack struct {
	First  Stamp  `json:"first"`
	Last   Stamp  `json:"last"`
	Worker string `json:"worker,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Row is a row of the journal.
type Row struct {
	At       Stamp  `json:"at"`
	What     string `json:"what"`
	Number   int64  `json:"number"`
	Due      Stamp  `json:"due,omitzero"`
	Priority int64  `json:"priority,omitempty"`
	Attempt  int    `json:"attempt,omitempty"`
	Worker   string `json:"worker,omitempty"`
	Host     string `json:"host,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// ExplanationOf is an explanation, without the rows of the journal. With inBase64 the content is so in any case.
func ExplanationOf(e inspector.Explanation, inBase64 bool) Explanation {
	x := Explanation{
		Topic: e.Topic.Name, Shown: Show(e.Content, inBase64), Slot: e.Slot, Now: At(e.Now),
		Waiting: placeOf(e.Waiting), Retry: placeOf(e.Retry), Dead: placeOf(e.Dead), Failure: failureOf(e.Failure), PutBack: putBackOf(e.PutBack),
		Note: noteOf(e.Note), Unique: At(e.Unique),
		WaitsFor: append([]string{}, e.WaitsFor...),
	}
	if e.Waiting != nil {
		x.Before = &e.Before
		if e.Waiting.Priority > 0 {
			x.Beside = &e.Beside
		}
	}
	if f := e.Flight; f != nil {
		x.Flight = &Flight{Worker: f.Worker, Since: At(f.Since), Attempt: f.Attempt, LeaseEnds: At(f.LeaseEnds), Batch: f.Batch, Runs: f.Runs}
		if f.Running != nil {
			r := RunningOf(*f.Running, inBase64)
			x.Flight.Running = &r
		}
	}
	return x
}

// placeOf is an entry without its topic and content, which are written once.
func placeOf(e *inspector.Entry) *Entry {
	if e == nil {
		return nil
	}
	x := EntryOf("", *e, false)
	x.Shown = Shown{}
	return &x
}

func putBackOf(p *inspector.PutBack) *PutBack {
	if p == nil {
		return nil
	}
	return &PutBack{At(p.First), At(p.Last), p.Worker, strings.ToValidUTF8(p.Reason, "\ufffd")}
}

// Cancelled is what a cancel has done.
type Cancelled struct {
	Topic string `json:"topic"`
	Shown
	Removed  bool `json:"removed"`
	InFlight bool `json:"in_flight"`
}
