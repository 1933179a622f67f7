package checked

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/message"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// refusal checks that err names the field and the value, and what is allowed.
func refusal(t *testing.T, err error, field, value string) {
	t.Helper()
	var invalid *message.InvalidError
	if !errors.As(err, &invalid) || !errors.Is(err, message.ErrInvalid) {
		t.Errorf("got %v, want an InvalidError about %s", err, field)
		return
	}
	if invalid.Field != field || !strings.Contains(invalid.Value, value) || invalid.Limit == "" {
		t.Errorf("got %q; want field %s and value %s", err, field, value)
	}
}

func TestNamespace(t *testing.T) {
	refusal(t, Namespace("a/b"), "Namespace", "a/b")
	if err := Namespace(""); err != nil {
		t.Error(err)
	}
}

func TestOpen(t *testing.T) {
	day := 24 * time.Hour
	for _, test := range []struct {
		name    string
		m       message.Message
		kind    message.Kind
		want    int64  // value, if it is accepted
		field   string // of the refusal
		refused string
	}{
		{"range", message.RangeMerge{Content: "x", Range: time.Second}, message.KindRangeMerge, 1000, "", ""},
		{"range is rounded up", message.RangeMerge{Content: "x", Range: time.Millisecond + 1}, message.KindRangeMerge, 2, "", ""},
		{"range without its unit", message.RangeMerge{Content: "x", Range: 10}, message.KindRangeMerge, 0, "Range", "10ns"},
		{"range just below 1 ms", message.RangeMerge{Content: "x", Range: time.Millisecond - 1}, message.KindRangeMerge, 0, "Range", "999.999µs"},
		{"range of 10 years", message.RangeMerge{Content: "x", Range: limits.Span}, message.KindRangeMerge, 315_360_000_000, "", ""},
		{"range 0", message.RangeMerge{Content: "x"}, message.KindRangeMerge, 0, "Range", "0s"},
		{"range negative", message.RangeMerge{Content: "x", Range: -1}, message.KindRangeMerge, 0, "Range", "-1ns"},
		{"range too long", message.RangeMerge{Content: "x", Range: limits.Span + 1}, message.KindRangeMerge, 0, "Range", "87600h"},
		{"range overflowing", message.RangeMerge{Content: "x", Range: math.MaxInt64}, message.KindRangeMerge, 0, "Range", "h"},
		{"range that extends", message.RangeMerge{Content: "x", Range: time.Second, Extend: true, Ceiling: time.Second + 1}, message.KindRangeMerge, 1000, "", ""},
		{"range without a ceiling", message.RangeMerge{Content: "x", Range: time.Second, Extend: true}, message.KindRangeMerge, 0, "Ceiling", "not set"},
		{"range as large as its ceiling", message.RangeMerge{Content: "x", Range: time.Second, Extend: true, Ceiling: time.Second}, message.KindRangeMerge, 0, "Ceiling", "1s"},
		{"range with a negative ceiling", message.RangeMerge{Content: "x", Range: time.Second, Extend: true, Ceiling: -1}, message.KindRangeMerge, 0, "Ceiling", "-1ns"},
		{"range with a ceiling too far", message.RangeMerge{Content: "x", Range: time.Second, Extend: true, Ceiling: limits.Span + 1}, message.KindRangeMerge, 0, "Ceiling", "87600h"},
		{"range with a ceiling for nothing", message.RangeMerge{Content: "x", Range: time.Second, Ceiling: time.Minute}, message.KindRangeMerge, 0, "Ceiling", "1m0s"},

		{"priority 17", message.Priority{Content: "x", Priority: 17}, message.KindPriority, 17, "", ""},
		{"priority 2^53-1", message.Priority{Content: "x", Priority: 1<<53 - 1}, message.KindPriority, 1<<53 - 1, "", ""},
		{"priority 16", message.Priority{Content: "x", Priority: 16}, message.KindPriority, 0, "Priority", "16"},
		{"priority 2^53", message.Priority{Content: "x", Priority: 1 << 53}, message.KindPriority, 0, "Priority", "9007199254740992"},
		{"priority smallest", message.Priority{Content: "x", Priority: math.MinInt64}, message.KindPriority, 0, "Priority", "-9223372036854775808"},
		{"priority largest", message.Priority{Content: "x", Priority: math.MaxInt64}, message.KindPriority, 0, "Priority", "9223372036854775807"},

		{"time", message.FixedTime{Content: "x", At: now.Add(day)}, message.KindFixedTime, now.Add(day).UnixMilli(), "", ""},
		{"time is rounded up", message.FixedTime{Content: "x", At: now.Add(1)}, message.KindFixedTime, now.UnixMilli() + 1, "", ""},
		{"time zero", message.FixedTime{Content: "x"}, message.KindFixedTime, 0, "At", "zero"},
		{"time long past", message.FixedTime{Content: "x", At: now.Add(-20 * 365 * day)}, message.KindFixedTime, now.Add(-20 * 365 * day).UnixMilli(), "", ""},
		{"year 2000", message.FixedTime{Content: "x", At: minAt}, message.KindFixedTime, 946_684_800_000, "", ""},
		{"before 2000", message.FixedTime{Content: "x", At: minAt.Add(-1)}, message.KindFixedTime, 0, "At", "1999-12-31T23:59:59"},
		{"in 30 min", message.FixedTime{Content: "x", In: 30 * time.Minute}, message.KindFixedTime, 1_800_000, "", ""},
		{"in is rounded up", message.FixedTime{Content: "x", In: time.Millisecond + 1}, message.KindFixedTime, 2, "", ""},
		{"in negative", message.FixedTime{Content: "x", In: -time.Second}, message.KindFixedTime, 0, "In", "-1s"},
		{"in without its unit", message.FixedTime{Content: "x", In: 30}, message.KindFixedTime, 0, "In", "30ns"},
		{"in too long", message.FixedTime{Content: "x", In: limits.Span + 1}, message.KindFixedTime, 0, "In", "87600h"},
		{"in overflowing", message.FixedTime{Content: "x", In: math.MaxInt64}, message.KindFixedTime, 0, "In", "h"},
		{"at and in", message.FixedTime{Content: "x", At: now.Add(day), In: time.Second}, message.KindFixedTime, 0, "In", "1s"},
		{"seconds for ms", message.FixedTime{Content: "x", At: time.UnixMilli(now.Unix())}, message.KindFixedTime, 0, "At", "1970"},
		{"end of 9999", message.FixedTime{Content: "x", At: maxAt}, message.KindFixedTime, maxAt.UnixMilli() + 1, "", ""},
		{"year 10000", message.FixedTime{Content: "x", At: maxAt.Add(1)}, message.KindFixedTime, 0, "At", "10000"},
		{"µs for ms", message.FixedTime{Content: "x", At: time.UnixMilli(now.UnixMicro())}, message.KindFixedTime, 0, "At", "57"},

		{"unique", message.Priority{Content: "x", Priority: 17, Unique: time.Millisecond}, message.KindPriority, 17, "", ""},
		{"unique for too long", message.Priority{Content: "x", Priority: 17, Unique: limits.Span + 1}, message.KindPriority, 0, "Unique", "87600h"},
		{"unique negative", message.FixedTime{Content: "x", At: now, Unique: -time.Second}, message.KindFixedTime, 0, "Unique", "-1s"},
		{"unique without its unit", message.FixedTime{Content: "x", At: now, Unique: 24}, message.KindFixedTime, 0, "Unique", "24ns"},
		{"range, unique for nearly no time", message.RangeMerge{Content: "x", Range: time.Second, Unique: time.Millisecond - 1}, message.KindRangeMerge, 0, "Unique", "999.999µs"},

		{"other kind", message.Priority{Content: "x", Priority: 17}, message.KindFixedTime, 0, "Message", "priority"},
		{"nil", nil, message.KindPriority, 0, "Message", "nil"},
		{"pointer", &message.Priority{Content: "x", Priority: 17}, message.KindPriority, 0, "Message", "a pointer"},
		{"no content", message.Priority{Priority: 17}, message.KindPriority, 0, "Content", "0 bytes"},
		{"content at the limit", message.Priority{Content: strings.Repeat("x", 100), Priority: 17}, message.KindPriority, 17, "", ""},
		{"content above it", message.Priority{Content: strings.Repeat("x", 101), Priority: 17}, message.KindPriority, 0, "Content", "101 bytes"},
		{"binary content", message.Priority{Content: "\x00\xff", Priority: 17}, message.KindPriority, 17, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			body, err := Open(message.Topic{Name: "t", Kind: test.kind}, test.m, 100)
			if test.field != "" {
				refusal(t, err, test.field, test.refused)
				return
			}
			fromNow := strings.HasPrefix(test.name, "range") || strings.HasPrefix(test.name, "in ")
			if err != nil || body.Value != test.want || body.Kind != test.kind || body.FromNow != fromNow {
				t.Errorf("got %+v, %v; want value %d", body, err, test.want)
			}
		})
	}
}

