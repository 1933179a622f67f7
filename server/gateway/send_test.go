package gateway

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
)

func TestSendOne(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const path = "/v1/topics/orders/messages"
	one := map[string]any{"content": "order 4711", "priority": 500, "basis": "customer 12"}
	if p := s.ask(404, "POST", path, one); p["type"] != "urn:rmq:unknown-topic" || !strings.Contains(p["detail"].(string), `"kind": "priority"`) {
		t.Error(p)
	}
	one["kind"], one["slots"] = "priority", 8
	got := s.ask(201, "POST", path, one)
	if got["outcome"] != "stored" || got["due"] != nil {
		t.Error(got)
	}
	delete(one, "kind")
	delete(one, "slots")
	one["priority"] = 700
	if again := s.ask(200, "POST", path, one); again["outcome"] != "merged" || again["slot"] != got["slot"] {
		t.Error(again)
	}
	// It is where a Go program would have sent it.
	if r := s.ask(200, "GET", path+"?content=order+4711&basis=customer+12", nil)["found"].([]any)[0].(map[string]any); r["slot"] != got["slot"] || r["waiting"].(map[string]any)["priority"] != 700.0 {
		t.Error(r)
	}
	unique := map[string]any{"content": "report", "priority": 20, "unique": "1d"}
	s.ask(201, "POST", path, unique)
	if again := s.ask(200, "POST", path, unique); again["outcome"] != "duplicate" {
		t.Error(again)
	}

	const prices = "/v1/topics/prices/messages"
	if r := s.ask(201, "POST", prices, map[string]any{"content": "p", "range": "10m", "kind": "range-merge"}); r["due"] == nil {
		t.Error(r)
	}
	if r := s.ask(200, "POST", prices, map[string]any{"content": "p", "range": "10m"}); r["due"] != nil { // it keeps its first time
		t.Error(r)
	}
	s.ask(201, "POST", prices, map[string]any{"content": "q", "range": "2s", "extend": true, "ceiling": "30s"})

	const mails = "/v1/topics/mails/messages"
	if r := s.ask(201, "POST", mails, map[string]any{"content": "m", "at": "2040-01-31T16:04:05+01:00", "kind": "fixed-time", "notes": true, "headers": map[string]string{"shop": "Rome"}}); r["due"] != "2040-01-31T15:04:05.000Z" {
		t.Error(r)
	}
	if r := s.ask(201, "POST", mails, map[string]any{"content": "late", "at": "2020-01-31T15:04:05Z"}); r["past"] != true {
		t.Error(r)
	}
	s.ask(201, "POST", mails, map[string]any{"content": "n", "in": "90s", "ttl": "1h"})
	note := s.ask(200, "GET", mails+"?content=m", nil)["found"].([]any)[0].(map[string]any)["note"].(map[string]any)
	if note["headers"].(map[string]any)["shop"] != "Rome" || note["sends"] != 1.0 {
		t.Error(note)
	}

	// Any bytes are a content.
	binary := "\x00\xff\xfe{\"\\ 订单\x80"
	s.ask(201, "POST", path, map[string]any{"content_base64": []byte(binary), "priority": 17})
	for _, text := range []string{base64.StdEncoding.EncodeToString([]byte(binary)), base64.RawURLEncoding.EncodeToString([]byte(binary))} {
		r := s.ask(200, "GET", path+"?content_base64="+text, nil)["found"].([]any)[0].(map[string]any)
		if r["content_base64"] != base64.StdEncoding.EncodeToString([]byte(binary)) {
			t.Error(r)
		}
	}
}

