package servertest

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// impatient makes a client report a fault at once instead of hiding it by retries.
func impatient(o *redis.Options) {
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.ReadTimeout = 3 * time.Second // an answer on a busy machine takes less
	o.ContextTimeoutEnabled = true
}

func TestRedisAnswers(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	srv := Redis(t)
	t.Logf("ready after %v", time.Since(begin)) // for information; a busy machine is no bug
	if err := srv.Client(t).Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if srv.Log() == "" {
		t.Error("the log is empty")
	}
	if st, err := os.Stat(srv.Dir); err != nil || !st.IsDir() {
		t.Errorf("Dir %q: %v", srv.Dir, err)
	}
}

func TestRedisIsPrivate(t *testing.T) {
	t.Parallel()
	a, b := Redis(t), Redis(t)
	if a.Addr() == b.Addr() {
		t.Fatalf("two servers on %s", a.Addr())
	}
	if err := a.Client(t).Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if n := b.Client(t).Exists(t.Context(), "k").Val(); n != 0 {
		t.Error("one server sees the other's key")
	}
}

func TestRedisTakesArguments(t *testing.T) {
	t.Parallel()
	srv := Redis(t, "--requirepass", "secret", "--maxmemory", "12345678")
	rdb := srv.Client(t)
	if got := rdb.ConfigGet(t.Context(), "maxmemory").Val()["maxmemory"]; got != "12345678" {
		t.Errorf("maxmemory = %q", got)
	}
	stranger := srv.Client(t, impatient, func(o *redis.Options) { o.Password = "" })
	if err := stranger.Ping(t.Context()).Err(); err == nil {
		t.Error("answered without the password")
	}
}

func TestKillAndRestartKeepAppendOnlyData(t *testing.T) {
	t.Parallel()
	srv := Redis(t, "--appendonly", "yes", "--appendfsync", "always")
	rdb := srv.Client(t, impatient)
	if err := rdb.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	addr := srv.Addr()

	srv.Kill()
	if err := rdb.Ping(t.Context()).Err(); err == nil {
		t.Fatal("a killed server answered")
	}
	srv.Kill() // of a dead server: nothing happens

	srv.Restart(t)
	if srv.Addr() != addr {
		t.Errorf("restarted on %s, was %s", srv.Addr(), addr)
	}
	if got, err := srv.Client(t).Get(t.Context(), "k").Result(); got != "v" || err != nil {
		t.Errorf("after the restart k = %q, %v", got, err)
	}
	srv.Restart(t) // of a running server
	if got, err := srv.Client(t).Get(t.Context(), "k").Result(); got != "v" || err != nil {
		t.Errorf("after the second restart k = %q, %v", got, err)
	}
}

func TestRestartWithoutPersistenceForgets(t *testing.T) {
	t.Parallel()
	srv := Redis(t)
	if err := srv.Client(t).Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	srv.Stop()
	srv.Restart(t)
	if n := srv.Client(t).Exists(t.Context(), "k").Val(); n != 0 {
		t.Error("the key survived")
	}
}

func TestPauseHangsAndResumeGoesOn(t *testing.T) {
	t.Parallel()
	srv := Redis(t)
	rdb := srv.Client(t, impatient)
	if err := rdb.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	srv.Pause()
	if err := rdb.Ping(t.Context()).Err(); err == nil {
		t.Error("a paused server answered")
	}
	srv.Resume()
	if err := srv.Client(t).Ping(t.Context()).Err(); err != nil {
		t.Errorf("after Resume: %v", err)
	}
	srv.Pause()
	srv.Stop() // also of a paused server
}

func TestCPUGrows(t *testing.T) {
	t.Parallel()
	srv := Redis(t)
	before := srv.CPU(t)
	const spin = `for i = 1, 3000000 do end return 1`
	if err := srv.Client(t).Eval(t.Context(), spin, nil).Err(); err != nil {
		t.Fatal(err)
	}
	if after := srv.CPU(t); after <= before {
		t.Errorf("CPU %v, then %v", before, after)
	}
}

func TestSharedRedisIsOneAndGuarded(t *testing.T) {
	t.Parallel()
	srv := SharedRedis(t)
	if again := SharedRedis(t); again != srv {
		t.Fatal("a second shared server")
	}
	if err := srv.Client(t).Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("Kill of the shared server was allowed")
		}
	}()
	srv.Kill()
}

func TestMemory(t *testing.T) {
	t.Parallel()
	mini, rdb := Memory(t)
	at := time.Unix(1_700_000_000, 0)
	mini.SetTime(at)
	if got, err := rdb.Time(t.Context()).Result(); err != nil || !got.Equal(at) {
		t.Errorf("TIME = %v, %v", got, err)
	}
}

func TestBadArgumentsReportTheLog(t *testing.T) {
	t.Parallel()
	path, argv0 := redisBinary(t)
	_, err := startRedis(path, argv0, t.TempDir(), []string{"--no-such-option", "1"})
	if err == nil || !strings.Contains(err.Error(), "no-such-option") {
		t.Fatalf("err = %v", err)
	}
}

// Two servers on one port: the second must neither pass for the first nor be
// reported as a broken server.
func TestSnatchedPortIsNoticed(t *testing.T) {
	t.Parallel()
	first := Redis(t)
	_, port, _ := strings.Cut(first.Addr(), ":")
	path, argv0 := redisBinary(t)
	second := &Server{daemon: daemon{addr: first.Addr(), proc: &process{
		path: path, dir: t.TempDir(), argv: []string{argv0, "--port", port, "--bind", "127.0.0.1"},
	}}}
	err := second.launch(second.probe)
	if err == nil {
		t.Fatal("the first server was taken for the second")
	}
	if !second.proc.portTaken() {
		t.Errorf("not recognised: %v", err)
	}
	if err := first.Client(t).Ping(context.Background()).Err(); err != nil {
		t.Error(err)
	}
}

func TestEndOfTheServerByItselfIsNoticed(t *testing.T) {
	t.Parallel()
	path, argv0 := redisBinary(t)
	srv, err := startRedis(path, argv0, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.proc.crashed(); err != nil {
		t.Fatalf("it runs, yet: %v", err)
	}
	_ = srv.Client(t, impatient).ShutdownNoSave(t.Context()).Err()
	<-srv.proc.done
	if srv.proc.crashed() == nil {
		t.Error("not noticed")
	}
}
