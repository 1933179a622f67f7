package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/examples/internal/store"
)

// process is a worker in a process of its own.
type process struct {
	cmd  *exec.Cmd
	read chan struct{} // closed when all that it says has been read
}

func start(ctx context.Context, s *store.Store, name string, seen *record) (*process, error) {
	url := flag.Lookup("redis").Value.String()
	if rdb, is := s.Redis.(*redis.Client); is && s.InMemory {
		url = "redis://" + rdb.Options().Addr + "?protocol=2"
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, "-worker", name, "-namespace", s.Namespace, "-redis", url, "-zk", strings.Join(s.ZooKeeper, ","))
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil { // it ends when this one does
		return nil, err
	}
	said, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start worker %s: %w", name, err)
	}
	p := &process{cmd, make(chan struct{})}
	go func() {
		defer close(p.read)
		seen.read(said)
	}()
	return p, nil
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // kill -9; the only error is that it has ended
	<-p.read
	_ = p.cmd.Wait()
}

func (p *process) end() {
	if p.cmd.ProcessState == nil {
		p.kill()
	}
}

// record is which worker handled a message of a slot last, and when the slot came to it.
type record struct {
	mu   sync.Mutex
	has  map[int]string
	came map[int]time.Time
}

func (r *record) read(said io.Reader) {
	for lines := bufio.NewScanner(said); lines.Scan(); {
		var name string
		var slot int
		if _, err := fmt.Sscan(lines.Text(), &name, &slot); err == nil {
			r.note(name, slot)
		}
	}
}

func (r *record) note(name string, slot int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.has == nil {
		r.has, r.came = map[int]string{}, map[int]time.Time{}
	}
	if r.has[slot] != name {
		r.has[slot], r.came[slot] = name, time.Now()
	}
}

func (r *record) slotsOf(name string) (slots []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for slot, has := range r.has {
		if has == name {
			slots = append(slots, slot)
		}
	}
	return slots
}

// shared reports whether each has half of the slots.
func (r *record) shared() bool {
	return len(r.slotsOf("a")) == beats.Slots/2 && len(r.slotsOf("b")) == beats.Slots/2
}

// stoodStill is the shortest and the longest time until slots came to another worker.
func (r *record) stoodStill(slots []int, since time.Time) (shortest, longest time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n, slot := range slots {
		took := r.came[slot].Sub(since)
		if n == 0 || took < shortest {
			shortest = took
		}
		longest = max(longest, took)
	}
	return shortest, longest
}

// cameSince is how many slots came to another worker since then.
func (r *record) cameSince(slots []int, since time.Time) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, slot := range slots {
		if r.came[slot].After(since) {
			n++
		}
	}
	return n
}