func TestSendMany(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const path = "/v1/topics/orders/messages"
	got := s.wrong(200, "POST", path, `{"kind":"priority","slots":4,"messages":[
		{"content":"a","priority":20},
		{"content":"b","priority":16},
		{"content":"c"},
		{"content":"d","prority":20},
		{"content":"a","priority":30},
		{"content":"e","priority":"20"},
		7, null, {"content_base64":"?"},
		{"content":"u","priority":20,"unique":"1h"},
		{"content":"u","priority":20,"unique":"1h"},
		{"content":"f","priority":20,"at":"2040-01-31 15:04"}]}`)
	if got["stored"] != 2.0 || got["merged"] != 1.0 || got["duplicates"] != 1.0 || got["failed"] != 8.0 {
		t.Error(got)
	}
	for n, want := range []string{
		"stored", "priority is 16; it must be 17 to 9007199254740991 (2^53 - 1)", "orders is a priority topic: a message needs a priority",
		`unknown field "prority"`, "merged", "priority is a string", "it is a number and not a JSON object", "it needs either content or content_base64",
		"illegal base64", "stored", "duplicate", "not a time with its zone",
	} {
		r := got["results"].([]any)[n].(map[string]any)
		problem, failed := r["error"].(map[string]any)
		if r["outcome"] != want && !(failed && strings.Contains(problem["detail"].(string), want) && problem["title"] != nil && strings.HasPrefix(problem["type"].(string), "urn:rmq:")) {
			t.Errorf("%d: %v, want %s", n, r, want)
		}
	}
	all := make([]map[string]any, 1000)
	for n := range all {
		all[n] = map[string]any{"content": fmt.Sprint("order ", n), "priority": 100 + n}
	}
	if got := s.ask(200, "POST", path, map[string]any{"messages": all}); got["stored"] != 1000.0 || len(got["results"].([]any)) != 1000 {
		t.Error(got["stored"])
	}
	if got := s.ask(200, "POST", path, map[string]any{"messages": all}); got["merged"] != 1000.0 {
		t.Error(got["merged"])
	}
	// The answer names all that is wrong, also if nothing was right; then no topic is
	// defined.
	if got := s.wrong(200, "POST", "/v1/topics/new/messages", `{"kind":"priority","messages":[{"content":"a"}]}`); got["failed"] != 1.0 {
		t.Error(got)
	}
	if _, err := s.inspector.Topic(ctx, "new"); err == nil {
		t.Error("it is defined")
	}
	// One that is over before it is due is known as such only by the clock of Redis, and stops no other.
	got = s.ask(200, "POST", "/v1/topics/mails/messages", map[string]any{"kind": "fixed-time", "notes": true, "messages": []any{
		map[string]any{"content": "a", "in": "1h"},
		map[string]any{"content": "b", "at": "2040-01-31T15:04:05Z", "ttl": "1h"},
		map[string]any{"content": "c", "in": "1h"},
	}})
	if p := got["results"].([]any)[1].(map[string]any)["error"].(map[string]any); got["stored"] != 2.0 || p["field"] != "ttl" || p["status"] != 422.0 {
		t.Error(got)
	}
	// What has a wrong time for Redis alone is refused alone, too.
	if p := s.ask(422, "POST", "/v1/topics/mails/messages", map[string]any{"content": "b", "at": "2040-01-31T15:04:05Z", "ttl": "1h"}); p["field"] != "ttl" {
		t.Error(p)
	}
}

