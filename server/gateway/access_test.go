package gateway

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/server/tokens"
)

// guarded is a site with tokens by the names of their holders.
func guarded(t testing.TB, holders map[string]tokens.Holder, adjust ...func(*Config)) (*site, map[string]string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens.json")
	of := map[string]string{}
	for name, h := range holders {
		h.Name = name
		token, err := tokens.Add(path, h)
		must.Do(t, err)
		of[name] = token
	}
	file, err := tokens.Open(path)
	must.Do(t, err)
	s := newSite(t, append(adjust, func(cfg *Config) { cfg.Tokens = file })...)
	return s, of
}

func TestTokens(t *testing.T) {
	t.Parallel()
	s, of := guarded(t, map[string]tokens.Holder{
		"worker": {Rights: []tokens.Right{tokens.Take}, Topics: []string{"orders"}},
		"shop":   {Rights: []tokens.Right{tokens.Send}, Topics: []string{"*"}},
	})
	bills := message.Topic{Name: "bills", Kind: message.KindPriority, Slots: 1}
	s.send(orders, message.Priority{Content: "1", Priority: 100})
	s.send(bills, message.Priority{Content: "1", Priority: 100})
	take := map[string]any{"topics": []string{"orders"}, "wait": "20s"}
	for _, header := range []string{"", "Bearer", "Bearer ", "Bearer x", "Basic " + of["worker"], of["worker"], "Bearer " + of["worker"] + "x"} {
		p := s.wrong(401, "POST", "/v1/take", take, map[string]string{"Authorization": header})
		if p["type"] != "urn:rmq:unauthorized" || !strings.Contains(p["detail"].(string), "Authorization: Bearer TOKEN") {
			t.Error(p)
		}
	}
	s.token = of["shop"]
	if p := s.wrong(403, "POST", "/v1/take", take); p["detail"] != `the token "shop" lacks the right "take": add it to the file of tokens, and send SIGHUP to rmqd` {
		t.Error(p)
	}
	s.token = of["worker"]
	held := s.ask(200, "POST", "/v1/take", take)
	both := map[string]any{"topics": []string{"orders", "bills"}}
	if p := s.wrong(403, "POST", "/v1/take", both); !strings.Contains(p["detail"].(string), `lacks the right "take" at topic "bills"`) {
		t.Error(p)
	}
	// A client that gets hold of a receipt may not finish another's batch with it.
	file := s.Gateway.cfg.Tokens
	s.token = of["shop"]
	s.wrong(403, "POST", "/v1/finish", map[string]any{"receipt": held["receipt"]})
	s.token = of["worker"]
	s.ask(200, "POST", "/v1/finish", map[string]any{"receipt": held["receipt"]})
	anyone := siteOn(t, s.rdb)
	other := anyone.ask(200, "POST", "/v1/take", map[string]any{"topics": []string{"bills"}, "wait": "20s"})
	for _, path := range []string{"/v1/finish", "/v1/fail", "/v1/extend"} {
		s.wrong(403, "POST", path, map[string]any{"receipt": other["receipt"]})
	}
	if file.Find(of["worker"]) == nil {
		t.Error("the token does not count any more")
	}
	// The description of the calls needs none.
	s.token = ""
	s.ask(200, "GET", "/openapi.json", nil)
}

// The pace of a token is that of its requests, whoever makes them, and no other token suffers.
func TestRequestsPerSecond(t *testing.T) {
	t.Parallel()
	a := newAccess(Config{RequestsPerSecond: 10})
	now := time.Now()
	for range 20 { // the most that may be saved up
		if w := a.wait("shop", now); w != 0 {
			t.Fatal(w)
		}
	}
	if w := a.wait("shop", now); w != 100*time.Millisecond {
		t.Error(w)
	}
	if w := a.wait("worker", now); w != 0 {
		t.Error("another token waits", w)
	}
	now = now.Add(time.Second)
	for n := range 11 {
		if w := a.wait("shop", now); (w == 0) != (n < 10) {
			t.Error(n, w)
		}
	}
	if w := a.wait("shop", now.Add(-time.Hour)); w <= 0 { // a clock that goes back gives nothing
		t.Error(w)
	}

	s, of := guarded(t, map[string]tokens.Holder{"worker": {Rights: []tokens.Right{tokens.Take}, Topics: []string{"*"}}},
		func(cfg *Config) { cfg.RequestsPerSecond = 0.001 })
	s.token = of["worker"]
	s.wrong(404, "POST", "/v1/take", map[string]any{"topics": []string{"orders"}})
	p := s.wrong(429, "POST", "/v1/take", map[string]any{"topics": []string{"orders"}})
	if p["type"] != "urn:rmq:too-many" || !strings.Contains(p["detail"].(string), `the token "worker" may make 0.001 requests a second; ask again in `) {
		t.Error(p)
	}
	req, err := http.NewRequest("POST", s.url+"/v1/take", strings.NewReader("{}"))
	must.Do(t, err)
	req.Header.Set("Authorization", "Bearer "+s.token)
	res, err := http.DefaultClient.Do(req)
	must.Do(t, err)
	res.Body.Close()
	if after := res.Header.Get("Retry-After"); after == "" || after == "0" {
		t.Errorf("Retry-After is %q", after)
	}
}

