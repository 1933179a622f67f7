package console

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
	"github.com/slotmq/go-rmq/server/tokens"
)

// sendTo sends messages to a topic of 4 slots.
func sendTo(t *testing.T, s *servertest.Server, topic string, contents ...string) {
	t.Helper()
	p, err := producer.New(s.Client(t), producer.Config{})
	must.Do(t, err)
	batch := make([]message.Message, len(contents))
	for n, content := range contents {
		batch[n] = message.FixedTime{Content: content, In: time.Hour}
	}
	_, err = p.SendBatch(ctx, message.Topic{Name: topic, Kind: message.KindFixedTime, Slots: 4}, batch)
	must.Do(t, err)
	must.Do(t, p.Close(ctx))
}

// find asks where a message is, and returns the page that answers and its text.
func find(t *testing.T, at string, q url.Values) (page, text string) {
	t.Helper()
	res, err := http.Get(at + "find?" + q.Encode())
	must.Do(t, err)
	defer res.Body.Close()
	text = textOf(t, res.Body)
	if res.StatusCode != http.StatusOK {
		t.Errorf("%v: %s %s", q, res.Status, text)
	}
	return strings.TrimPrefix(res.Request.URL.String(), at), text
}

// The whole content leads to the message, whatever its topic; a part of it leads to a choice.
func TestFind(t *testing.T) {
	t.Parallel()
	at, s := open(t, nil)
	sendTo(t, s, "mails", "mail to ann", "mail to bob", "order 1 is shipped", "same")
	sendTo(t, s, "sms", "same")
	k := protocol.KeysOf("mails", 3)
	must.Do(t, s.Client(t).ZAdd(ctx, k.Dead, z("mail to cid", time.Now())).Err())
	for _, c := range []struct {
		text, topic, page string
		has, lacks        []string
	}{
		{"order 1", "", "message?content=order+1&topic=orders", []string{"<h1>", "order 1", "In slot"}, nil},
		{"same", "", "find?content=same", []string{"It is in several topics", "topic=mails", "topic=sms"}, nil},
		{"same", "sms", "message?content=same&topic=sms", nil, nil},
		{"to ", "", "find?content=to+", []string{"exactly this content, in 3 topics. These have it as a part", "mail to ann", "mail to bob", "mail to cid", ">dead<"}, []string{"order 1"}},
		{"1", "mails", "find?content=1&topic=mails", []string{"order 1 is shipped", "in topic mails"}, []string{"topic=orders"}},
		{"none has this", "", "find?content=none+has+this", []string{"No message has this in its content, in 3 topics"}, nil},
	} {
		q := url.Values{"content": {c.text}}
		if c.topic != "" {
			q.Set("topic", c.topic)
		}
		page, text := find(t, at, q)
		if page != c.page {
			t.Errorf("%s at %q: page %s, not %s", c.text, c.topic, page, c.page)
		}
		for _, want := range c.has {
			if !strings.Contains(text, want) {
				t.Errorf("%s at %q: without %q: %s", c.text, c.topic, want, text)
			}
		}
		for _, no := range c.lacks {
			if strings.Contains(text, no) {
				t.Errorf("%s at %q: has %q", c.text, c.topic, no)
			}
		}
	}
	for q, status := range map[string]int{"content=": 422, "content=x&topic=none": 404} {
		if got, text := get(t, at+"find?"+q); got != status {
			t.Errorf("%s: %d %s", q, got, text)
		}
	}
}

// It says what it did not look at.
func TestFindSaysWhatItLeftOut(t *testing.T) {
	t.Parallel()
	at, s := open(t, nil)
	contents := make([]string, 0, 4*mostOfState)
	for n := range cap(contents) {
		contents = append(contents, fmt.Sprint("row ", n))
	}
	sendTo(t, s, "rows", contents...)
	if _, text := find(t, at, url.Values{"content": {"row"}}); !strings.Contains(text, "There are more") || !strings.Contains(text, "messages after the first 2,000") {
		t.Error(text)
	}
	must.Do(t, s.Client(t).Set(ctx, protocol.KeysOf("orders", 2).Store, "of a wrong type", 0).Err())
	if _, text := find(t, at, url.Values{"content": {"nowhere to be seen"}}); !strings.Contains(text, "orders slot 2") {
		t.Error(text)
	}
	for n := range 2 {
		_, err := s.Client(t).HSet(ctx, protocol.DefinitionKey(fmt.Sprint("wide", n)), "kind", "priority", "slots", mostAsked, "literal", 0, "notes", 0, "sharing", "", "layout", 1, "created", 1, "namespace", "").Result()
		must.Do(t, err)
		must.Do(t, s.Client(t).SAdd(ctx, "rmq:topics", fmt.Sprint("wide", n)).Err())
	}
	if _, text := find(t, at, url.Values{"content": {"in none of them"}}); !strings.Contains(text, "1 topic with too many slots") && !strings.Contains(text, "2 topics with too many slots") {
		t.Error(text)
	}
	must.Do(t, s.Client(t).Rename(ctx, protocol.DefinitionKey("wide0"), protocol.DefinitionKey("a-wide")).Err())
	must.Do(t, s.Client(t).SAdd(ctx, "rmq:topics", "a-wide").Err())
	if page, text := find(t, at, url.Values{"content": {"row 7"}}); !strings.Contains(page, "message?content=row+7") { // the small ones are asked first
		t.Error(page, text)
	}
}

// What may not be looked at is not found, and where contents are hidden they cannot be guessed.
func TestFindHides(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens.json")
	token, err := tokens.Add(path, tokens.Holder{Name: "ann", Rights: []tokens.Right{tokens.Look}, Topics: []string{"m*"}})
	must.Do(t, err)
	file, err := tokens.Open(path)
	must.Do(t, err)
	at, s := open(t, func(c *Config) { c.Tokens = file })
	sendTo(t, s, "mails", "mail 1")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"find?content=order", nil)
	must.Do(t, err)
	req.AddCookie(signedIn(t, at, token))
	res, err := http.DefaultClient.Do(req)
	must.Do(t, err)
	text := textOf(t, res.Body)
	res.Body.Close()
	if res.StatusCode != http.StatusOK || !strings.Contains(text, "No message has this in its content, in 1 topic.") {
		t.Errorf("%s %s", res.Status, text)
	}

	at, _ = open(t, func(c *Config) { c.HideContents = true })
	for content, want := range map[string]string{"order": "No message has exactly this content, in 1 topic", "order 1": "In slot"} {
		res, err := http.PostForm(at+"find", url.Values{"content": {content}})
		must.Do(t, err)
		if text := textOf(t, res.Body); !strings.Contains(text, want) || strings.Contains(text, "order 1") {
			t.Errorf("%s: %s %s", content, res.Status, text)
		}
		res.Body.Close()
	}
}
