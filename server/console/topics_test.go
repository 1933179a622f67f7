package console

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/inspector/doctor"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
)

// The first page has places for some of many topics: those that need someone, and those that were asked for.
func TestManyTopics(t *testing.T) {
	t.Parallel()
	at, s := open(t, nil)
	const slots, many = 64, 356
	all := s.Client(t).Pipeline()
	for n := range many {
		name := fmt.Sprintf("topic-%03d", n)
		all.HSet(ctx, protocol.DefinitionKey(name), "kind", "priority", "slots", slots, "literal", 0, "notes", 0, "sharing", "redis", "layout", 1, "created", 1, "namespace", "")
		all.SAdd(ctx, "rmq:topics", name)
	}
	all.ZAdd(ctx, protocol.KeysOf(fmt.Sprintf("topic-%03d", many-1), 7).Dead, z("m", time.Now()))
	_, err := all.Exec(ctx)
	must.Do(t, err)

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
	if !strings.Contains(first200, fmt.Sprintf("topic-%03d", many-1)) || !strings.Contains(text, fmt.Sprintf("%d topics, of which you see 200", many+1)) {
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
		all.HSet(ctx, protocol.DefinitionKey(name), "kind", "priority", "slots", 1, "literal", 0, "notes", 0, "sharing", "redis", "layout", 1, "created", 1, "namespace", "")
		all.SAdd(ctx, "rmq:topics", name)
		all.ZAdd(ctx, protocol.KeysOf(name, 0).Dead, z("m", time.Now()))
	}
	_, err := all.Exec(ctx)
	must.Do(t, err)
	await.True(t, "all are counted, and as many shown as the page has places for", func() bool { // a look counts for 5 s
		_, text := get(t, at+"?done=look")
		return strings.Count(text, `<li class="`+string(doctor.Fail)) == mostNeeds && strings.Contains(text, "more. Fix these first.")
	})
}
