package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
)

func TestRequeueAndDelete(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.bury(orders, 40)
	const requeue, remove = "/v1/topics/orders/dead/requeue", "/v1/topics/orders/dead/delete"
	listed := s.ask(200, "GET", "/v1/topics/orders/dead?content=order+1*&limit=3", nil)
	first := objects(t, listed, "messages")[0]
	want(t, "listed", len(objects(t, listed, "messages")), 3)
	want[any](t, "more", listed["more"], true)
	want[any](t, "why", first["reason"], "<b>no such order</b>")
	want(t, "all", len(s.lines(200, "GET", "/v1/topics/orders/dead", nil)), 40)
	want(t, "of that reason", len(s.lines(200, "GET", "/v1/topics/orders/dead?reason=such+order&newer_than=1h&content_regex=%5Eorder+1.$", nil)), 10)
	want(t, "older", len(s.lines(200, "GET", "/v1/topics/orders/dead?older_than=1h", nil)), 0)

	would := s.ask(200, "POST", requeue, map[string]any{"filter": map[string]any{"content": "order 1?"}, "dry_run": true})
	want[any](t, "would requeue", would["would_requeue"], 10.0)
	done := s.ask(200, "POST", requeue, map[string]any{"filter": map[string]any{"content": "order 1?"}, "priority": 17, "rate": "1000/s"})
	if done["stored"] != 10.0 || done["of"] != 10.0 || done["done"] != true {
		t.Error(done)
	}
	want[any](t, "waiting", s.ask(200, "GET", "/v1/topics/orders", nil)["waiting"], 10.0)
	want[any](t, "limited", s.ask(200, "POST", requeue, map[string]any{"filter": map[string]any{}, "limit": 2})["stored"], 2.0)

	want[any](t, "would delete", s.ask(200, "POST", remove, map[string]any{"filter": map[string]any{}, "dry_run": true})["would_delete"], 28.0)
	want[any](t, "deleted", s.ask(200, "POST", remove, map[string]any{"filter": map[string]any{"content": "order 2*"}, "limit": 3})["deleted"], 3.0)
	lines := s.lines(200, "POST", remove, map[string]any{"filter": map[string]any{"reason": "no such"}})
	if last := lines[len(lines)-1]; last["deleted"] != 25.0 || last["of"] != 25.0 || last["done"] != true {
		t.Error(lines)
	}
	want[any](t, "dead", s.ask(200, "GET", "/v1/topics/orders", nil)["dead"], 0.0)
}

// A requeue says how far it is, and ends when who asked for it goes.
func TestRequeueEndsWithWhoAsked(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.bury(orders, 60)
	ctx, leave := context.WithCancel(await.Context(t))
	defer leave()
	req, err := http.NewRequestWithContext(ctx, "POST", s.url+"/v1/topics/orders/dead/requeue", strings.NewReader(`{"filter": {}, "rate": "10/s"}`))
	must.Do(t, err)
	req.Header.Set("Content-Type", request.JSON)
	req.Header.Set("Accept", request.Stream)
	res, err := http.DefaultClient.Do(req)
	must.Do(t, err)
	defer res.Body.Close()
	lines := json.NewDecoder(res.Body)
	var line requeued
	must.Do(t, lines.Decode(&line))
	if line.Done || line.Stored == 0 || line.Of != 60 {
		t.Errorf("%+v", line)
	}
	leave()
	for err == nil { // some lines may have come before
		err = lines.Decode(&line)
	}
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s.Gateway.Drain()
	must.Do(t, s.Gateway.Close(await.Context(t)))
	found, err := s.Gateway.inspector.Stats(await.Context(t), "orders")
	must.Do(t, err)
	if found.Dead == 0 {
		t.Error("it went on without who asked")
	}
}

