package servertest

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"
)

// infoField picks one field out of a reply to INFO; empty when it is absent.
func infoField(info, field string) string {
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && name == field {
			return value
		}
	}
	return ""
}

// CPU is the processor time, user and system, the server has used so far. Asking
// costs a little of it, too.
func (s *Server) CPU(t testing.TB) time.Duration {
	t.Helper()
	rdb := s.Client(t)
	defer rdb.Close()
	info, err := rdb.Info(context.Background(), "cpu").Result()
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	for _, field := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, err := strconv.ParseFloat(infoField(info, field), 64)
		if err != nil {
			t.Fatalf("INFO %s: %v", field, err)
		}
		sum += seconds
	}
	return time.Duration(sum * float64(time.Second))
}
