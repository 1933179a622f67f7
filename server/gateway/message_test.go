package gateway

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
)

func TestDefine(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const path = "/v1/topics/or%20ders"
	if d := s.ask(201, "PUT", path, map[string]any{"kind": "fixed-time", "notes": true}); d["topic"] != "or ders" || d["slots"] != 64.0 || d["notes"] != true || d["literal"] != false {
		t.Error(d)
	}
	s.ask(200, "PUT", path, map[string]any{"kind": "fixed-time"})
	s.ask(200, "PUT", path, map[string]any{"kind": "fixed-time", "slots": 64, "literal": false, "notes": true})
	for field, body := range map[string]map[string]any{
		"kind":    {"kind": "priority"},
		"slots":   {"kind": "fixed-time", "slots": 32},
		"literal": {"kind": "fixed-time", "literal": true},
		"notes":   {"kind": "fixed-time", "notes": false},
	} {
		p := s.ask(409, "PUT", path, body)
		if p["field"] != field || !strings.Contains(p["detail"].(string), "{kind: fixed-time, slots: 64, literal: false, notes: true}") {
			t.Error(p)
		}
	}
	s.wrong(422, "PUT", path, `{}`)
	s.wrong(422, "PUT", path, `{"kind":"stack"}`)
	s.wrong(422, "PUT", "/v1/topics/x%7B", `{"kind":"priority"}`)
	s.wrong(415, "PUT", path, `{}`, map[string]string{"Content-Type": "text/plain"})
}

// A topic that was deleted and defined anew is not taken for the old one.
func TestTopicDefinedAnew(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const path = "/v1/topics/orders/messages"
	s.ask(201, "POST", path, map[string]any{"content": "a", "priority": 20, "kind": "priority", "slots": 4})
	s.ask(200, "POST", path, map[string]any{"content": "a", "priority": 20})
	must.Do(t, s.rdb.FlushAll(ctx).Err())
	anew := message.Topic{Name: "orders", Kind: message.KindFixedTime, Slots: 8}
	s.send(anew, message.FixedTime{Content: "b", In: time.Hour})
	other := siteOn(t, s.rdb) // its producer compares the definition at its first send
	other.sends.defined.byName.Store("orders", remembered{message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 4}, time.Now().Add(time.Hour)})
	if p := other.ask(422, "POST", path, map[string]any{"content": "a", "priority": 20}); p["field"] != "in" {
		t.Error(p)
	}
	other.ask(201, "POST", path, map[string]any{"content": "a", "in": "1h"})
	if p := s.ask(409, "PUT", "/v1/topics/orders", map[string]any{"kind": "priority"}); p["limit"] != "fixed-time" { // it does not go by what it remembers
		t.Error(p)
	}
}

