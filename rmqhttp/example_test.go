package rmqhttp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/rmqhttp"
)

// The probes beside the pages of a program. Here Redis is away: the process is live all the
// same.
func ExampleHealth() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer rdb.Close()
	client, err := rmq.New(rmq.Config{Redis: rdb})
	if err != nil {
		fmt.Println(err)
		return
	}
	probes := rmqhttp.Health(client)
	mux := http.NewServeMux()
	mux.Handle("/livez", probes)
	mux.Handle("/readyz", probes)

	server := httptest.NewServer(mux) // http.ListenAndServe(":8080", mux) in a program
	defer server.Close()
	for _, path := range []string{"/livez", "/readyz"} {
		r, err := http.Get(server.URL + path)
		if err != nil {
			fmt.Println(err)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
		fmt.Println(path, r.StatusCode)
	}
	http.DefaultClient.CloseIdleConnections()
	// Output:
	// /livez 200
	// /readyz 503
}
