package main

import (
	"context"
	"flag"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/commands/frame"
)

// healthTimeout is how long a service may take for its answer.
const healthTimeout = 5 * time.Second

var healthService = frame.Command{
	Use:   "health [URL]",
	Short: "Ask rmqd serve whether it can do its work",
	Long: `Ask a service whether it can do its work, for a container that has no curl: exit
code 0 if it says so, else 1, with the reason. Without a URL it asks
http://127.0.0.1:8080/readyz.`,
	Example: `  rmqd health
  rmqd health http://127.0.0.1:8080/livez`,
	GoFlags: func(*flag.FlagSet) frame.Step {
		return func(ctx context.Context, call *frame.Call) error {
			url := "http://127.0.0.1:8080/readyz"
			if len(call.Args) > 0 {
				url = call.Args[0]
			}
			ctx, cancel := context.WithTimeout(ctx, healthTimeout)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				return frame.Misused("%w", err)
			}
			answer, err := http.DefaultClient.Do(req)
			if err != nil {
				return frame.Failed("%w", err)
			}
			defer answer.Body.Close()
			if answer.StatusCode != http.StatusOK {
				text, _ := io.ReadAll(io.LimitReader(answer.Body, 1000))
				return frame.Failed("%s: %s %s", url, answer.Status, strings.TrimSpace(string(text)))
			}
			return nil
		}
	},
}
