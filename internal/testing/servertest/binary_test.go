package servertest

import (
	"fmt"
	"strings"
	"testing"
)

// witness is a test that records how it was ended.
type witness struct {
	testing.TB
	how, text string
}

type ended struct{}

func (w *witness) Helper()           {}
func (w *witness) Fatal(args ...any) { w.end("fatal", fmt.Sprint(args...)) }
func (w *witness) Fatalf(format string, args ...any) {
	w.end("fatal", fmt.Sprintf(format, args...))
}
func (w *witness) Skip(args ...any)     { w.end("skip", fmt.Sprint(args...)) }
func (w *witness) end(how, text string) { w.how, w.text = how, text; panic(ended{}) }

// outcome runs f and tells how it ended the test.
func outcome(t *testing.T, f func(testing.TB)) (how, text string) {
	t.Helper()
	w := &witness{TB: t}
	defer func() {
		if r := recover(); r != nil {
			if _, mine := r.(ended); !mine {
				panic(r)
			}
			how, text = w.how, w.text
		}
	}()
	f(w)
	return "", ""
}

func TestMissingServerSkipsLoudlyOrFails(t *testing.T) {
	for _, c := range []struct{ require, ci, want string }{
		{"", "", "skip"}, {"0", "", "skip"}, {"1", "", "fatal"}, {"", "true", "fatal"},
	} {
		t.Setenv("RMQ_REQUIRE_SERVERS", c.require)
		t.Setenv("CI", c.ci)
		how, text := outcome(t, func(tb testing.TB) { Missing(tb, "a Redis server", "apt-get install redis-tools") })
		if how != c.want {
			t.Errorf("RMQ_REQUIRE_SERVERS=%q CI=%q: %q, want %q", c.require, c.ci, how, c.want)
		}
		if !strings.Contains(text, "apt-get install redis-tools") {
			t.Errorf("does not say what to install: %q", text)
		}
	}
}

func TestProgramByTheFirstOfItsNames(t *testing.T) {
	t.Setenv("RMQ_REQUIRE_SERVERS", "1")
	if how, text := outcome(t, func(tb testing.TB) { Program(tb, "a browser", "apt-get install it", "no-such-program") }); how != "fatal" || !strings.Contains(text, "apt-get install it") {
		t.Errorf("%q: %s", how, text)
	}
	if path := Program(t, "a shell", "none", "no-such-program", "sh"); !strings.HasSuffix(path, "/sh") {
		t.Errorf("sh is %q", path)
	}
}

func TestNamedBinaryMustExist(t *testing.T) {
	t.Setenv("RMQ_TEST_REDIS_SERVER", "/no/such/redis-server")
	t.Setenv("RMQ_REQUIRE_SERVERS", "")
	if how, text := outcome(t, func(tb testing.TB) { redisBinary(tb) }); how != "fatal" {
		t.Errorf("%q: %s", how, text)
	}
}

func TestRedisOfTheUsersOwn(t *testing.T) {
	t.Setenv("RMQ_TEST_REDIS", Redis(t).Addr())
	srv, err := startSharedRedis(t)
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Client(t).Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
	if srv.Dir != "" || srv.Log() != "" {
		t.Errorf("Dir %q, Log %q", srv.Dir, srv.Log())
	}

	t.Setenv("RMQ_TEST_REDIS", "127.0.0.1:1")
	if _, err := startSharedRedis(t); err == nil || !strings.Contains(err.Error(), "RMQ_TEST_REDIS=127.0.0.1:1") {
		t.Errorf("err = %v", err)
	}
}
