package message

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// refusal checks that err names the field and the value, and what is allowed.
func refusal(t *testing.T, err error, field, value string) {
	t.Helper()
	var invalid *InvalidError
	if !errors.As(err, &invalid) || !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v, want an InvalidError about %s", err, field)
		return
	}
	if invalid.Field != field || !strings.Contains(invalid.Value, value) || invalid.Limit == "" {
		t.Errorf("got %q; want field %s and value %s", err, field, value)
	}
}

func TestTopic(t *testing.T) {
	good := []Topic{
		{Name: "orders", Kind: KindPriority},
		{Name: "a b.c-d_e:f", Kind: KindRangeMerge, Slots: 1},
		{Name: "订单", Kind: KindFixedTime, Slots: 65536},
		{Name: strings.Repeat("x", 200), Kind: KindFixedTime, Slots: 2},
	}
	for _, topic := range good {
		if err := topic.Validate(); err != nil {
			t.Errorf("%.20q: %v", topic.Name, err)
		}
	}
	if got := good[0].WithDefaults().Slots; got != 64 {
		t.Errorf("default slots: %d", got)
	}
	names := map[string]string{
		"": `""`, strings.Repeat("x", 201): "201 bytes", "a{b": "a{b", "a}b": "a}b", "a/b": "a/b",
		"a\nb": `a\nb`, "a\x00": `\x00`, "a\x7f": `\x7f`, "a\u0085": `\u0085`, "\xff": `\xff`,
	}
	for name, value := range names {
		refusal(t, Topic{Name: name, Kind: KindPriority}.Validate(), "Topic.Name", value)
	}
	for _, slots := range []int{-1, 3, 12, 1 << 17, math.MaxInt, math.MinInt} {
		refusal(t, Topic{Name: "x", Kind: KindPriority, Slots: slots}.Validate(), "Topic.Slots", "")
	}
	refusal(t, Topic{Name: "x"}.Validate(), "Topic.Kind", "not set")
	for _, kind := range []Kind{4, 255} {
		refusal(t, Topic{Name: "x", Kind: kind}.Validate(), "Topic.Kind", kind.String())
	}
	refusal(t, ValidateNamespace("a/b"), "Namespace", "a/b")
	if err := ValidateNamespace(""); err != nil {
		t.Error(err)
	}
}

func TestKindsAreStoredByTheseNames(t *testing.T) {
	for kind, name := range map[Kind]string{KindRangeMerge: "range-merge", KindPriority: "priority", KindFixedTime: "fixed-time"} {
		if kind.String() != name {
			t.Errorf("%d is %s", kind, kind)
		}
	}
}

