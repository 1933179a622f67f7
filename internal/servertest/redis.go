package servertest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Server is a real Redis server.
type Server struct {
	Dir string // where it runs and keeps its data; empty for a server of the user's own

	addr     string
	password string
	tls      *tls.Config // nil for a server without TLS
	proc     *process    // nil for a server of the user's own
	shared   bool
}

// Redis starts a private server for this test and stops it with the test. The
// args are passed to redis-server after the defaults (no persistence) and win
// over them: Redis(t, "--appendonly", "yes", "--appendfsync", "always").
func Redis(t testing.TB, args ...string) *Server {
	t.Helper()
	path, argv0 := redisBinary(t)
	s, err := startRedis(path, argv0, t.TempDir(), args)
	if err != nil {
		t.Fatal(err)
	}
	s.endWith(t)
	return s
}

// endWith ends the server with the test, which fails if it ended by itself before.
func (s *Server) endWith(t testing.TB) {
	t.Cleanup(func() {
		if err := s.proc.crashed(); err != nil {
			t.Errorf("redis-server ended by itself: %v\n%s", err, s.Log())
		}
		s.proc.end(syscall.SIGKILL) // nothing to save: the directory goes too
	})
}

// startRedis starts a server in dir, on another port if the first is snatched.
func startRedis(path, argv0, dir string, args []string) (*Server, error) {
	s := &Server{Dir: dir, password: valueOf(args, "--requirepass")}
	err := s.startOn(path, func(port int) ([]string, error) {
		return slices.Concat([]string{argv0, "--port", fmt.Sprint(port)}, defaults(dir), args), nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// defaults are the arguments of every server that keeps data, apart from its ports.
func defaults(dir string) []string {
	return []string{
		"--bind", "127.0.0.1", "--dir", dir,
		"--save", "", "--appendonly", "no", "--daemonize", "no",
	}
}

// startOn starts the server on a free port, with the argv made for that port, and
// on another one if it is snatched.
func (s *Server) startOn(path string, argv func(port int) ([]string, error)) error {
	const tries = 3
	for try := 1; ; try++ {
		port, err := freePort()
		if err != nil {
			return err
		}
		args, err := argv(port)
		if err != nil {
			return err
		}
		s.addr = fmt.Sprintf("127.0.0.1:%d", port)
		s.proc = &process{path: path, argv: args, dir: s.Dir}
		if err = s.launch(); err == nil {
			return nil
		}
		s.proc.end(syscall.SIGKILL)
		if try == tries || !s.proc.portTaken() {
			return err
		}
	}
}

func (s *Server) launch() error {
	if err := s.proc.start(); err != nil {
		return err
	}
	return s.proc.ready(s.probe)
}

// probe asks for PING and for the process id, since on a port that was snatched
// another test's server would answer just as well.
func (s *Server) probe() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	rdb := redis.NewClient(&redis.Options{
		Addr: s.addr, Password: s.password, TLSConfig: s.TLSConfig(),
		MaxRetries: -1, DialerRetries: 1,
	})
	defer rdb.Close()
	if err := rdb.Ping(ctx).Err(); err != nil {
		return err
	}
	info, err := rdb.Info(ctx, "server").Result()
	if err != nil {
		return err
	}
	if s.proc != nil && infoField(info, "process_id") != fmt.Sprint(s.proc.pid()) {
		return errors.New("another server answers on " + s.addr)
	}
	return nil
}

// Addr is the server's host:port, the same after a Restart.
func (s *Server) Addr() string { return s.addr }

// Client is a client of this server, closed with the test. Every adjust may
// change its options.
func (s *Server) Client(t testing.TB, adjust ...func(*redis.Options)) *redis.Client {
	t.Helper()
	secure := func(o *redis.Options) { o.TLSConfig = s.TLSConfig() }
	return newClient(t, s.addr, s.password, slices.Concat([]func(*redis.Options){secure}, adjust))
}

// Kill ends the server with SIGKILL and waits until it is gone.
func (s *Server) Kill() { s.private("Kill").end(syscall.SIGKILL) }

// Stop ends the server with SIGTERM, which lets it save, and waits until it is gone.
func (s *Server) Stop() { s.private("Stop").end(syscall.SIGTERM) }

// Pause stops the process without closing anything: clients hang.
func (s *Server) Pause() { s.private("Pause").signal(syscall.SIGSTOP) }

// Resume lets a paused server go on.
func (s *Server) Resume() { s.private("Resume").signal(syscall.SIGCONT) }

// Restart starts the server again on its port and in its directory, stopping it
// first if it still runs, and returns when it answers.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	p := s.private("Restart")
	p.end(syscall.SIGTERM)
	// While the server was away its port may have served as the near end of
	// somebody's connection; such a loan is short.
	for deadline := time.Now().Add(startPatience); ; {
		err := s.launch()
		if err == nil {
			return
		}
		if !p.portTaken() || time.Now().After(deadline) {
			p.end(syscall.SIGKILL)
			t.Fatalf("restart: %v", err)
		}
		time.Sleep(10 * pollInterval)
	}
}

// Log is what the server has written so far.
func (s *Server) Log() string {
	if s.proc == nil {
		return ""
	}
	return s.proc.log()
}

// private guards the servers which other tests use at the same time.
func (s *Server) private(what string) *process {
	if s.shared {
		panic("servertest: " + what + " of the shared server; take a private one with Redis(t)")
	}
	return s.proc
}

// freePort asks the kernel for a port nobody listens on.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// withMasterAuth lets servers with a password be replicas of each other, unless
// the args say what they say to their master.
func withMasterAuth(args []string) []string {
	if password := valueOf(args, "--requirepass"); password != "" {
		return slices.Concat([]string{"--masterauth", password}, args)
	}
	return args
}

// valueOf is the argument that follows the last flag in args.
func valueOf(args []string, flag string) string {
	value := ""
	for i, a := range args[:max(0, len(args)-1)] {
		if strings.EqualFold(a, flag) {
			value = args[i+1]
		}
	}
	return value
}
