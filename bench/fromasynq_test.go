package main

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/typed"
)

// Welcome is the payload of both programs.
type Welcome struct{ UserID int }

// The two programs that docs/GUIDE.md shows do the same: a mail in a second.
func TestProgramsSideBySide(t *testing.T) {
	t.Parallel()
	for name, program := range map[string]func(ctx context.Context, addr string, mail func(user int) error){
		"asynq": mailByAsynq, "RMQ": mailByRMQ,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var fleet servers.Fleet
			t.Cleanup(fleet.Stop)
			place, err := fleet.Apart(1)
			check(err)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			var mailed []int
			program(ctx, place.Servers[0].Addr, func(user int) error {
				mailed = append(mailed, user)
				cancel()
				return nil
			})
			if len(mailed) != 1 || mailed[0] != 42 {
				t.Errorf("mails to %v", mailed)
			}
		})
	}
}

func mailByAsynq(ctx context.Context, addr string, mail func(user int) error) {
	redis := asynq.RedisClientOpt{Addr: addr}
	server := asynq.NewServer(redis, asynq.Config{Concurrency: 10})
	mux := asynq.NewServeMux()
	mux.HandleFunc("mail:welcome", func(ctx context.Context, t *asynq.Task) error {
		var w Welcome
		if err := json.Unmarshal(t.Payload(), &w); err != nil {
			return fmt.Errorf("%w: %w", err, asynq.SkipRetry)
		}
		return mail(w.UserID)
	})
	check(server.Start(mux))

	client := asynq.NewClient(redis)
	defer client.Close()
	payload, err := json.Marshal(Welcome{UserID: 42})
	check(err)
	task := asynq.NewTask("mail:welcome", payload, asynq.MaxRetry(5), asynq.Timeout(20*time.Second))
	_, err = client.Enqueue(task, asynq.ProcessIn(time.Second))
	check(err)

	<-ctx.Done()
	server.Shutdown() // waits for handlers for 8 s
}

func mailByRMQ(ctx context.Context, addr string, mail func(user int) error) {
	client, err := rmq.New(rmq.Config{URL: "redis://" + addr, Concurrency: 10})
	check(err)
	welcomes := typed.Topic[Welcome]{Topic: rmq.Topic{Name: "mail-welcome", Kind: rmq.KindFixedTime}}
	check(welcomes.Listen(client, func(ctx context.Context, d *typed.Delivery[Welcome]) error {
		return mail(d.Value.UserID)
	}, rmq.ListenOptions{MaxAttempts: 6, Timeout: 20 * time.Second}))
	check(client.Start(ctx))

	_, err = welcomes.Send(ctx, client, Welcome{UserID: 42}, typed.In(time.Second))
	check(err)

	<-ctx.Done()
	closing, cancel := context.WithTimeout(context.Background(), 8*time.Second)
	defer cancel()
	check(client.Close(closing)) // waits for handlers
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
