// Package redisinfo reads what a Redis server tells of itself. What to make of it is for
// others to say: package rmq refuses unfit servers, and the inspector's doctor judges them.
package redisinfo

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Info is the answer of INFO, by field. What is not told is empty.
type Info map[string]string

// Ask asks one server. One that does not know INFO, such as one in memory, tells nothing.
func Ask(ctx context.Context, server redis.UniversalClient) (Info, error) {
	text, err := server.Info(ctx).Result()
	if err != nil && !strings.HasPrefix(err.Error(), "ERR ") {
		return nil, fmt.Errorf("check the Redis server: %w", err)
	}
	return Parse(text), nil
}

// Parse reads an answer.
func Parse(text string) Info {
	told := Info{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			told[key] = value
		}
	}
	return told
}

// AtLeast reports whether the server has that version. One of its own kind, or one that
// does not tell, is taken to have it.
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