// What is sent wrongly says the field, its value and the limit, and nothing is stored.
func TestWrongSends(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(cfg *Config) { cfg.MaxBody = 64 << 10 })
	for _, topic := range []message.Topic{orders, {Name: "prices", Kind: message.KindRangeMerge}, {Name: "mails", Kind: message.KindFixedTime, Notes: true}} {
		s.ask(201, "PUT", "/v1/topics/"+topic.Name, map[string]any{"kind": topic.Kind.String(), "notes": topic.Notes})
	}
	deep := strings.Repeat(`{"headers":`, 20_000)
	for _, c := range []struct {
		status                    int
		topic, body, field, value string
		limit                     string // begins with
	}{
		{422, "orders", `{"priority":20}`, "content", "missing", "given, or else content_base64"},
		{422, "orders", `{"content_base64":"?","priority":20}`, "content_base64", "another text", "base64"},
		{422, "orders", `{"content":"a","content_base64":"YQ==","priority":20}`, "content", "there beside content_base64", "given"},
		{422, "orders", `{"content":"","priority":20}`, "content", "0 bytes long", "1 to "},
		{422, "orders", `{"content":"a"}`, "priority", "missing", "a priority, and nothing else"},
		{422, "orders", `{"content":"a","range":"1m"}`, "priority", "range given", "a priority, and nothing else"},
		{422, "orders", `{"content":"a","priority":16}`, "priority", "16", "17 to 9007199254740991"},
		{422, "orders", `{"content":"a","priority":9007199254740992}`, "priority", "9007199254740992", "17 to 9007199254740991"},
		{422, "orders", `{"content":"a","priority":1e400}`, "priority", "number 1e400", ""},
		{422, "orders", `{"content":"a","priority":` + strings.Repeat("9", 5000) + `}`, "priority", "number 999", ""},
		{422, "orders", `{"content":"a","priority":20.5}`, "priority", "number 20.5", ""},
		{422, "orders", `{"content":"a","priority":20,"extend":true}`, "extend", "given", "left out in a priority topic"},
		{422, "orders", `{"content":"a","priority":20,"ceiling":"1m"}`, "ceiling", "given", "left out in a priority topic"},
		{422, "orders", `{"content":"a","priority":20,"ttl":"1m"}`, "ttl", "1m0s", "left out: the topic has no notes"},
		{422, "orders", `{"content":"a","priority":20,"headers":{"a":"b"}}`, "headers", "set", "left out: the topic has no notes"},
		{422, "orders", `{"content":"a","priority":20,"unique":"1"}`, "unique", "1", "a duration such as 90s"},
		{422, "orders", `{"content":"a","priority":20,"unique":"9999d"}`, "unique", "239976h0m0s", "at least 1ms and at most 10 years"},
		{422, "orders", `{"content":"a","priority":20,"colour":"red"}`, "colour", "", ""},
		{422, "orders", `{"content":{},"priority":20}`, "content", "object", ""},
		{422, "prices", `{"content":"a","range":"0s"}`, "range", "0s", "at least 1ms"},
		{422, "prices", `{"content":"a","range":"1m","extend":true}`, "ceiling", "not set", "larger than range where extend is set (for a message that any number of sends may move, use a fixed-time message with in)"},
		{422, "prices", `{"content":"a","range":"1m","extend":true,"ceiling":"1m"}`, "ceiling", "1m0s", "larger than range, which is 1m0s"},
		{422, "prices", `{"content":"a","range":"1m","ceiling":"1m"}`, "ceiling", "1m0s", "0 where extend is not set"},
		{422, "prices", `{"content":"a","in":"1m"}`, "range", "in given", "a range, and nothing else"},
		{422, "mails", `{"content":"a","in":"1m","content":"b"}`, "content", "there twice", "there once"},
		{422, "mails", `{"content":"a","In":"1m"}`, "In", "unknown", "a field that is known here"},
		{422, "mails", `{"content":"a","in":"1m","at":"2040-01-31T15:04:05Z"}`, "in", "in and at given", "a time, either in or at"},
		{422, "mails", `{"content":"a","at":"2040-01-31T15:04:05"}`, "at", "2040-01-31T15:04:05", "a time such as"},
		{422, "mails", `{"content":"a","at":"1999-01-31T15:04:05Z"}`, "at", "1999-01-31T15:04:05Z", "in the year 2000 at the earliest"},
		{422, "mails", `{"content":"a","in":"1m","headers":{"":"b"}}`, "headers", "an empty key", "with a name"},
		{422, "mails", `{"content":"a","in":"1m","headers":["a"]}`, "headers", "array", ""},
		{422, "mails", `{"content":"a","in":"1m","headers":{"a":7}}`, "headers", "number", ""},
		{422, "mails", `{"content":"a","in":"1m","ttl":"1m"}`, "ttl", "1m0s", "longer than the message waits"},
		{422, "orders", `{"messages":[]}`, "messages", "empty", "1 to 1000"},
		{422, "orders", `{"messages":{}}`, "messages", "something else", "an array"},
		{422, "orders", `{"messages":[` + strings.Repeat("{},", 1000) + `{}]}`, "messages", "more than 1000", "1 to 1000"},
		{422, "orders", `{"messages":[{"content":"a","priority":20}],"content":"b"}`, "content", "", ""},
		{422, "orders", `{"content":"a","priority":20,"kind":"stack"}`, "kind", "stack", "range-merge, priority or fixed-time"},
		{409, "orders", `{"content":"a","priority":20,"kind":"fixed-time"}`, "kind", "fixed-time", "priority"},
		{409, "orders", `{"content":"a","priority":20,"slots":8}`, "slots", "8", "64"},
		{409, "orders", `{"content":"a","priority":20,"notes":true}`, "notes", "true", "false"},
		{409, "orders", `{"content":"a","priority":20,"literal":true}`, "literal", "true", "false"},
		{422, "new", `{"content":"a","priority":20,"kind":"priority","slots":3}`, "slots", "3", "a power of two"},
		{422, "new", `{"content":"a","priority":20,"kind":"priority","slots":0}`, "slots", "0", "a power of two"},
		{422, "n%7Bew", `{"content":"a","priority":20,"kind":"priority"}`, "topic", `"n{ew"`, "free of"},
		{404, "new", `{"content":"a","priority":20,"slots":4}`, "", "", ""},
		{404, "n%FFw", `{"content":"a","priority":20}`, "", "", ""},
		{400, "orders", ``, "", "", ""},
		{400, "orders", `{`, "", "", ""},
		{400, "orders", `{"messages":[{`, "", "", ""},
		{400, "orders", `{"messages":[{}`, "", "", ""},
		{400, "orders", `{"messages":[{}]`, "", "", ""},
		{400, "orders", `{"messages":[{"content":"a","priority":20}],"messages":[]}`, "", "", ""},
		{400, "orders", `[]`, "", "", ""},
		{400, "orders", `"a"`, "", "", ""},
		{400, "orders", `{"content":"a","priority":20}{}`, "", "", ""},
		{400, "orders", `{"content":"a","priority":020}`, "", "", ""},
		{400, "orders", "{\"content\":\"\xff\",\"priority\":20}", "", "", ""},
		{400, "orders", `{"content":"\ud800","priority":20}`, "", "", ""},
		{400, "orders", `{"messages":[{"content":"\ud800","priority":20}]}`, "", "", ""},
		{413, "orders", deep, "", "", "65536 bytes"},
		{400, "orders", deep[:60_000], "", "", ""},
		{413, "orders", `{"content":"` + strings.Repeat("a", 64<<10) + `","priority":20}`, "", "", "65536 bytes"},
	} {
		p := s.wrong(c.status, "POST", "/v1/topics/"+c.topic+"/messages", c.body)
		text := func(name string) string { x, _ := p[name].(string); return x }
		if text("field") != c.field || !strings.HasPrefix(text("value"), c.value) || !strings.HasPrefix(text("limit"), c.limit) || len(text("value")) > 600 {
			t.Errorf("%.100s: %v", c.body, p)
		}
	}
	if p := s.wrong(415, "POST", "/v1/topics/orders/messages", `a=b`, map[string]string{"Content-Type": "text/plain"}); p["limit"] != "application/json or application/x-ndjson" {
		t.Error(p)
	}
	for _, name := range []string{"orders", "prices", "mails"} {
		for e, err := range s.inspector.Peek(ctx, name, inspector.Waiting, nil, 1) {
			must.Do(t, err)
			t.Errorf("%s has %+v", name, e)
		}
	}
	if _, err := s.inspector.Topic(ctx, "new"); err == nil {
		t.Error("it is defined")
	}
}

