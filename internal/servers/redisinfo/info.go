// Package redisinfo reads what a Redis server reports about itself. It does not judge:
// package rmq refuses unfit servers, and the inspector's doctor judges them.
package redisinfo

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Info is the answer of INFO, by field. A missing field is empty.
type Info map[string]string

// Ask asks one server. If it does not know INFO, like one in memory, all fields are empty.
func Ask(ctx context.Context, server redis.UniversalClient) (Info, error) {
	text, err := server.Info(ctx).Result()
	if err != nil && !strings.HasPrefix(err.Error(), "ERR ") {
		return nil, fmt.Errorf("check the Redis server: %w", err)
	}
	return Parse(text), nil
}

// Parse reads an answer.
func Parse(text string) Info {
	info := Info{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[key] = value
		}
	}
	return info
}

// AtLeast reports whether the server has that version. It returns true if the server does
// not report a version, or one in another form.
func (i Info) AtLeast(major, minor int) bool {
	parts := strings.SplitN(i["redis_version"], ".", 3)
	if len(parts) < 2 {
		return true
	}
	a, err1 := strconv.Atoi(parts[0])
	b, err2 := strconv.Atoi(parts[1])
	return err1 != nil || err2 != nil || a > major || a == major && b >= minor
}

// Number is a field that is a whole number, or 0.
func (i Info) Number(field string) int64 {
	n, _ := strconv.ParseInt(i[field], 10, 64)
	return n
}