func TestOpen(t *testing.T) {
	day := 24 * time.Hour
	for _, test := range []struct {
		name    string
		m       Message
		kind    Kind
		want    int64  // value, if it is accepted
		field   string // of the refusal
		refused string
	}{
		{"range", RangeMerge{Content: "x", Range: time.Second}, KindRangeMerge, 1000, "", ""},
		{"range is rounded up", RangeMerge{Content: "x", Range: time.Millisecond + 1}, KindRangeMerge, 2, "", ""},
		{"range without its unit", RangeMerge{Content: "x", Range: 10}, KindRangeMerge, 0, "Range", "10ns"},
		{"range just below 1 ms", RangeMerge{Content: "x", Range: time.Millisecond - 1}, KindRangeMerge, 0, "Range", "999.999µs"},
		{"range of 10 years", RangeMerge{Content: "x", Range: MaxRange}, KindRangeMerge, 315_360_000_000, "", ""},
		{"range 0", RangeMerge{Content: "x"}, KindRangeMerge, 0, "Range", "0s"},
		{"range negative", RangeMerge{Content: "x", Range: -1}, KindRangeMerge, 0, "Range", "-1ns"},
		{"range too long", RangeMerge{Content: "x", Range: MaxRange + 1}, KindRangeMerge, 0, "Range", "87600h"},
		{"range overflowing", RangeMerge{Content: "x", Range: math.MaxInt64}, KindRangeMerge, 0, "Range", "h"},

		{"priority 17", Priority{Content: "x", Priority: 17}, KindPriority, 17, "", ""},
		{"priority 2^53-1", Priority{Content: "x", Priority: 1<<53 - 1}, KindPriority, 1<<53 - 1, "", ""},
		{"priority 16", Priority{Content: "x", Priority: 16}, KindPriority, 0, "Priority", "16"},
		{"priority 2^53", Priority{Content: "x", Priority: 1 << 53}, KindPriority, 0, "Priority", "9007199254740992"},
		{"priority smallest", Priority{Content: "x", Priority: math.MinInt64}, KindPriority, 0, "Priority", "-9223372036854775808"},
		{"priority largest", Priority{Content: "x", Priority: math.MaxInt64}, KindPriority, 0, "Priority", "9223372036854775807"},

		{"time", FixedTime{Content: "x", At: now.Add(day)}, KindFixedTime, now.Add(day).UnixMilli(), "", ""},
		{"time is rounded up", FixedTime{Content: "x", At: now.Add(1)}, KindFixedTime, now.UnixMilli() + 1, "", ""},
		{"time zero", FixedTime{Content: "x"}, KindFixedTime, 0, "At", "zero"},
		{"time long past", FixedTime{Content: "x", At: now.Add(-20 * 365 * day)}, KindFixedTime, now.Add(-20 * 365 * day).UnixMilli(), "", ""},
		{"year 2000", FixedTime{Content: "x", At: minAt}, KindFixedTime, 946_684_800_000, "", ""},
		{"before 2000", FixedTime{Content: "x", At: minAt.Add(-1)}, KindFixedTime, 0, "At", "1999-12-31T23:59:59"},
		{"in 30 min", FixedTime{Content: "x", In: 30 * time.Minute}, KindFixedTime, 1_800_000, "", ""},
		{"in is rounded up", FixedTime{Content: "x", In: time.Millisecond + 1}, KindFixedTime, 2, "", ""},
		{"in negative", FixedTime{Content: "x", In: -time.Second}, KindFixedTime, 0, "In", "-1s"},
		{"in without its unit", FixedTime{Content: "x", In: 30}, KindFixedTime, 0, "In", "30ns"},
		{"in too long", FixedTime{Content: "x", In: MaxRange + 1}, KindFixedTime, 0, "In", "87600h"},
		{"in overflowing", FixedTime{Content: "x", In: math.MaxInt64}, KindFixedTime, 0, "In", "h"},
		{"at and in", FixedTime{Content: "x", At: now.Add(day), In: time.Second}, KindFixedTime, 0, "In", "1s"},
		{"seconds for ms", FixedTime{Content: "x", At: time.UnixMilli(now.Unix())}, KindFixedTime, 0, "At", "1970"},
		{"end of 9999", FixedTime{Content: "x", At: maxAt}, KindFixedTime, maxAt.UnixMilli() + 1, "", ""},
		{"year 10000", FixedTime{Content: "x", At: maxAt.Add(1)}, KindFixedTime, 0, "At", "10000"},
		{"µs for ms", FixedTime{Content: "x", At: time.UnixMilli(now.UnixMicro())}, KindFixedTime, 0, "At", "57"},

		{"other kind", Priority{Content: "x", Priority: 17}, KindFixedTime, 0, "Message", "priority"},
		{"nil", nil, KindPriority, 0, "Message", "nil"},
		{"pointer", &Priority{Content: "x", Priority: 17}, KindPriority, 0, "Message", "a pointer"},
		{"no content", Priority{Priority: 17}, KindPriority, 0, "Content", "0 bytes"},
		{"content at the limit", Priority{Content: strings.Repeat("x", 100), Priority: 17}, KindPriority, 17, "", ""},
		{"content above it", Priority{Content: strings.Repeat("x", 101), Priority: 17}, KindPriority, 0, "Content", "101 bytes"},
		{"binary content", Priority{Content: "\x00\xff", Priority: 17}, KindPriority, 17, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			body, err := Open(Topic{Name: "t", Kind: test.kind}, test.m, 100)
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

// What was written without its unit is told with it.
func TestUnitsAreTold(t *testing.T) {
	_, err := Open(Topic{Name: "t", Kind: KindRangeMerge}, RangeMerge{Content: "x", Range: 10}, 100)
	const want = "Range is 10ns; it must be at least 1ms and at most 10 years (did you mean 10 * time.Millisecond?)"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestPast(t *testing.T) {
	for _, test := range []struct {
		m    Message
		past bool
	}{
		{FixedTime{Content: "x", At: now}, true}, // due now
		{FixedTime{Content: "x", At: now.Add(-time.Hour)}, true},
		{FixedTime{Content: "x", At: now.Add(1)}, false},
		{FixedTime{Content: "x", In: time.Millisecond}, false},
		{RangeMerge{Content: "x", Range: time.Millisecond}, false},
		{Priority{Content: "x", Priority: 17}, false},
	} {
		kind := KindFixedTime
		switch test.m.(type) {
		case RangeMerge:
			kind = KindRangeMerge
		case Priority:
			kind = KindPriority
		}
		body, err := Open(Topic{Name: "t", Kind: kind}, test.m, 100)
		if err != nil || body.Past(now) != test.past {
			t.Errorf("%+v: past %t, %v", test.m, body.Past(now), err)
		}
	}
}

func TestSlotBasisDefaultsToTheContent(t *testing.T) {
	topic := Topic{Name: "t", Kind: KindPriority}
	for _, test := range []struct{ basis, want string }{{"", "x"}, {"b", "b"}} {
		body, err := Open(topic, Priority{Content: "x", SlotBasis: test.basis, Priority: 17}, 100)
		if err != nil || body.SlotBasis != test.want || body.Content != "x" {
			t.Errorf("got %+v, %v", body, err)
		}
	}
}

// What a send does with a message passed by value must not move it to the heap.
func TestOpenDoesNotAllocate(t *testing.T) {
	topic, m := Topic{Name: "t", Kind: KindPriority}, Priority{Content: "x", Priority: 17}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := Open(topic, m, 100); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