// The error shows how to send without a ceiling.
func TestCeilingIsExplained(t *testing.T) {
	_, err := Open(message.Topic{Name: "t", Kind: message.KindRangeMerge}, message.RangeMerge{Content: "x", Range: time.Second, Extend: true}, 100)
	if err == nil || !strings.Contains(err.Error(), "use a FixedTime with In") {
		t.Errorf("got %v", err)
	}
}

// A duration without its unit: the error shows what it means.
func TestUnitsAreTold(t *testing.T) {
	_, err := Open(message.Topic{Name: "t", Kind: message.KindRangeMerge}, message.RangeMerge{Content: "x", Range: 10}, 100)
	const want = "Range is 10ns; it must be at least 1ms and at most 10 years (did you mean 10 * time.Millisecond?)"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestPast(t *testing.T) {
	for _, test := range []struct {
		m    message.Message
		past bool
	}{
		{message.FixedTime{Content: "x", At: now}, true}, // due now
		{message.FixedTime{Content: "x", At: now.Add(-time.Hour)}, true},
		{message.FixedTime{Content: "x", At: now.Add(1)}, false},
		{message.FixedTime{Content: "x", In: time.Millisecond}, false},
		{message.RangeMerge{Content: "x", Range: time.Millisecond}, false},
		{message.Priority{Content: "x", Priority: 17}, false},
	} {
		kind := message.KindFixedTime
		switch test.m.(type) {
		case message.RangeMerge:
			kind = message.KindRangeMerge
		case message.Priority:
			kind = message.KindPriority
		}
		body, err := Open(message.Topic{Name: "t", Kind: kind}, test.m, 100)
		if err != nil || body.Past(now) != test.past {
			t.Errorf("%+v: past %t, %v", test.m, body.Past(now), err)
		}
	}
}

func TestSlotBasisDefaultsToTheContent(t *testing.T) {
	topic := message.Topic{Name: "t", Kind: message.KindPriority}
	for _, test := range []struct{ basis, want string }{{"", "x"}, {"b", "b"}} {
		body, err := Open(topic, message.Priority{Content: "x", SlotBasis: test.basis, Priority: 17}, 100)
		if err != nil || body.SlotBasis != test.want || body.Content != "x" {
			t.Errorf("got %+v, %v", body, err)
		}
	}
}

// What a send does with a message passed by value must not move it to the heap.
func TestOpenDoesNotAllocate(t *testing.T) {
	topic, m := message.Topic{Name: "t", Kind: message.KindPriority}, message.Priority{Content: "x", Priority: 17}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := Open(topic, m, 100); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
