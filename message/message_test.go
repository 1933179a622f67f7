package message

import (
	"errors"
	"math"
	"strings"
	"testing"
)

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
}

func TestKindsAreStoredByTheseNames(t *testing.T) {
	for kind, name := range map[Kind]string{KindRangeMerge: "range-merge", KindPriority: "priority", KindFixedTime: "fixed-time"} {
		if kind.String() != name {
			t.Errorf("%d is %s", kind, kind)
		}
	}
}
