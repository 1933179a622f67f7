package main

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// With --dev the first request needs no Redis, and no journal hears of it. What was sent is taken, and is gone when the program has ended.
func TestServeDev(t *testing.T) {
	file := filepath.Join(t.TempDir(), "journal.db")
	t.Setenv("RMQ_REDIS", "redis://127.0.0.1:1")
	t.Setenv("RMQ_JOURNAL", "sqlite:"+file)
	for range 2 {
		s := serve(t, "", "--dev")
		s.errs.line(t, "forgets everything")
		if status, answer := s.post(http.DefaultClient, "", "/v1/take", `{"topics":["orders"],"wait":"0s"}`); status != 404 {
			t.Errorf("at first: %d, %v", status, answer)
		}
		if status, answer := s.post(http.DefaultClient, "", "/v1/topics/orders/messages", `{"kind":"priority","content":"order 1","priority":100}`); status != 201 || answer["outcome"] != "stored" {
			t.Fatalf("send: %d, %v", status, answer)
		}
		if status, answer := s.post(http.DefaultClient, "", "/v1/take", `{"topics":["orders"],"wait":"20s"}`); status != 200 || answer["messages"] == nil {
			t.Errorf("take: %d, %v", status, answer)
		}
		if code := s.stop(); code != 0 {
			t.Errorf("it ended with %d\n%s", code, s.errs)
		}
	}
	for flag, url := range map[string]string{"--redis": "redis://127.0.0.1:1", "--journal": "sqlite:" + file} {
		args := []string{"serve", "--dev", flag, url}
		failsWith(t, call(args...), 2, args, "--dev has a Redis of its own, and no journal: leave out "+flag)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it has written into a journal: %v", err)
	}
}
