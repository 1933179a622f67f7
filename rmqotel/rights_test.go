package rmqotel

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
)

// account is the line of docs/DEPLOYMENT.md with that marker, and what it says Links need besides.
func account(t *testing.T, marker string) (user string, rights []string) {
	t.Helper()
	text, err := os.ReadFile("../docs/DEPLOYMENT.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "<!-- acl:"+marker+" -->\n```\nACL SETUSER ")
	line, _, _ := strings.Cut(rest, "\n")
	_, more, _ := strings.Cut(string(text), "<!-- acl:links ")
	more, _, _ = strings.Cut(more, " -->")
	words := strings.Fields(line + " " + more)
	if len(words) < 8 || !strings.Contains(string(text), "| `"+more+"` |") {
		t.Fatalf("docs/DEPLOYMENT.md has no line %s, or no addition for links: %q", marker, words)
	}
	return words[0], words[3:]
}

// With the rights that docs/DEPLOYMENT.md names, and no others, links work: of a producer,
// and of a worker.
func TestRightsForLinks(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := servertest.Redis(t)
	as := func(marker string) *redis.Client {
		t.Helper()
		user, rights := account(t, marker)
		args := []any{"acl", "setuser", user, "reset", "on", ">secret"}
		for _, right := range rights {
			args = append(args, right)
		}
		if err := server.Client(t).Do(ctx, args...).Err(); err != nil {
			t.Fatal(err)
		}
		return server.Client(t, func(o *redis.Options) { o.Username, o.Password, o.DisableIdentity = user, "secret", true })
	}
	sender := newWorld(t, as("producer"), rmq.Config{Namespace: none}, Config{Links: true})
	worker := newWorld(t, as("worker"), rmq.Config{Namespace: none}, Config{Links: true})
	topic := rmq.Topic{Name: "orders", Kind: rmq.KindPriority, Slots: 4}
	full := map[string]any{}
	for i := range mostContents {
		full[fmt.Sprint("cancelled ", i)] = "0 00-aa-bb-01 00-aa-bb-01 1"
	}
	for slot := range topic.Slots { // so that room is made
		if err := server.Client(t).HSet(ctx, protocol.TraceKey("orders", slot), full).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		sender.send(topic, rmq.Priority{Content: "order 4711", Priority: 17})
	}
	handled := make(chan struct{})
	worker.listen(topic, rmq.ListenOptions{}, func(context.Context, *rmq.Delivery) error {
		close(handled)
		return nil
	})
	worker.start()
	<-handled
	worker.close()
	wantLinks(t, worker.only("process orders"), sender.ended("send orders")...)
	if log, err := server.Client(t).Do(ctx, "acl", "log").Slice(); err != nil || len(log) > 0 {
		t.Errorf("refused: %v %v", log, err)
	}
}
