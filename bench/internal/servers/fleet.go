// Package servers starts Redis servers for one run, and reports what work at them
// costs.
package servers

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// Fleet holds the servers of this run. None outlives it: Stop kills them, and
// should this process be killed, the kernel does.
type Fleet struct {
	mu          sync.Mutex
	servers     []*Server
	directories []string
	stopped     bool
}

// start starts a Redis without persistence.
func (f *Fleet) start(args ...string) (*Server, error) {
	path, err := redisBinary()
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: fmt.Sprintf("127.0.0.1:%d", port)}
	own := []string{"redis-server", "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"}
	if err := f.launch(s, path, slices.Concat(own, args)); err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	for range 2000 {
		if err = s.Rdb.Ping(ctx).Err(); err == nil {
			return s, nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	log, _ := os.ReadFile(filepath.Join(s.dir, "out.log"))
	return nil, fmt.Errorf("the Redis server does not answer: %w\n%s", err, log)
}

func (f *Fleet) launch(s *Server, path string, args []string) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return errors.New("the run is over")
	}
	if s.dir, err = os.MkdirTemp("", "rmq-bench"); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(s.dir, "out.log"))
	if err != nil {
		return err
	}
	defer log.Close() // the server has its own descriptor
	s.cmd = &exec.Cmd{
		Path: path, Dir: s.dir, Args: args, Stdout: log, Stderr: log,
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	}
	if err := s.cmd.Start(); err != nil {
		os.RemoveAll(s.dir)
		return err
	}
	s.Rdb = redis.NewClient(&redis.Options{Addr: s.Addr})
	f.servers = append(f.servers, s)
	return nil
}

// Directory makes a temporary one, which Stop removes.
func (f *Fleet) Directory() (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return "", errors.New("the run is over")
	}
	dir, err := os.MkdirTemp("", "rmq-bench")
	if err == nil {
		f.directories = append(f.directories, dir)
	}
	return dir, err
}

// Stop kills all servers, and removes the directories. No more can be started.
func (f *Fleet) Stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
	for _, s := range f.servers {
		s.end()
	}
	for _, dir := range f.directories {
		os.RemoveAll(dir)
	}
	f.servers, f.directories = nil, nil
}

func redisBinary() (string, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil { // Debian's redis-tools holds it under this name
		if path, err = exec.LookPath("redis-check-rdb"); err != nil {
			return "", errors.New("no redis-server found; on Debian: apt-get install redis-tools")
		}
	}
	return path, nil
}

// freePort returns a port without a listener.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// Release kills one server before the end of the run, for its memory.
func (f *Fleet) Release(s *Server) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at := slices.Index(f.servers, s); at >= 0 {
		f.servers = slices.Delete(f.servers, at, at+1)
		s.end()
	}
}

func (s *Server) end() {
	s.Rdb.Close()
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	os.RemoveAll(s.dir)
}
