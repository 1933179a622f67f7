package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/inspector/doctor"
	"github.com/slotmq/go-rmq/inspector/plans"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/journal/recovery"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

// What programs read stays as it is, to the byte: it is in testdata. A new field has a new line there.
func TestWritten(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 16, 4, 5, 120_999_999, time.FixedZone("", 3600))
	orders := inspector.Topic{Topic: message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 4, Literal: true, Notes: true}, Sharing: "redis", Created: at}
	counts := inspector.Counts{Waiting: 6, Due: 5, InFlight: 4, Retrying: 3, Dead: 2}
	failure := &inspector.Failure{Attempts: 3, First: at, Last: at, Priority: 500, Worker: "w1", Reason: "a\xff\xffb\nc"}
	entry := inspector.Entry{Content: "a<b", Slot: 1, State: inspector.Retrying, Due: at, Priority: 500, Attempt: 2, Died: at, Failure: failure}
	running := inspector.Running{Topic: "orders", Slot: 1, Worker: "w1", Since: at, Timeout: 1500 * time.Millisecond, Content: "\xff", Count: 2}
	var written bytes.Buffer
	for _, value := range []any{
		doctor.Check{},
		doctor.Check{Name: "role", Level: doctor.Fail, Detail: "a\ufffdb; c\ufffd", Advice: "d; e", Command: "f"},
		TopicOf(inspector.Topic{}),
		TopicOf(orders),
		StatsOf(inspector.Stats{Topic: orders}),
		StatsOf(inspector.Stats{Topic: orders, Counts: counts, Overdue: 1500 * time.Microsecond, Read: 4, Paused: 1, Workers: -1, Takers: 2, Policy: inspector.Policy{Rate: 0.5, Concurrency: 3, For: time.Minute}}),
		StatsOf(inspector.Stats{Topic: orders, Read: 3, Workers: 2}),
		SlotOf("orders", inspector.Slot{}),
		SlotOf("orders", inspector.Slot{Index: 3, Counts: counts, Overdue: time.Second, Next: at, Priority: 500, Holder: "h", Since: at, Attempt: 2, LeaseEnds: at, Paused: at, Worker: "w1", Unseen: true}),
		WorkerOf(inspector.Worker{}, false),
		WorkerOf(inspector.Worker{ID: "w1", Host: "h", PID: 7, Version: "v", Leaving: true, Unlisted: true, Taker: true, Until: at,
			Assigned: map[string][]int{"b": nil, "a": {1, 2}}, Held: map[string][]int{"a": {1}}, Probing: map[string]time.Time{"a": at}, Running: []inspector.Running{running}}, false),
		VanishedOf(inspector.Vanished{Worker: "w1", Topics: []string{"a", "b"}, Until: at}),
		EntryOf("", inspector.Entry{}, false),
		EntryOf("orders", entry, true),
		EntryOf("orders", entry, false),
		DeadOf(inspector.Entry{}, false),
		DeadOf(entry, false),
		ReasonOf("orders", inspector.Reason{Text: "a", Rest: true, Count: 3, First: at, Last: at, Latest: entry, Cut: true}, true),
		ExplanationOf(inspector.Explanation{}, false),
		ExplanationOf(inspector.Explanation{Topic: orders, Content: "a", Slot: 1, Now: at, Waiting: &entry, Retry: &entry, Dead: &entry, Failure: failure,
			Flight:  &inspector.Flight{Worker: "w1", Since: at, Attempt: 2, LeaseEnds: at, Batch: 3, Running: &running, Runs: true},
			PutBack: &inspector.PutBack{First: at, Last: at, Worker: "w1", Reason: "a\xff"},
			Note:    &inspector.Note{Sends: 2, First: at, Last: at, Expires: at, Headers: map[string]string{"b": "c"}},
			Unique:  at, WaitsFor: []string{"its time"}}, false),
		Requeued{Topic: "orders"},
		Requeued{Topic: "orders", Requeued: inspector.Requeued{Stored: 1, Merged: 2, Gone: 3, Unknown: 4, Lost: 5}, GoOn: "rmq"},
		Purged{Topic: "orders"},
		Purged{Topic: "orders", Purged: inspector.Purged{Waiting: 1, Retrying: 2, Dead: 3, Lost: 4}, GoOn: "rmq"},
		WouldPurge{Topic: "orders", Would: 6, Purged: inspector.Purged{Waiting: 1, Retrying: 2, Dead: 3}},
		Restored{},
		Restored{Dry: true, Restored: recovery.Restored{Waiting: 1, Dead: 2, There: 3, Expired: 4, Twice: 5, Unsure: 6, Unknown: 7, Late: 8}},
		LimitOf(inspector.Policy{}),
		MissedOf(inspector.Failed{Topic: "orders", Slot: -1, Server: "s", Err: errors.New("a\nb")}),
		MissedOf(inspector.Failed{Topic: "orders", Err: errors.New("a")}),
		PlanOf("orders", plans.Plan{Recurring: message.Recurring{Name: "p"}, Err: errors.New("a\nb")}, false),
		PlanOf("orders", plans.Plan{Recurring: message.Recurring{Name: "p", Content: "c", SlotBasis: "b", Priority: 500, Cron: "@daily", Zone: "UTC", Delay: time.Second, Period: time.Minute,
			Repeat: 3, From: at, Until: at, Missed: message.MissedSkip}, Slot: 1, Set: at, Next: at}, false),
		ReceiptOf(producer.Receipt{Slot: 1, Due: at, Past: true}),
	} {
		must.Do(t, json.NewEncoder(&written).Encode(value))
	}
	file, err := os.ReadFile("testdata/written.jsonl")
	must.Do(t, err)
	want := slices.Collect(strings.Lines(string(file)))
	got := slices.Collect(strings.Lines(written.String()))
	for n := range max(len(want), len(got)) {
		if n >= len(want) || n >= len(got) || got[n] != want[n] {
			t.Fatalf("from line %d on:\n%s", n+1, strings.Join(got[min(n, len(got)):], ""))
		}
	}
}
