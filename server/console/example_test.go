package console_test

import (
	"net/http"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/server/console"
)

// The console in your own program, for people whom your program knows.
func Example() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	userOf := func(r *http.Request) string { return r.Header.Get("X-Forwarded-User") }

	c, err := console.New(console.Config{Redis: rdb, Act: true, Who: userOf})
	if err != nil {
		panic(err)
	}
	defer c.Close()         // before http.Server.Shutdown, which waits for its streams
	http.Handle("/rmq/", c) // any path that ends with a /
}
