package checked

import (
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/message"
)

func TestNote(t *testing.T) {
	many := map[string]string{}
	for len(many) < 64 {
		many[strings.Repeat("k", len(many)+1)] = ""
	}
	tooMany := map[string]string{"another": ""}
	for key := range many {
		tooMany[key] = ""
	}
	for name, test := range map[string]struct {
		m       message.Message
		want    string
		field   string // of the refusal
		refused string
	}{
		"nothing":                {message.Priority{Content: "x", Priority: 17}, "", "", ""},
		"empty headers":          {message.Priority{Content: "x", Priority: 17, Headers: map[string]string{}}, "", "", ""},
		"ttl":                    {message.Priority{Content: "x", Priority: 17, TTL: time.Minute}, "60000", "", ""},
		"ttl, never later":       {message.Priority{Content: "x", Priority: 17, TTL: 2*time.Millisecond - 1}, "1", "", ""},
		"headers":                {message.FixedTime{Content: "x", In: time.Hour, Headers: map[string]string{"b": "2", "a": "1"}}, `0 {"a":"1","b":"2"}`, "", ""},
		"both":                   {message.FixedTime{Content: "x", At: now, TTL: time.Second, Headers: map[string]string{"a": ""}}, `1000 {"a":""}`, "", ""},
		"negative":               {message.Priority{Content: "x", Priority: 17, TTL: -time.Second}, "", "TTL", "-1s"},
		"without its unit":       {message.Priority{Content: "x", Priority: 17, TTL: 30}, "", "TTL", "30ns"},
		"too long":               {message.FixedTime{Content: "x", At: now, TTL: limits.Span + 1}, "", "TTL", "87600h"},
		"as long as it waits":    {message.RangeMerge{Content: "x", Range: time.Second, TTL: time.Second}, "", "TTL", "1s"},
		"longer":                 {message.RangeMerge{Content: "x", Range: time.Second, TTL: time.Second + time.Millisecond}, "1001", "", ""},
		"before its time":        {message.FixedTime{Content: "x", In: time.Hour, TTL: time.Minute}, "", "TTL", "1m0s"},
		"64 headers":             {message.RangeMerge{Content: "x", Range: time.Second, Headers: many}, "0 " + noteOf(many), "", ""},
		"65 headers":             {message.RangeMerge{Content: "x", Range: time.Second, Headers: tooMany}, "", "Headers", "65"},
		"8 KiB":                  {message.Priority{Content: "x", Priority: 17, Headers: map[string]string{"k": strings.Repeat("v", 8<<10-1)}}, `0 {"k":"` + strings.Repeat("v", 8<<10-1) + `"}`, "", ""},
		"more":                   {message.Priority{Content: "x", Priority: 17, Headers: map[string]string{"k": strings.Repeat("v", 8<<10)}}, "", "Headers", "8193 bytes"},
		"no key":                 {message.Priority{Content: "x", Priority: 17, Headers: map[string]string{"": "v"}}, "", "Headers", "an empty key"},
		"a key that is no UTF-8": {message.Priority{Content: "x", Priority: 17, Headers: map[string]string{"\xff": "v"}}, "", "Headers", `\xff`},
		"a value that is none":   {message.Priority{Content: "x", Priority: 17, Headers: map[string]string{"v": "\xc3"}}, "", "Headers", `\xc3`},
	} {
		t.Run(name, func(t *testing.T) {
			topic := message.Topic{Name: "t", Kind: message.KindPriority, Notes: true}
			switch test.m.(type) {
			case message.RangeMerge:
				topic.Kind = message.KindRangeMerge
			case message.FixedTime:
				topic.Kind = message.KindFixedTime
			}
			got, err := Open(topic, test.m, 100)
			if test.field != "" {
				refusal(t, err, test.field, test.refused)
			} else if err != nil || got.Note != test.want {
				t.Errorf("got %.200q, %v; want %.200q", got.Note, err, test.want)
			}
			topic.Notes = false
			if _, err = Open(topic, test.m, 100); test.want == "" && test.field == "" {
				if err != nil {
					t.Errorf("in a topic without notes: %v", err)
				}
			} else if err == nil || !strings.Contains(err.Error(), "the topic has no Notes") {
				t.Errorf("in a topic without notes: %v", err)
			}
		})
	}
}

func noteOf(headers map[string]string) string {
	var parts []string
	for n := range len(headers) {
		parts = append(parts, `"`+strings.Repeat("k", n+1)+`":""`)
	}
	return "{" + strings.Join(parts, ",") + "}"
}
