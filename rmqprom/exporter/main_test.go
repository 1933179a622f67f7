package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// It serves what is in Redis, until it is stopped.
func TestExporter(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	srv := servertest.Redis(t)
	client, err := rmq.New(rmq.Config{Redis: srv.Client(t), Namespace: "shop"})
	must.Do(t, err)
	defer client.Close(context.Background())
	for _, topic := range []string{"mail-in", "mail-out", "orders"} {
		_, err = client.Send(ctx, rmq.Topic{Name: topic, Kind: rmq.KindPriority, Slots: 2}, rmq.Priority{Content: "x", Priority: 17})
		must.Do(t, err)
	}

	printed, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, options{redis: "redis://" + srv.Addr(), namespace: "shop", topics: "mail-*,refunds", listen: "127.0.0.1:0"}, out)
		out.Close()
	}()
	line, err := bufio.NewReader(printed).ReadString('\n')
	must.Do(t, err)
	var text []byte
	for _, want := range []string{`rmq_messages_due{topic="shop:mail-in"} 1`, `rmq_messages{state="waiting",topic="shop:mail-out"} 1`, "rmq_state_errors_total "} {
		await.True(t, "it serves "+want, func() bool { // it looks within 4 s, which a busy machine may not make at once
			answer, err := http.Get(strings.TrimSpace(strings.TrimPrefix(line, "serving ")))
			must.Do(t, err)
			defer answer.Body.Close()
			text, err = io.ReadAll(answer.Body)
			must.Do(t, err)
			return strings.Contains(string(text), "\n"+want+"\n") || strings.HasSuffix(want, " ") && strings.Contains(string(text), "\n"+want)
		})
	}
	http.DefaultClient.CloseIdleConnections()
	if strings.Contains(string(text), "orders") {
		t.Error("it shows a topic that was not asked for")
	}
	stop()
	must.Do(t, <-ended)
}

func TestExporterWithBadOptions(t *testing.T) {
	t.Parallel()
	for what, o := range map[string]options{
		"no URL":     {redis: "localhost", listen: "127.0.0.1:0"},
		"pattern":    {redis: "redis://localhost:1", topics: "[", listen: "127.0.0.1:0"},
		"no address": {redis: "redis://localhost:1", listen: "127.0.0.1"},
		"namespace":  {redis: "redis://localhost:1", namespace: "{}", listen: "127.0.0.1:0"},
	} {
		if err := run(context.Background(), o, io.Discard); err == nil {
			t.Errorf("%s: it runs", what)
		}
	}
}