// The answer to a wrong request says what to do.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(cfg *Config) { cfg.MaxBody = 4 << 10; cfg.MaxWaiting = 1 })
	s.send(orders, message.Priority{Content: "1", Priority: 100})
	receipt := s.ask(200, "POST", "/v1/take", map[string]any{"topics": []string{"orders"}, "wait": "20s"})["receipt"]
	for _, c := range []struct {
		status             int
		method, path, body string
		says, field        string
	}{
		{400, "POST", "/v1/take", ``, "the body is empty", ""},
		{400, "POST", "/v1/take", `{`, "the JSON object has no end", ""},
		{400, "POST", "/v1/take", `[]`, "not a JSON object, but an array", ""},
		{400, "POST", "/v1/take", `{"topics":["orders"]} x`, "behind the JSON object", ""},
		{400, "POST", "/v1/take", "{\"topics\":[\"\xff\"]}", "not UTF-8", ""},
		{400, "POST", "/v1/take", `{"topics":[orders]}`, "not JSON", ""},
		{422, "POST", "/v1/take", `{"topics":"orders"}`, "topics is a string", "topics"},
		{422, "POST", "/v1/take", `{}`, "topics is missing; it must be 1 to 100 names", "topics"},
		{422, "POST", "/v1/take", `{"topic":"orders"}`, `there is no field "topic" here`, "topic"},
		{422, "POST", "/v1/take", `{"topics":["orders"],"most":257}`, "most is 257; it must be 1 to 256", "most"},
		{422, "POST", "/v1/take", `{"topics":["orders"],"ttr":"1ms"}`, "ttr is 1ms; it must be from 1s to 12h", "ttr"},
		{422, "POST", "/v1/take", `{"topics":["orders"],"ttr":60}`, `ttr is a number; it must be a text such as "90s"`, "ttr"},
		{422, "POST", "/v1/take", `{"topics":["orders"],"wait":"61s"}`, "wait is 61s; it must be at most 60s", "wait"},
		{422, "POST", "/v1/take", `{"topics":["orders"],"wait":"soon"}`, "wait is soon; it must be a duration such as 90s", "wait"},
		{404, "POST", "/v1/take", `{"topics":["nothing"]}`, `no such topic; the first send to it makes it; a new topic needs a kind, once: {"kind": "priority"}`, ""},
		{422, "POST", "/v1/finish", `{}`, "receipt is missing; it must be the receipt of a take", "receipt"},
		{422, "POST", "/v1/extend", `{}`, "receipt is missing", "receipt"},
		{422, "POST", "/v1/finish", `{"receipt":"x"}`, "receipt is another text; it must be the receipt of a take", "receipt"},
		{422, "POST", "/v1/finish", `{"receipt":"RECEIPT","results":[{"outcome":"good"}]}`, "results[0].outcome is good; it must be failed, dead, later or not_started", "results[0].outcome"},
		{422, "POST", "/v1/finish", `{"receipt":"RECEIPT","results":[{"outcome":"failed","content":"2"}]}`, `must be that of a message of the batch`, "content"},
		{422, "POST", "/v1/finish", `{"receipt":"RECEIPT","results":[{"outcome":"failed","content":7}]}`, "content is a number", "results.content"},
		{422, "POST", "/v1/finish", `{"receipt":"RECEIPT","results":[{"outcome":"failed","content":"1","content_base64":"MQ=="}]}`, "missing where there is a content", "results[0].content_base64"},
		{422, "POST", "/v1/fail", `{"receipt":"RECEIPT","outcome":"later"}`, "1ms or more", "in"},
		{422, "POST", "/v1/fail", `{"receipt":"RECEIPT","outcome":"dead","in":"1m"}`, "missing where the outcome is dead", "in"},
		{404, "GET", "/", ``, "GET /openapi.json lists those that there are", ""},
		{404, "GET", "/v2/take", ``, "there is no path", ""},
		{405, "GET", "/v1/take", ``, "GET is not possible here; POST is", ""},
		{413, "POST", "/v1/take", `{"topics":["` + strings.Repeat("x", 5<<10) + `"]}`, "larger than 4096 bytes", ""},
	} {
		body := strings.ReplaceAll(c.body, "RECEIPT", receipt.(string))
		p := s.wrong(c.status, c.method, c.path, body)
		field, _ := p["field"].(string)
		if !strings.Contains(p["detail"].(string), c.says) || field != c.field || p["title"] == "" {
			t.Errorf("%s %s %.100s: %v", c.method, c.path, body, p)
		}
	}
	p := s.wrong(415, "POST", "/v1/take", `topics=orders`, map[string]string{"Content-Type": "application/x-www-form-urlencoded"})
	if p["limit"] != "application/json" || !strings.Contains(p["detail"].(string), "curl --json in place of -d") {
		t.Error(p)
	}
	// One place is there for those who wait.
	s.takes.waiting <- struct{}{}
	p = s.wrong(429, "POST", "/v1/take", `{"topics":["orders"],"wait":"1s"}`)
	if !strings.Contains(p["detail"].(string), "1 requests wait for messages already") {
		t.Error(p)
	}
	<-s.takes.waiting
}

