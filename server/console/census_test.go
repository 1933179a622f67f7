package console

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/luascripts"
)

// Where there are many topics, each look counts some of them, until all have had their turn, and then those again that were
// counted the longest ago.
func TestManyTopics(t *testing.T) {
	t.Parallel()
	at, s := open(t, nil)
	i, err := inspector.New(s.Client(t), inspector.Config{})
	must.Do(t, err)
	const slots, many = 64, countSlots/64 + 100
	all := s.Client(t).Pipeline()
	for n := range many {
		name := fmt.Sprintf("topic-%03d", n)
		all.HSet(ctx, luascripts.DefinitionKey(name), "kind", "priority", "slots", slots, "literal", 0, "sharing", "redis", "layout", 1, "created", 1, "namespace", "")
		all.SAdd(ctx, "rmq:topics", name)
	}
	all.ZAdd(ctx, luascripts.KeysOf(fmt.Sprintf("topic-%03d", many-1), 7).Dead, z("m", time.Now()))
	_, err = all.Exec(ctx)
	must.Do(t, err)

	c := newCensus()
	look := func() (stats, uncounted int, oldest time.Time) {
		t.Helper()
		topics, err := i.Topics(ctx)
		must.Do(t, err)
		must.Do(t, c.count(ctx, i, topics))
		counted, _, left, oldest := c.of(topics)
		return len(counted), len(left), oldest
	}
	const atOnce = countSlots / slots
	first, left, _ := look()
	if first < 1 || first > atOnce+1 || first+left != many+1 {
		t.Fatalf("the first look has counted %d, and %d are left", first, left)
	}
	then, last, oldest := time.Now(), first, time.Time{}
	for left > 0 { // twice, but on a machine that is very slow
		then = time.Now()
		before := last
		if last, left, oldest = look(); last <= before {
			t.Fatalf("a look has counted none that were not counted: %d are", last)
		}
	}
	if !oldest.Before(then) {
		t.Errorf("the oldest count is of %v, after %v", oldest, then)
	}
	again := 0
	for _, x := range c.seen {
		if x.at.After(then) {
			again++
		}
	}
	if again < 1 || again > atOnce+1 {
		t.Errorf("the last look has counted %d", again)
	}
	if _, _, next := look(); !next.After(oldest) {
		t.Error("the oldest count stays the oldest")
	}
	must.Do(t, s.Client(t).Del(ctx, luascripts.DefinitionKey("topic-000")).Err())
	must.Do(t, s.Client(t).SRem(ctx, "rmq:topics", "topic-000").Err())
	if n, _, _ := look(); n != many {
		t.Errorf("%d are counted, one of them was deleted", n)
	}

	// The page has places for some of them: those that need someone, and those that were asked for.
	var text string
	for looks := 0; looks == 0 || strings.Contains(text, "soon"); looks++ {
		if looks > 20 {
			t.Fatalf("still not all are counted: %s", text)
		}
		_, text = get(t, at+"?done=look") // reads again
	}
	if rows := strings.Count(text, "<tr><th scope=\"row\""); rows != mostTopics {
		t.Errorf("%d rows", rows)
	}
	first200, _, _ := strings.Cut(text, "topic-000")
	if !strings.Contains(first200, fmt.Sprintf("topic-%03d", many-1)) || !strings.Contains(text, fmt.Sprintf("%d topics, of which you see 200", many)) {
		t.Errorf("%s", text)
	}
	if _, text := get(t, at+"?name=-13"); strings.Count(text, "<tr><th scope=\"row\"") != 10 || !strings.Contains(text, "10 topics with “-13” in the name") {
		t.Errorf("%s", text)
	}
	if _, text := get(t, at+"?name=none"); !strings.Contains(text, "No topic has that in its name") {
		t.Errorf("%s", text)
	}
}

// What needs someone at more topics than the page has places for is counted.
func TestManyNeeds(t *testing.T) {
	t.Parallel()
	at, s := open(t, nil)
	all := s.Client(t).Pipeline()
	for n := range mostNeeds + 7 {
		name := fmt.Sprint("t", n)
		all.HSet(ctx, luascripts.DefinitionKey(name), "kind", "priority", "slots", 1, "literal", 0, "sharing", "redis", "layout", 1, "created", 1, "namespace", "")
		all.SAdd(ctx, "rmq:topics", name)
		all.ZAdd(ctx, luascripts.KeysOf(name, 0).Dead, z("m", time.Now()))
	}
	_, err := all.Exec(ctx)
	must.Do(t, err)
	await.True(t, "all are counted, and as many shown as the page has places for", func() bool { // a look counts for 5 s
		_, text := get(t, at+"?done=look")
		return strings.Count(text, `<li class="`+string(inspector.Fail)) == mostNeeds && strings.Contains(text, "more. Fix these first.")
	})
}
