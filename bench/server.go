package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// server is a Redis without persistence, started for this run.
type server struct {
	addr string
	dir  string
	cmd  *exec.Cmd
	rdb  *redis.Client
}

func startRedis() (*server, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil { // Debian's redis-tools holds it under this name
		if path, err = exec.LookPath("redis-check-rdb"); err != nil {
			return nil, errors.New("no redis-server found; on Debian: apt-get install redis-tools")
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	dir, err := os.MkdirTemp("", "rmq-bench")
	if err != nil {
		return nil, err
	}
	s := &server{addr: fmt.Sprintf("127.0.0.1:%d", port), dir: dir}
	s.cmd = &exec.Cmd{
		Path: path, Dir: dir, SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
		Args: []string{"redis-server", "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"},
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	s.rdb = redis.NewClient(&redis.Options{Addr: s.addr})
	for range 400 {
		if err = s.rdb.Ping(context.Background()).Err(); err == nil {
			return s, nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	s.stop()
	return nil, fmt.Errorf("the Redis server does not answer: %w", err)
}

func (s *server) stop() {
	s.rdb.Close()
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	os.RemoveAll(s.dir)
}

// info returns one field of INFO as a number.
func (s *server) info(field string) float64 {
	value, _ := strconv.ParseFloat(s.field(field), 64)
	return value
}

func (s *server) field(field string) string {
	for line := range strings.Lines(s.rdb.Info(context.Background(), "everything").Val()) {
		if key, value, _ := strings.Cut(strings.TrimSpace(line), ":"); key == field {
			return value
		}
	}
	return ""
}

func (s *server) version() string { return s.field("redis_version") }

func (s *server) cpu() time.Duration {
	return time.Duration((s.info("used_cpu_sys") + s.info("used_cpu_user")) * float64(time.Second))
}

// clientCPU is the CPU time this process has used.
func clientCPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// measure runs one round on an empty server.
func (s *server) measure(messages int, round func() error) (sample, error) {
	s.rdb.FlushAll(context.Background())
	redisBefore, commandsBefore := s.cpu(), s.info("total_commands_processed")
	clientBefore, begin := clientCPU(), time.Now()
	err := round()
	took, client := time.Since(begin), clientCPU()-clientBefore
	return sample{
		messages: messages, took: took, client: client,
		redis: s.cpu() - redisBefore, commands: int64(s.info("total_commands_processed") - commandsBefore),
	}, err
}
