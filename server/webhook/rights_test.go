package webhook

import (
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// marked is a line of docs/DEPLOYMENT.md behind a marker.
func marked(t *testing.T, marker string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/DEPLOYMENT.md")
	must.Do(t, err)
	_, rest, found := strings.Cut(string(text), marker)
	line, _, _ := strings.Cut(rest, "\n")
	if !found || line == "" {
		t.Fatalf("docs/DEPLOYMENT.md has no %q", marker)
	}
	return strings.Fields(strings.TrimSuffix(line, "-->"))
}

// With the rights of a worker and the one that docs/DEPLOYMENT.md names for pushing, messages are pushed; without that one Start
// says what is missing.
func TestRightsForPushing(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	worker, more := marked(t, "<!-- acl:worker -->\n```\nACL SETUSER orders on >secret "), marked(t, "<!-- acl:pushes ")
	as := func(rights []string) *redis.Client {
		args := []any{"acl", "setuser", "orders", "reset", "on", ">secret"}
		for _, right := range rights {
			args = append(args, right)
		}
		must.Do(t, server.Client(t).Do(ctx, args...).Err())
		return server.Client(t, func(o *redis.Options) { o.Username, o.Password, o.DisableIdentity = "orders", "secret", true })
	}
	r := receive(t, nil)
	o := prepare(t, r.URL, func(c *Config) { c.Targets[0].Topic.Name = "orders" })
	for _, c := range []struct {
		rights []string
		says   string
	}{{worker, "ids of topic orders: NOPERM"}, {append(worker, more...), ""}} {
		o.config.Client.Redis = as(c.rights)
		push, err := New(o.config)
		must.Do(t, err)
		err = push.Start(ctx)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, want %q", err, c.says)
		}
		if err == nil {
			o.rdb, o.sender = server.Client(t), senderOn(t, server.Client(t))
			o.send(t, "order 4711")
			verify(t, r.next(t), secret)
			o.await(t, message.Done, 1)
		}
		must.Do(t, push.Close(await.CleanupContext(t)))
	}
	if log, err := server.Client(t).Do(ctx, "acl", "log").Slice(); err != nil || len(log) != 1 { // the one that was tried
		t.Errorf("refused: %v %v", log, err)
	}
}