// A holder who may see only some topics learns which one does not exist, and no name of
// another one.
func TestUnknownTopicOfSome(t *testing.T) {
	t.Parallel()
	s, of := guarded(t, map[string]tokens.Holder{"shop": {Rights: []tokens.Right{tokens.Send, tokens.Take, tokens.Look}, Topics: []string{"orders*"}}},
		func(cfg *Config) { cfg.SDMQ = true })
	s.send(message.Topic{Name: "secret", Kind: message.KindPriority, Slots: 1}, message.Priority{Content: "1", Priority: 100})
	s.token = of["shop"]
	for detail, p := range map[string]map[string]any{
		"topic orders9: no such topic": s.ask(404, "POST", "/v1/take", map[string]any{"topics": []string{"orders9"}}),
		`there is no topic "orders9"`:  s.ask(404, "GET", "/v1/topics/orders9", nil),
		"there is no such topic":       {"detail": s.ask(404, "GET", "/delete?jobId="+jobID("orders9", "a"), nil)["message"]},
	} {
		if text := p["detail"].(string); !strings.Contains(text, detail) || strings.Contains(text, "secret") {
			t.Errorf("%s, want %s", text, detail)
		}
	}
}

// A page of another site cannot have the browser of somebody on this machine change anything.
func TestPagesOfOtherSites(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(cfg *Config) { cfg.SDMQ = true })
	s.send(orders, message.Priority{Content: "1", Priority: 100})
	for _, from := range []map[string]string{{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://elsewhere.example"}} {
		for _, path := range []string{"POST /v1/topics/orders/pause", "POST /v1/take", "GET /get/orders", "GET /delete?jobId=orders:MQ"} {
			method, path, _ := strings.Cut(path, " ")
			p := s.wrong(403, method, path, nil, from)
			if !strings.Contains(fmt.Sprint(p), "a page of another site asks for this") || strings.HasPrefix(path, "/v1") && p["type"] != "urn:rmq:other-site" {
				t.Errorf("%s %s: %v", method, path, p)
			}
		}
	}
	if slots, err := s.inspector.Slots(ctx, "orders"); err != nil || !slots[0].Paused.IsZero() {
		t.Error("it is paused", err)
	}
	s.wrong(200, "GET", "/v1/topics", nil, map[string]string{"Sec-Fetch-Site": "cross-site"}) // the browser does not show it to the page
	s.ask(200, "POST", "/v1/topics/orders/pause", nil)
}
