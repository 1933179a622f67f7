package journal

import (
	"reflect"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/message"
)

// What comes out of the outbox is what a send would have made of the message.
func TestParcels(t *testing.T) {
	headers := map[string]string{"shop": "Rome", "html": "<&>"}
	at := time.Date(2026, 12, 24, 18, 0, 0, 1, time.UTC)
	for _, m := range []message.Message{
		message.Priority{Content: "a", Priority: 17},
		message.Priority{Content: "\x00\xff{", SlotBasis: "\xfe", Priority: 1<<53 - 1, Unique: time.Hour},
		message.RangeMerge{Content: "a", SlotBasis: "b", Range: time.Minute + 1},
		message.RangeMerge{Content: "a", Range: time.Second, Extend: true, Ceiling: time.Minute, TTL: time.Hour, Headers: headers},
		message.FixedTime{Content: "{\"base64\": 1}", At: at},
		message.FixedTime{Content: "a", At: at, TTL: time.Hour},
		message.FixedTime{Content: "a", In: time.Millisecond, Headers: headers, Unique: time.Millisecond + 1},
	} {
		topic := message.Topic{Name: "t", Slots: 8, Literal: true, Notes: true}
		for _, k := range message.Kinds() {
			topic.Kind = k
			want, err := checked.Open(topic, m, 100)
			if err != nil {
				continue // another kind
			}
			text := pack(topic, want)
			gotTopic, gotMessage, err := unpack("t", text)
			if err != nil || gotTopic != topic {
				t.Errorf("%s: %+v %v", text, gotTopic, err)
			}
			got, err := checked.Open(gotTopic, gotMessage, 100)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, not %+v: %v", text, got, want, err)
			}
		}
	}
	for _, text := range []string{
		"", "[]", `{"kind":"sometimes","content":"a"}`, `{"kind":"priority","content":"a","priority":17,"colour":"red"}`,
	} {
		if _, _, err := unpack("t", []byte(text)); err == nil {
			t.Errorf("%q can be read", text)
		}
	}
}
