package servertest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Server is a real Redis server.
type Server struct {
	daemon
	password string
	tls      *tls.Config // nil for a server without TLS
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

// startRedis starts a server in dir, on another port if the first is snatched.
func startRedis(path, argv0, dir string, args []string) (*Server, error) {
	s := &Server{daemon: daemon{Dir: dir}, password: valueOf(args, "--requirepass")}
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

// startOn starts the server on a free port, with the argv made for that port.
func (s *Server) startOn(path string, argv func(port int) ([]string, error)) error {
	return s.daemon.startOn(path, argv, s.probe)
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

// Client is a client of this server, closed with the test. Every adjust may
// change its options.
func (s *Server) Client(t testing.TB, adjust ...func(*redis.Options)) *redis.Client {
	t.Helper()
	secure := func(o *redis.Options) { o.TLSConfig = s.TLSConfig() }
	return newClient(t, s.addr, s.password, slices.Concat([]func(*redis.Options){secure}, adjust))
}

// Restart starts the server again on its port and in its directory, stopping it
// first if it still runs, and returns when it answers.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.restart(t, s.probe)
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