func TestPauseLimitAndResume(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.send(orders, message.Priority{Content: "1", Priority: 500})
	path := "/v1/topics/orders"
	some := s.ask(200, "POST", path+"/pause", map[string]any{"slots": []int{3, 0, 3}})
	if some["slots"] != 2.0 || some["changed"] != 2.0 {
		t.Error(some)
	}
	all := s.ask(200, "POST", path+"/pause", nil)
	if all["slots"] != 4.0 || all["changed"] != 2.0 {
		t.Error(all)
	}
	want[any](t, "paused", s.ask(200, "GET", path, nil)["paused_slots"], 4.0)
	s.ask(204, "POST", "/v1/take", map[string]any{"topics": []string{"orders"}, "wait": "100ms"})
	want[any](t, "resumed", s.ask(200, "POST", path+"/resume", map[string]any{})["changed"], 4.0)

	limit := s.ask(200, "PUT", path+"/limit", map[string]any{"rate": "120/m", "concurrency": 4, "for": "1h"})["limit"].(map[string]any)
	if limit["rate_per_second"] != 2.0 || limit["concurrency"] != 4.0 || limit["for_ms"] != 3600e3 {
		t.Error(limit)
	}
	if s.ask(200, "GET", path, nil)["limit"] == nil {
		t.Error("the limit is not shown")
	}
	want[any](t, "ended", s.ask(200, "DELETE", path+"/limit", nil)["changed"], true)
	want[any](t, "ended again", s.ask(200, "DELETE", path+"/limit", nil)["changed"], false)
}

func TestRecurring(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.send(reports, message.FixedTime{Content: "report", In: 3600e9})
	path := "/v1/topics/reports/recurring"
	nightly := map[string]any{"content": "nightly", "cron": "0 3 * * *", "zone": "Europe/Berlin", "missed": "skip"}
	set := s.ask(200, "PUT", path+"/each%20night", nightly)
	if set["change"] != "added" || set["next"] == nil || set["name"] != "each night" || set["missed"] != "skip" {
		t.Error(set)
	}
	want[any](t, "again", s.ask(200, "PUT", path+"/each%20night", nightly)["change"], "kept")
	s.ask(200, "PUT", path+"/b", map[string]any{"content_base64": inBase64("\xff"), "delay": "1h", "period": "10s", "repeat": 5, "until": "2040-01-01T00:00:00Z"})
	all := s.ask(200, "GET", path, nil)
	want(t, "plans", strings.Join(names(t, all, "recurring", "name"), ","), "b,each night")
	if b := objects(t, all, "recurring")[0]; b["delay_ms"] != 3600e3 || b["period_ms"] != 10e3 || b["repeat"] != 5.0 || contentOf(t, b) != "\xff" {
		t.Error(b)
	}
	want(t, "behind b", strings.Join(names(t, s.ask(200, "GET", path+"?after=b", nil), "recurring", "name"), ","), "each night")
	want[any](t, "stopped", s.ask(200, "DELETE", path+"/b", nil)["stopped"], true)
	s.ask(404, "DELETE", path+"/b", nil)
}

