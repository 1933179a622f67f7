package census

import (
	"fmt"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// Where there are many topics, each look counts some of them, until all have had their turn, and then those again that were
// counted the longest ago.
func TestManyTopics(t *testing.T) {
	t.Parallel()
	s := servertest.Redis(t)
	i, err := inspector.New(s.Client(t), inspector.Config{})
	must.Do(t, err)
	const slots, many = 64, countSlots/64 + 100
	all := s.Client(t).Pipeline()
	for n := range many {
		name := fmt.Sprintf("topic-%03d", n)
		all.HSet(t.Context(), protocol.DefinitionKey(name), "kind", "priority", "slots", slots, "literal", 0, "notes", 0, "sharing", "redis", "layout", 1, "created", 1, "namespace", "")
		all.SAdd(t.Context(), "rmq:topics", name)
	}
	_, err = all.Exec(t.Context())
	must.Do(t, err)

	c := New()
	look := func() (stats, uncounted int, oldest time.Time) {
		t.Helper()
		topics, err := i.Topics(t.Context())
		must.Do(t, err)
		must.Do(t, c.Count(t.Context(), i, topics))
		counted, _, left, oldest := c.Of(topics)
		return len(counted), len(left), oldest
	}
	const atOnce = countSlots / slots
	first, left, _ := look()
	if first < 1 || first > atOnce+1 || first+left != many {
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
	must.Do(t, s.Client(t).Del(t.Context(), protocol.DefinitionKey("topic-000")).Err())
	must.Do(t, s.Client(t).SRem(t.Context(), "rmq:topics", "topic-000").Err())
	if n, _, _ := look(); n != many-1 {
		t.Errorf("%d are counted, one of them was deleted", n)
	}
}
