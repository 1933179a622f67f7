package wire

import (
	"errors"
	"maps"
	"reflect"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/message"
)

var topics = map[message.Kind]message.Topic{
	message.KindPriority:   {Name: "orders", Kind: message.KindPriority, Slots: 4, Notes: true},
	message.KindRangeMerge: {Name: "prices", Kind: message.KindRangeMerge, Slots: 4, Notes: true},
	message.KindFixedTime:  {Name: "mails", Kind: message.KindFixedTime, Slots: 4, Notes: true},
}

func TestMessages(t *testing.T) {
	t.Parallel()
	shop := map[string]string{"shop": "Rome"}
	at := time.Date(2040, 1, 31, 15, 4, 5, 0, time.UTC)
	for text, want := range map[string]message.Message{
		`{"content":"a","priority":500,"basis":"b"}`:                                             message.Priority{Content: "a", SlotBasis: "b", Priority: 500},
		`{"content_base64":"AP8=","priority":17}`:                                                message.Priority{Content: "\x00\xff", Priority: 17},
		`{"content":"\ud83d\ude00 \\ud800","priority":17,"slot":3,"reason":"x","died":null}`:     message.Priority{Content: `😀 \ud800`, Priority: 17},
		`{"content":"a","range":"10m"}`:                                                          message.RangeMerge{Content: "a", Range: 10 * time.Minute},
		`{"content":"a","range":"2s","extend":true,"ceiling":"30s"}`:                             message.RangeMerge{Content: "a", Range: 2 * time.Second, Extend: true, Ceiling: 30 * time.Second},
		`{"content":"a","in":"90s","ttl":"1h","headers":{"shop":"Rome"},"unique":"1d"}`:          message.FixedTime{Content: "a", In: 90 * time.Second, TTL: time.Hour, Headers: shop, Unique: 24 * time.Hour},
		`{"content":"a","at":"2040-01-31T15:04:05Z","attempts":17,"worker":"w","priority":null}`: message.FixedTime{Content: "a", At: at},
	} {
		d, err := ReadMessage([]byte(text), Draft{}, humantime.ParseInstant)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		kind := message.KindFixedTime
		switch want.(type) {
		case message.Priority:
			kind = message.KindPriority
		case message.RangeMerge:
			kind = message.KindRangeMerge
		}
		if got, err := d.Message(topics[kind]); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	// What a message says of its time takes the place of all that another draft says of it; the rest each for itself.
	minute, first := time.Minute, int64(20)
	d, err := ReadMessage([]byte(`{"content":"a","in":"1h"}`), Draft{Content: "b", Basis: "c", Priority: &first, TTL: &minute, Headers: shop}, humantime.ParseInstant)
	if err != nil || d.Content != "a" || d.Basis != "c" || d.Priority != nil || *d.In != time.Hour || *d.TTL != minute || !maps.Equal(d.Headers, shop) {
		t.Errorf("%+v, %v", d, err)
	}
}

// What is wrong names the field, its value and the limit.
func TestFieldErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]FieldError{
		`{"priority":20}`: {"content", "missing", "given, or else content_base64", "it needs either content or content_base64"},
		`{"content":"x","content_base64":"eA==","priority":20}`: {"content", "there beside content_base64", "given, or else content_base64", "it needs either content or content_base64"},
		`{"content":"x"}`:                              {"priority", "missing", "a priority, and nothing else of range, in, at and priority", "orders is a priority topic: a message needs a priority, and nothing else of range, in, at and priority"},
		`{"content":"x","in":"1s","priority":20}`:      {"priority", "in and priority given", "a priority, and nothing else of range, in, at and priority", "orders is a priority topic: a message needs a priority, and nothing else of range, in, at and priority"},
		`{"content":"x","priority":20,"extend":true}`:  {"extend", "given", "left out in a priority topic", "orders is a priority topic: extend and ceiling are for range merges"},
		`{"content":"x","priority":20,"ceiling":"1s"}`: {"ceiling", "given", "left out in a priority topic", "orders is a priority topic: extend and ceiling are for range merges"},
		`{"content":"x","priority":"20"}`:              {"priority", "string", "a whole number", "priority is a string; it must be a whole number"},
		`{"content":"x","priority":1e400}`:             {"priority", "number 1e400", "a whole number", "priority is a number 1e400; it must be a whole number"},
		`{"content":7,"priority":20}`:                  {"content", "number", "a text", "content is a number; it must be a text"},
		`{"content_base64":"?","priority":20}`:         {"content_base64", "another text", "base64", "it cannot be read: illegal base64 data at input byte 0"},
		`{"content":"x","ttl":7}`:                      {"ttl", "number", `a text such as "90s"`, `ttl is a number; it must be a text such as "90s"`},
		`{"content":"x","headers":{"a":7}}`:            {"headers", "number", "an object of texts", "headers is not an object of texts"},
		`{"content":"x","prority":20}`:                 {"prority", "unknown", "a field that is known here", `it cannot be read: unknown field "prority"`},
		`{"content":"x","ttl":"1"}`:                    {"ttl", "1", "a duration such as 90s, 1h30m or 7d", `ttl is "1", not a duration such as 90s, 1h30m or 7d`},
		`{"content":"x","at":"soon"}`:                  {"at", "soon", "a time such as 2026-01-31T15:04:05Z", `at is "soon", not a time such as 2026-01-31T15:04:05Z, or "2026-01-31 15:04" by the clock here`},
	} {
		d, err := ReadMessage([]byte(text), Draft{}, humantime.ParseInstant)
		if err == nil {
			_, err = d.Message(topics[message.KindPriority])
		}
		var got *FieldError
		if !errors.As(err, &got) || *got != want {
			t.Errorf("%s: %+v, want %+v", text, err, want)
		}
	}
	zero := time.Duration(0) // is now
	if m, err := (Draft{Content: "x", In: &zero}).Message(topics[message.KindFixedTime]); err != nil || !reflect.DeepEqual(m, message.FixedTime{Content: "x", In: time.Millisecond}) {
		t.Error(m, err)
	}
}

// No text makes it panic, and what is read has the content that the text says.
func FuzzReadMessage(f *testing.F) {
	for _, text := range []string{`{"content":"a","priority":500}`, `{"content":"a\ud83d\ude00","in":"90s"}`, `{"content":"\ud800","range":"1"}`, "{\"content\":\"\xff\"}", `{"content_base64":"AP8="}`, `{`, `\`, `\ud8`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := ReadMessage(text, Draft{}, humantime.ParseInstant)
		if err != nil {
			return
		}
		for _, topic := range topics {
			_, _ = d.Message(topic)
		}
	})
}
