package rmqhttp

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/slotmq/go-rmq/rmq"
)

// timeout of a look at Redis. A probe of Kubernetes waits for 1 s by default.
const timeout = 800 * time.Millisecond

// Health returns a handler for /livez and /readyz, by GET or HEAD. Other paths are 404: to
// have it below a prefix, use http.StripPrefix.
func Health(c *rmq.Client) http.Handler { return health(c) }

// client is what a probe asks.
type client interface {
	Alive() error
	Health(ctx context.Context) error
}

func health(c client) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var ask func() error
		switch r.URL.Path { // exact, so that no rule about a path lets another one through
		case "/livez":
			ask = c.Alive
		case "/readyz":
			ask = func() error {
				ctx, cancel := context.WithTimeout(r.Context(), timeout)
				defer cancel()
				return c.Health(ctx)
			}
		default:
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "GET or HEAD", http.StatusMethodNotAllowed)
			return
		}
		if err := ask(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "ok\n")
	})
}