// What is asked wrongly is refused, with what is wrong and what it must be, and nothing is done.
func TestActWrongly(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.bury(orders, 1)
	s.send(reports, message.FixedTime{Content: "report", In: 3600e9})
	o, r := "/v1/topics/orders", "/v1/topics/reports"
	all := map[string]any{}
	for _, c := range []struct {
		method, path string
		body         map[string]any
		field        string
	}{
		{"POST", o + "/dead/requeue", map[string]any{}, "filter"},
		{"POST", o + "/dead/requeue", map[string]any{"filter": all, "limit": -1}, "limit"},
		{"POST", o + "/dead/requeue", map[string]any{"filter": all, "rate": "much"}, "rate"},
		{"POST", o + "/dead/requeue", map[string]any{"filter": all, "rate": "2000000/s"}, "rate"},
		{"POST", o + "/dead/requeue", map[string]any{"filter": all, "priority": 16}, "priority"},
		{"POST", r + "/dead/requeue", map[string]any{"filter": all, "priority": 17}, "priority"},
		{"POST", o + "/dead/requeue", map[string]any{"filter": map[string]any{"content": "["}}, "filter.content"},
		{"POST", o + "/dead/requeue", map[string]any{"filter": map[string]any{"died_before": "2999-01-01T00:00:00Z"}}, "died_before"},
		{"POST", o + "/dead/requeue", map[string]any{"filter": map[string]any{"age": "1h"}}, "age"},
		{"POST", o + "/dead/requeue", map[string]any{"filter": map[string]any{"slots": []int{}}}, "filter.slots"},
		{"POST", o + "/dead/requeue", map[string]any{"filter": map[string]any{"slots": []int{9}}}, "slots"},
		{"POST", o + "/dead/delete", map[string]any{"filter": all, "rate": "1/s"}, "rate"},
		{"POST", o + "/dead/delete", map[string]any{"filter": all, "priority": 20}, "priority"},
		{"POST", o + "/dead/delete", map[string]any{}, "filter"},
		{"POST", o + "/pause", map[string]any{"slots": []int{}}, "slots"},
		{"POST", o + "/pause", map[string]any{"slots": []int{-1}}, "slots"},
		{"POST", o + "/pause", map[string]any{"slots": "0"}, "slots"},
		{"PUT", o + "/limit", map[string]any{"rate": "5/s"}, "for"},
		{"PUT", o + "/limit", map[string]any{"for": "1h"}, "rate"},
		{"PUT", o + "/limit", map[string]any{"for": "1h", "rate": "0"}, "rate"},
		{"PUT", o + "/limit", map[string]any{"for": "1h", "concurrency": 0}, "concurrency"},
		{"PUT", o + "/limit", map[string]any{"for": "10ms", "rate": "5/s"}, "for"},
		{"PUT", o + "/limit", map[string]any{"for": "90000d", "rate": "5/s"}, "for"},
		{"PUT", r + "/recurring/a", map[string]any{"cron": "@daily"}, "content"},
		{"PUT", r + "/recurring/a", map[string]any{"content": "x"}, "cron"},
		{"PUT", r + "/recurring/a", map[string]any{"content": "x", "cron": "@never"}, "cron"},
		{"PUT", r + "/recurring/a", map[string]any{"content": "x", "cron": "@daily", "zone": "Mars"}, "zone"},
		{"PUT", r + "/recurring/a", map[string]any{"content": "x", "cron": "@daily", "missed": "all"}, "missed"},
		{"PUT", r + "/recurring/a", map[string]any{"content": "x", "cron": "@daily", "priority": 20}, "priority"},
		{"PUT", r + "/recurring/a", map[string]any{"content": "x", "period": "ten"}, "period"},
		{"PUT", r + "/recurring/a", map[string]any{"content": "x", "period": "1s", "from": "soon"}, "from"},
		{"PUT", r + "/recurring/a", map[string]any{"content": "x", "period": "1s", "until": "2040-01-31 15:04"}, "until"},
		{"PUT", r + "/recurring/" + strings.Repeat("n", 201), map[string]any{"content": "x", "period": "1s"}, "name"},
		{"POST", "/v1/restore", map[string]any{"topics": []string{}}, "topics"},
		{"POST", "/v1/restore", map[string]any{"content": "x"}, "topics"},
		{"POST", "/v1/restore", map[string]any{"topics": []string{"orders"}, "content": ""}, "content"},
		{"POST", "/v1/restore", map[string]any{"since": "then"}, "since"},
		{"POST", "/v1/restore", map[string]any{"newer_than": "0"}, "newer_than"},
		{"POST", "/v1/restore", map[string]any{"rate": "0/s"}, "rate"},
	} {
		p := s.wrong(422, c.method, c.path, c.body)
		if p["field"] != c.field || p["limit"] == nil {
			t.Errorf("%s %s %v: %v", c.method, c.path, c.body, p)
		}
	}
	for _, path := range []string{"/dead/requeue", "/dead/delete"} {
		s.ask(404, "POST", "/v1/topics/other"+path, map[string]any{"filter": all})
		s.wrong(415, "POST", "/v1/topics/other"+path, "filter=x", map[string]string{"Content-Type": "application/x-www-form-urlencoded"})
		s.wrong(400, "POST", "/v1/topics/other"+path, "{")
	}
	s.ask(404, "POST", "/v1/topics/other/pause", nil)
	s.ask(404, "PUT", "/v1/topics/other/limit", map[string]any{"for": "1h", "rate": "5/s"})
	s.ask(404, "DELETE", "/v1/topics/other/limit", nil)
	s.ask(404, "PUT", "/v1/topics/other/recurring/a", map[string]any{"content": "x", "period": "1s"})
	s.ask(404, "DELETE", "/v1/topics/other/recurring/a", nil)
	if p := s.ask(409, "POST", "/v1/restore", map[string]any{}); !strings.Contains(p["detail"].(string), "--journal") {
		t.Error(p)
	}
	stats := s.ask(200, "GET", o, nil)
	if stats["dead"] != 1.0 || stats["paused_slots"] != 0.0 || stats["limit"] != nil {
		t.Error(stats)
	}
}
