package rmqhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
)

// probe asks as Kubernetes does, and returns the code and the text.
func probe(t *testing.T, h http.Handler, method, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	if kind := w.Header().Get("Content-Type"); !strings.HasPrefix(kind, "text/plain") {
		t.Errorf("%s %s is %s", method, path, kind)
	}
	b, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(b)
}

// state is a client in some state.
type state struct{ alive, health error }

func (s state) Alive() error { return s.alive }
func (s state) Health(ctx context.Context) error {
	if at, bounded := ctx.Deadline(); !bounded || time.Until(at) > time.Second {
		return errors.New("a probe does not wait for so long")
	}
	return s.health
}

// Each path answers for itself, by GET and HEAD, and no other path does.
func TestPaths(t *testing.T) {
	t.Parallel()
	wrong := errors.New("wrong")
	for _, c := range []struct {
		state        state
		method, path string
		code         int
		text         string
	}{
		{state{}, "GET", "/livez", 200, "ok\n"},
		{state{}, "GET", "/readyz", 200, "ok\n"},
		{state{}, "HEAD", "/readyz", 200, "ok\n"}, // the server leaves it out
		{state{health: wrong}, "GET", "/livez", 200, "ok\n"},
		{state{health: wrong}, "GET", "/readyz", 503, "wrong\n"},
		{state{alive: wrong}, "GET", "/livez", 503, "wrong\n"},
		{state{alive: wrong}, "GET", "/readyz?verbose", 200, "ok\n"},
		{state{}, "POST", "/livez", 405, "GET or HEAD\n"},
		{state{}, "GET", "/", 404, "404 page not found\n"},
		{state{}, "GET", "/livez/", 404, "404 page not found\n"},
		{state{}, "GET", "/admin/livez", 404, "404 page not found\n"},
		{state{}, "GET", "/livez/../readyz", 404, "404 page not found\n"},
	} {
		if code, text := probe(t, health(c.state), c.method, c.path); code != c.code || text != c.text {
			t.Errorf("%s %s of %v is %d %q, want %d %q", c.method, c.path, c.state, code, text, c.code, c.text)
		}
	}
	w := httptest.NewRecorder()
	http.StripPrefix("/health", health(state{})).ServeHTTP(w, httptest.NewRequest("GET", "/health/livez", nil))
	if w.Code != 200 || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("below a prefix: %d, %v", w.Code, w.Header())
	}
}

// A worker on a Redis that hangs, goes and comes back: it is live all the time, and ready
// only while Redis is there.
func TestRedisAway(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := servertest.Redis(t)
	client, err := rmq.New(rmq.Config{Redis: server.Client(t), SafetyLook: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	h := Health(client)
	want := func(path string, code int, part string) {
		t.Helper()
		await.Nil(t, fmt.Sprintf("%s is %d %q", path, code, part), func() error {
			if got, _ := probe(t, h, "GET", "/livez"); got != 200 {
				t.Fatalf("not live: %d", got)
			}
			if got, text := probe(t, h, "GET", path); got != code || !strings.Contains(text, part) {
				return fmt.Errorf("it is %d %q", got, text)
			}
			return nil
		})
	}
	want("/readyz", 200, "ok") // it only sends
	err = client.Listen(rmq.Topic{Name: "jobs", Kind: rmq.KindPriority}, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error { return nil }), rmq.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want("/readyz", 503, "has not started")
	if err := client.Start(ctx); err != nil {
		t.Fatal(err)
	}
	want("/readyz", 200, "ok")
	server.Pause()
	want("/readyz", 503, "Redis")
	server.Resume()
	want("/readyz", 200, "ok")
	server.Kill()
	want("/readyz", 503, "Redis")
	server.Restart(t)
	want("/readyz", 200, "ok")
	if err := client.Close(ctx); err != nil {
		t.Fatal(err)
	}
	want("/readyz", 503, "Close")
}
