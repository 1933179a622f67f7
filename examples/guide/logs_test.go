package guide_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/slotmq/go-rmq/rmq"
)

// A message dies, and the log says so without its content.
func Example_logs() {
	var out bytes.Buffer // os.Stderr, say

	handler := slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn})
	cfg := rmq.Config{
		Slog:         slog.New(handler).With("service", "shop"),
		HideContents: true, // addresses are personal
	}

	client, end := open(cfg)
	defer end()
	mails := rmq.Topic{Name: "mails", Kind: rmq.KindPriority}
	_, err := client.Send(ctx, mails, rmq.Priority{Content: "mail to ann@example.org", Priority: 100})
	check(err)
	check(client.Listen(mails, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		return rmq.Dead(errors.New("refused: " + d.Content))
	}), rmq.ListenOptions{}))
	check(client.Start(ctx))
	client.Advance(0)
	end()
	line := out.String()
	fmt.Println(strings.Contains(line, `"msg":"message is dead"`), strings.Contains(line, `"service":"shop"`), strings.Contains(line, "ann@"))
	fmt.Println(strings.Count(line, "\n"), "line")
	// Output:
	// true true false
	// 1 line
}
