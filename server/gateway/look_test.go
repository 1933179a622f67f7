package gateway

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/server/tokens"
)

var (
	prices  = message.Topic{Name: "prices", Kind: message.KindRangeMerge, Slots: 1}
	reports = message.Topic{Name: "reports", Kind: message.KindFixedTime, Slots: 2}
)

// objects are the elements of a list in an answer.
func objects(t testing.TB, answer map[string]any, name string) (all []map[string]any) {
	t.Helper()
	list, is := answer[name].([]any)
	if !is {
		t.Fatalf("no %s in %v", name, answer)
	}
	for _, one := range list {
		all = append(all, one.(map[string]any))
	}
	return all
}

// names are one field of each of them.
func names(t testing.TB, answer map[string]any, list, field string) (all []string) {
	t.Helper()
	for _, one := range objects(t, answer, list) {
		all = append(all, fmt.Sprint(one[field]))
	}
	return all
}

func want[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestLook(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	want(t, "no topics", len(objects(t, s.ask(200, "GET", "/v1/topics", nil), "topics")), 0)
	for n := range 8 {
		s.send(orders, message.Priority{Content: fmt.Sprint("order ", n), Priority: 500})
	}
	s.send(prices, message.RangeMerge{Content: "all prices", Range: 3600e9})
	s.send(reports, message.FixedTime{Content: "report", In: 3600e9})

	all := s.ask(200, "GET", "/v1/topics", nil)
	want(t, "topics", strings.Join(names(t, all, "topics", "topic"), " "), "orders prices reports")
	want(t, "more", all["more"], false)
	first := s.ask(200, "GET", "/v1/topics?limit=2", nil)
	want(t, "the first page", strings.Join(names(t, first, "topics", "topic"), " "), "orders prices")
	want(t, "more", first["more"], true)
	want(t, "the second page", strings.Join(names(t, s.ask(200, "GET", "/v1/topics?limit=2&after=prices", nil), "topics", "topic"), " "), "reports")

	one := s.ask(200, "GET", "/v1/topics/orders", nil)
	want[any](t, "waiting", one["waiting"], 8.0)
	want[any](t, "kind", one["kind"], "priority")
	want[any](t, "paused", one["paused_slots"], 0.0)

	slots := s.ask(200, "GET", "/v1/topics/orders/slots", nil)
	want(t, "slots", strings.Join(names(t, slots, "slots", "slot"), " "), "0 1 2 3")
	rest := s.ask(200, "GET", "/v1/topics/orders/slots?after=1&limit=1", nil)
	want(t, "slots behind 1", strings.Join(names(t, rest, "slots", "slot"), " "), "2")
	want(t, "more slots", rest["more"], true)

	held := s.ask(200, "POST", "/v1/take", map[string]any{"topics": []string{"orders"}, "wait": "20s"})
	workers := s.ask(200, "GET", "/v1/workers", nil)
	if takers := objects(t, workers, "workers"); len(takers) != 1 || takers[0]["taker"] != true {
		t.Errorf("no taker in %v", workers)
	}
	s.ask(200, "POST", "/v1/finish", map[string]any{"receipt": held["receipt"]})

	await.True(t, "the doctor has looked at all", func() bool { // within 2 s, which a busy machine may not make at once
		checks := names(t, s.ask(200, "GET", "/v1/doctor", nil), "checks", "check")
		return slices.Contains(checks, "connection") && slices.Contains(checks, "persistence")
	})
}

// What is asked wrongly is refused, with what is wrong and what it must be.
func TestLookWrongly(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.send(orders, message.Priority{Content: "1", Priority: 500})
	for _, path := range []string{"/v1/topics/order", "/v1/topics/order/slots", "/v1/topics/order/dead", "/v1/topics/order/recurring"} {
		p := s.wrong(404, "GET", path, nil)
		if p["type"] != "urn:rmq:unknown-topic" || !strings.Contains(p["detail"].(string), "PUT /v1/topics/TOPIC") {
			t.Errorf("%s: %v", path, p)
		}
	}
	for path, field := range map[string]string{
		"/v1/topics?limit=0": "limit", "/v1/topics?limit=1001": "limit", "/v1/topics?limit=x": "limit", "/v1/topics?limit=1&limit=2": "limit",
		"/v1/topics?befor=x": "befor", "/v1/topics/orders?x=y": "x", "/v1/topics/orders/slots?after=x": "after", "/v1/workers?limit=-1": "limit", "/v1/doctor?all=true": "all",
		"/v1/topics/orders/dead?limit=1001": "limit", "/v1/topics/orders/dead?content=%5B": "content", "/v1/topics/orders/dead?content_regex=%28": "content_regex",
		"/v1/topics/orders/dead?content=x&content_regex=y": "content", "/v1/topics/orders/dead?older_than=1y": "older_than", "/v1/topics/orders/dead?newer_than=0": "newer_than",
		"/v1/topics/orders/dead?died_before=now": "died_before", "/v1/topics/orders/dead?died_after=1": "died_after", "/v1/topics/orders/dead?slots=x": "slots",
		"/v1/topics/orders/dead?slots=4": "slots", "/v1/topics/orders/dead?content_base64=*": "content_base64",
	} {
		p := s.wrong(422, "GET", path, nil)
		if p["field"] != field || p["limit"] == nil {
			t.Errorf("%s: %v", path, p)
		}
	}
	s.wrong(400, "GET", "/v1/topics?a=%zz", nil)
}

// A token sees only the topics that it may look at, and hears of no other one.
func TestLookOnlyWhereAllowed(t *testing.T) {
	t.Parallel()
	s, of := guarded(t, map[string]tokens.Holder{
		"some": {Rights: []tokens.Right{tokens.Look}, Topics: []string{"ord*"}},
		"all":  {Rights: []tokens.Right{tokens.Look}, Topics: []string{"*"}},
		"act":  {Rights: []tokens.Right{tokens.Act}, Topics: []string{"orders"}},
	})
	s.send(orders, message.Priority{Content: "1", Priority: 500})
	s.send(reports, message.FixedTime{Content: "report", In: 3600e9})
	s.token = of["all"]
	want(t, "topics", strings.Join(names(t, s.ask(200, "GET", "/v1/topics", nil), "topics", "topic"), " "), "orders reports")
	s.ask(200, "GET", "/v1/doctor", nil)
	s.token = of["some"]
	want(t, "topics", strings.Join(names(t, s.ask(200, "GET", "/v1/topics", nil), "topics", "topic"), " "), "orders")
	s.ask(200, "GET", "/v1/workers", nil)
	for _, path := range []string{"/v1/topics/reports", "/v1/topics/reports/slots", "/v1/topics/reports/dead", "/v1/topics/reports/recurring", "/v1/doctor"} {
		s.wrong(403, "GET", path, nil)
	}
	if p := s.wrong(404, "GET", "/v1/topics/ordersx", nil); strings.Contains(p["detail"].(string), "reports") {
		t.Errorf("it names another topic: %v", p)
	}
	for _, path := range []string{"/v1/topics/orders/pause", "/v1/topics/orders/dead/requeue", "/v1/restore"} {
		s.wrong(403, "POST", path, map[string]any{})
	}
	s.token = of["act"]
	s.wrong(403, "GET", "/v1/topics/orders", nil)
	s.ask(200, "POST", "/v1/topics/orders/pause", nil)
	s.wrong(403, "POST", "/v1/topics/reports/pause", nil)
	s.wrong(403, "POST", "/v1/restore", map[string]any{})
	s.wrong(403, "POST", "/v1/restore", map[string]any{"topics": []string{"orders", "reports"}})
	s.wrong(409, "POST", "/v1/restore", map[string]any{"topics": []string{"orders"}}) // no journal
}

// A worker is shown with those of its topics only that who asks may look at.
func TestVisible(t *testing.T) {
	t.Parallel()
	s, of := guarded(t, map[string]tokens.Holder{"some": {Rights: []tokens.Right{tokens.Look}, Topics: []string{"orders"}}})
	c := &call{right: tokens.Look, holder: s.cfg.Tokens.Find(of["some"])}
	mixed := inspector.Worker{ID: "w", Assigned: map[string][]int{"orders": {1}, "secret": {2}}}
	if part := visible(c, mixed.Assigned); len(part) != 1 || part["orders"] == nil || !seesWorker(c, mixed) {
		t.Error(part)
	}
	if part := visibleRuns(c, []wire.Running{{Topic: "secret"}, {Topic: "orders"}}); len(part) != 1 || part[0].Topic != "orders" {
		t.Error(part)
	}
	gone := visibleGone(c, []inspector.Vanished{{Worker: "a", Topics: []string{"secret"}}, {Worker: "b", Topics: []string{"orders", "secret"}}})
	if len(gone) != 1 || gone[0].Worker != "b" || !slices.Equal(gone[0].Topics, []string{"orders"}) {
		t.Error(gone)
	}
	if seesWorker(c, inspector.Worker{ID: "w", Assigned: map[string][]int{"secret": {2}}}) {
		t.Error("a worker of other topics is shown")
	}
}

// A master of a Cluster that does not answer hides what it has, and nothing else; and that is said.
func TestLookWithoutAMaster(t *testing.T) {
	t.Parallel()
	c := servertest.Cluster(t, 3, 0)
	s := siteOn(t, c.Client(t))
	hanging := c.Nodes()[0]
	if hanging.Addr() == c.MasterOf(t, protocol.TopicsKey).Addr() {
		hanging = c.Nodes()[1]
	}
	var topic message.Topic
	for n := 0; topic.Name == ""; n++ {
		name := fmt.Sprint("orders", n)
		if c.MasterOf(t, protocol.DefinitionKey(name)) != hanging && c.MasterOf(t, protocol.WorkersKey(name)) != hanging {
			topic = message.Topic{Name: name, Kind: message.KindPriority, Slots: 16}
		}
	}
	s.bury(topic, 64)
	hidden := 0
	for slot := range topic.Slots {
		if c.MasterOf(t, protocol.KeysOf(topic.Name, slot).Store) == hanging {
			hidden++
		}
	}
	if hidden == 0 || hidden == topic.Slots {
		t.Fatalf("%d of the slots are at the master that hangs", hidden)
	}
	hanging.Pause()
	defer hanging.Resume()
	path := "/v1/topics/" + topic.Name
	for _, look := range []string{path, path + "/slots", path + "/dead?limit=1"} {
		answer := s.ask(200, "GET", look, nil)
		missing := objects(t, answer, "missing")
		if len(missing) != 1 || missing[0]["topic"] != topic.Name || missing[0]["server"] != hanging.Addr() || missing[0]["slots"] == nil {
			t.Errorf("%s: %v", look, answer["missing"])
		}
	}
	want(t, "slots", len(objects(t, s.ask(200, "GET", path+"/slots", nil), "slots")), topic.Slots-hidden)
	lines := s.lines(200, "GET", path+"/dead", nil)
	if last := lines[len(lines)-1]; last["missing"] == nil || len(lines) < 2 {
		t.Errorf("the last line is %v", last)
	}
	p := s.ask(503, "POST", path+"/pause", nil)
	if p["uncertain"] != true || !strings.Contains(p["detail"].(string), fmt.Sprintf("%d of 16 slots are paused", topic.Slots-hidden)) {
		t.Error(p)
	}
	hanging.Resume()
}

// Contents of all kinds come as they are, or in base64.
func TestHostileContents(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	contents := []string{
		"<script>alert(1)</script>", "\u202eabc\u200f", "\xff\xfe\x00", "a\nb\r\n\tc\x1b[31m", `"\` + "\u2028", strings.Repeat("x", 256<<10), "*[?\\", "{}/%2F",
	}
	var all []message.Message
	for _, content := range contents {
		all = append(all, message.Priority{Content: content, Priority: 500})
	}
	s.buryAll(orders, all)
	listed := map[string]bool{}
	for _, m := range objects(t, s.ask(200, "GET", "/v1/topics/orders/dead", nil), "messages") {
		listed[contentOf(t, m)] = true
	}
	for _, content := range contents {
		if !listed[content] {
			t.Errorf("%.40q is not listed", content)
		}
		if len(content) > 1000 {
			continue
		}
		for _, text := range []string{url.QueryEscape(inBase64(content)), inBase64(content), base64.RawURLEncoding.EncodeToString([]byte(content))} {
			path := "/v1/topics/orders/dead?content_base64=" + text
			if found := objects(t, s.ask(200, "GET", path, nil), "messages"); len(found) != 1 || contentOf(t, found[0]) != content {
				t.Errorf("%q: %v", content, found)
			}
		}
	}
	done := s.ask(200, "POST", "/v1/topics/orders/dead/requeue", map[string]any{"filter": map[string]any{"content_base64": inBase64("\xff\xfe\x00")}})
	want[any](t, "requeued", done["stored"], 1.0)
}

// Whatever stands in the path, no request is answered with 500, or panics.
func FuzzLook(f *testing.F) {
	rdb := servertest.Redis(f).Client(f)
	s := siteOn(f, redis.UniversalClient(rdb))
	s.bury(orders, 3)
	for _, seed := range []string{"content=*", "content=%5B^a-%5D", "limit=5&slots=0-3", "older_than=1s&newer_than=9d", "content_regex=%28a|b%29%2B", "died_before=2040-01-01", "%zz", "slots=0-65535", "content=%ff%00"} {
		f.Add("orders", seed)
	}
	f.Add("../x", "")
	f.Add("%2e%2e/\xff", "limit=1")
	f.Fuzz(func(t *testing.T, topic, query string) {
		for _, path := range []string{"", "/slots", "/dead", "/recurring"} {
			s.status(t, "GET", "/v1/topics/"+url.PathEscape(topic)+path, query)
		}
		s.status(t, "GET", "/v1/topics", query)
		s.status(t, "GET", "/v1/workers", query)
	})
}