func TestQueueFull(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(cfg *Config) { cfg.MaxWaitingPerSlot = 2 })
	const path = "/v1/topics/orders/messages"
	many := func(contents ...string) map[string]any {
		var all []any
		for _, content := range contents {
			all = append(all, map[string]any{"content": content, "priority": 20})
		}
		return map[string]any{"kind": "priority", "slots": 1, "messages": all}
	}
	got := s.ask(200, "POST", path, many("a", "b", "c"))
	if p := got["results"].([]any)[2].(map[string]any)["error"].(map[string]any); got["stored"] != 2.0 || p["type"] != "urn:rmq:queue-full" || p["status"] != 429.0 {
		t.Error(got)
	}
	p := s.ask(429, "POST", path, map[string]any{"content": "c", "priority": 20})
	if p["type"] != "urn:rmq:queue-full" || p["uncertain"] != nil {
		t.Error(p)
	}
	s.ask(429, "POST", path, many("d", "e")) // where nothing else happened, that is the answer
	s.ask(200, "POST", path, many("a", "d"))
	s.ask(200, "POST", path, map[string]any{"content": "b", "priority": 30})
}

// What is stored here, clients with the usual limit would have sent, too.
func TestContentsAreBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for size, status := range map[int]int{262_144: 201, 262_145: 422} {
		p := s.ask(status, "POST", "/v1/topics/orders/messages", map[string]any{"content": strings.Repeat("x", size), "priority": 20, "kind": "priority"})
		if status == 422 && (p["field"] != "content" || !strings.Contains(p["limit"].(string), "262144 bytes")) {
			t.Error(p)
		}
	}
}

// A field in other letters, or there twice, is an error of its message alone; and so is a content that is too long.
func TestOneWrongMessageStopsNoOther(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	body := `{"kind":"fixed-time","messages":[{"content":"a","in":"1m","In":"2m"},{"content":"b","in":"1m"},{"content":"c","in":"1m","in":"2m"},{"content":"` + strings.Repeat("x", 262_145) + `","in":"1m"}]}`
	p := s.wrong(200, "POST", "/v1/topics/mails/messages", body)
	if p["stored"] != 1.0 || p["failed"] != 3.0 {
		t.Error(p)
	}
	for n, field := range []string{"In", "", "in", "content"} {
		is, _ := p["results"].([]any)[n].(map[string]any)["error"].(map[string]any)
		if field != "" && is["field"] != field || field == "" && is != nil {
			t.Errorf("message %d: %v", n, is)
		}
	}
}