// Once the topic is known, a send costs Redis nothing beside the send.
func TestNoFurtherCommands(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	begun := time.Now() // a topic is known for half a minute
	const path = "/v1/topics/orders/messages"
	s.ask(201, "POST", path, map[string]any{"content": "a", "priority": 20, "kind": "priority", "slots": 1})
	s.ask(200, "POST", path, map[string]any{"content": "a", "priority": 21})
	must.Do(t, s.rdb.ConfigResetStat(ctx).Err())
	n := 0
	for ; n < 100 && (n == 0 || time.Since(begun) < 10*time.Second); n++ {
		s.ask(200, "POST", path, map[string]any{"content": "a", "priority": 20 + n})
	}
	info := s.rdb.Info(ctx, "commandstats").Val()
	for _, line := range strings.Split(info, "\r\n") {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":")
		switch {
		case !strings.HasPrefix(line, "cmdstat_"):
		case strings.HasPrefix(line, fmt.Sprintf("cmdstat_zadd:calls=%d,", n)):
		case name == "info", name == "config|resetstat", name == "publish", name == "client|setinfo", name == "hello":
		default:
			t.Errorf("%s", line)
		}
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const path = "/v1/topics/orders/messages"
	at := func(content string) string { return path + "?" + url.Values{"content": {content}}.Encode() }
	s.ask(404, "GET", at("a"), nil)
	s.ask(404, "DELETE", at("a"), nil)
	s.ask(404, "PATCH", at("a"), map[string]any{"priority": 20})
	s.ask(201, "PUT", "/v1/topics/orders", map[string]any{"kind": "priority", "slots": 16})
	if p := s.ask(404, "GET", at("a&b=c d"), nil); p["type"] != "urn:rmq:not-found" {
		t.Error(p)
	}
	s.ask(201, "POST", path, map[string]any{"content": "a&b=c d", "priority": 20})
	found := s.ask(200, "GET", at("a&b=c d"), nil)["found"].([]any)[0].(map[string]any)
	if w := found["waiting"].(map[string]any); w["state"] != "waiting" || w["priority"] != 20.0 || len(found["waits_for"].([]any)) == 0 {
		t.Error(found)
	}
	if e := s.ask(200, "PATCH", at("a&b=c d"), map[string]any{"priority": 900}); e["priority"] != 900.0 || e["topic"] != "orders" {
		t.Error(e)
	}
	if p := s.ask(422, "PATCH", at("a&b=c d"), map[string]any{"in": "1h"}); p["field"] != "in" || !strings.Contains(p["limit"].(string), "a priority") {
		t.Error(p)
	}
	// In several slots it is not known which is meant.
	s.ask(201, "POST", path, map[string]any{"content": "twin", "priority": 20, "basis": "1"})
	s.ask(201, "POST", path, map[string]any{"content": "twin", "priority": 20, "basis": "2"})
	if p := s.ask(409, "DELETE", at("twin"), nil); !strings.Contains(p["detail"].(string), "give the basis") {
		t.Error(p)
	}
	s.ask(409, "PATCH", at("twin"), map[string]any{"priority": 30})
	if found := s.ask(200, "GET", at("twin"), nil)["found"].([]any); len(found) != 2 {
		t.Error(found)
	}
	if r := s.ask(200, "DELETE", at("twin")+"&basis=1", nil); r["removed"] != true || r["in_flight"] != false || r["content"] != "twin" {
		t.Error(r)
	}
	if r := s.ask(200, "DELETE", at("twin")+"&basis=1", nil); r["removed"] != false {
		t.Error(r)
	}
	// One in flight is not moved, but its worker is asked to stop.
	s.ask(200, "DELETE", at("twin"), nil)
	held := s.ask(200, "POST", "/v1/take", map[string]any{"topics": []string{"orders"}, "wait": "20s"})
	if p := s.ask(409, "PATCH", at("a&b=c d"), map[string]any{"priority": 30}); !strings.Contains(p["detail"].(string), "in flight") {
		t.Error(p)
	}
	if found := s.ask(200, "GET", at("a&b=c d"), nil)["found"].([]any)[0].(map[string]any); found["in_flight"].(map[string]any)["attempt"] != 1.0 {
		t.Error(found)
	}
	if r := s.ask(200, "DELETE", at("a&b=c d"), nil); r["removed"] != false || r["in_flight"] != true {
		t.Error(r)
	}
	// What waits for its retry has a time.
	s.ask(201, "POST", path, map[string]any{"content": "failing", "priority": 50})
	s.ask(200, "POST", "/v1/finish", map[string]any{"receipt": held["receipt"]})
	held = s.ask(200, "POST", "/v1/take", map[string]any{"topics": []string{"orders"}, "wait": "20s"})
	s.ask(200, "POST", "/v1/fail", map[string]any{"receipt": held["receipt"], "in": "1h", "why": "no \x00 stock"})
	found = s.ask(200, "GET", at("failing"), nil)["found"].([]any)[0].(map[string]any)
	if found["retrying"].(map[string]any)["attempt"] != 2.0 || found["failure"].(map[string]any)["reason"] != "no \x00 stock" {
		t.Error(found)
	}
	for _, body := range []map[string]any{{"in": "2h"}, {"at": "2040-01-31T15:04:05Z"}, {"in": "0"}} {
		if e := s.ask(200, "PATCH", at("failing"), body); e["state"] != "retrying" || e["attempt"] != 2.0 {
			t.Error(e)
		}
	}

	for _, c := range []struct {
		query, body, field string
	}{
		{"", `{"in":"1h"}`, "content"},
		{"content=a&content_base64=YQ==", `{"in":"1h"}`, "content"},
		{"content=a&content=b", `{"in":"1h"}`, "content"},
		{"content=", `{"in":"1h"}`, "content"},
		{"content_base64=%3F", `{"in":"1h"}`, "content_base64"},
		{"content=a&base=b", `{"in":"1h"}`, "base"},
		{"content=a", `{}`, "in"},
		{"content=a", `{"in":"1h","priority":20}`, "priority"},
		{"content=a", `{"in":"1h","at":"2040-01-31T15:04:05Z"}`, "at"},
		{"content=a", `{"in":"soon"}`, "in"},
		{"content=a", `{"in":"1us"}`, "in"},
		{"content=a", `{"at":"2040-01-31"}`, "at"},
		{"content=a", `{"at":"1999-01-31T15:04:05Z"}`, "at"},
		{"content=a", `{"priority":0}`, "priority"},
		{"content=a", `{"priority":16}`, "priority"},
		{"content=a", `{"prority":20}`, "prority"},
	} {
		if p := s.wrong(422, "PATCH", path+"?"+c.query, c.body); p["field"] != c.field {
			t.Errorf("%s %s: %v", c.query, c.body, p)
		}
		if !strings.HasPrefix(c.query, "content=a") || c.query != "content=a" {
			s.wrong(422, "GET", path+"?"+c.query, nil)
			s.wrong(422, "DELETE", path+"?"+c.query, nil)
		}
	}
	s.wrong(400, "GET", path+"?content=%zz", nil)
	s.ask(201, "PUT", "/v1/topics/mails", map[string]any{"kind": "fixed-time"})
	if p := s.ask(422, "PATCH", "/v1/topics/mails/messages?content=a", map[string]any{"priority": 20}); p["field"] != "priority" {
		t.Error(p)
	}
}
