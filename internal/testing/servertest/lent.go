package servertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// mostLent is how many of a kind there are at most. Tests that run at once wait for each other
// then, which costs less than more servers.
const mostLent = 4

// loan is what the tests of this process have one after the other: a server, or a Cluster.
type loan interface {
	servers() []*Server
	end() error
}

// lent are all of one kind. They are started when they are needed and stopped by Main.
type lent[L loan] struct {
	start  func(testing.TB) (L, error)
	places chan struct{}

	sync.Mutex
	idle []L
	was  map[*Server]string // what each says of itself, which no test may change
	ends bool               // Main knows of it
}

func lending[L loan](start func(testing.TB) (L, error)) *lent[L] {
	return &lent[L]{start: start, places: make(chan struct{}, mostLent), was: map[*Server]string{}}
}

var (
	lentRedis    = lending(startLentRedis)
	lentClusters = lending(startLentCluster)
)

// LentRedis is a server that this test has for itself, and that other tests had before and have
// after it: it is empty, knows no script, and is so again when the test is over. A test neither harms it nor
// changes its configuration or users, and takes no second one.
func LentRedis(t testing.TB) *Server {
	t.Helper()
	return lentRedis.take(t)[0]
}

// LentCluster is to Cluster what LentRedis is to Redis. It has three masters, without replicas.
func LentCluster(t testing.TB) *RedisCluster {
	t.Helper()
	return (*RedisCluster)(lentClusters.take(t))
}

// take waits for one, and gives it back when everything else of the test has ended.
func (l *lent[L]) take(t testing.TB) L {
	t.Helper()
	l.places <- struct{}{}
	t.Cleanup(func() { <-l.places })
	one, err := l.next(t)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.back(one); err != nil {
			t.Errorf("a server that was lent: %v", err)
		}
	})
	return one
}

// next is one that is idle, or a new one.
func (l *lent[L]) next(t testing.TB) (one L, err error) {
	l.Lock()
	if n := len(l.idle) - 1; n >= 0 {
		one, l.idle = l.idle[n], l.idle[:n]
		l.Unlock()
		return one, nil
	}
	if !l.ends {
		l.ends = true
		AtEnd(l.end)
	}
	l.Unlock()
	if one, err = l.start(t); err != nil {
		return one, err
	}
	for _, s := range one.servers() {
		says, err := s.habits()
		if err != nil {
			return one, errors.Join(err, one.end())
		}
		l.Lock()
		l.was[s] = says
		l.Unlock()
	}
	return one, nil
}

// back empties one for the next test. One that cannot be used any more is ended.
func (l *lent[L]) back(one L) error {
	for _, s := range one.servers() {
		says, err := s.habits()
		l.Lock()
		was := l.was[s]
		l.Unlock()
		if err == nil && says != was {
			err = errors.New("its configuration or its users were changed; take one of the test's own")
		}
		if err == nil {
			err = s.empty()
		}
		if err != nil {
			return errors.Join(err, one.end())
		}
	}
	l.Lock()
	defer l.Unlock()
	l.idle = append(l.idle, one)
	return nil
}

func (l *lent[L]) end() error {
	l.Lock()
	defer l.Unlock()
	var errs []error
	for _, one := range l.idle {
		errs = append(errs, one.end())
	}
	l.idle, l.ends = nil, false
	return errors.Join(errs...)
}

// ask does something with a client of the server that is closed at once.
func (s *Server) ask(do func(context.Context, *redis.Client) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	rdb := redis.NewClient(&redis.Options{Addr: s.addr, ContextTimeoutEnabled: true})
	defer rdb.Close()
	return do(ctx, rdb)
}

// habits are the configuration and the users.
func (s *Server) habits() (says string, err error) {
	return says, s.ask(func(ctx context.Context, rdb *redis.Client) error {
		config, err := rdb.ConfigGet(ctx, "*").Result()
		if err != nil {
			return err
		}
		users, err := rdb.ACLList(ctx).Result()
		says = fmt.Sprint(config, users) // a map is printed in the order of its keys
		return err
	})
}

// empty ends what other clients have begun, and then forgets everything.
func (s *Server) empty() error {
	return s.ask(func(ctx context.Context, rdb *redis.Client) error {
		for _, kind := range []string{"normal", "pubsub"} { // but this one
			if err := rdb.ClientKillByFilter(ctx, "type", kind).Err(); err != nil {
				return err
			}
		}
		if err := rdb.ScriptFlush(ctx).Err(); err != nil {
			return err
		}
		return rdb.FlushAll(ctx).Err()
	})
}

// lentServer is one server as a loan.
type lentServer []*Server

func (l lentServer) servers() []*Server { return l }

func (l lentServer) end() error { return l[0].endShared() }

func startLentRedis(t testing.TB) (lentServer, error) {
	t.Helper()
	path, argv0 := redisBinary(t)
	dir, err := lentDir()
	if err != nil {
		return nil, err
	}
	s, err := startRedis(path, argv0, dir, nil)
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	s.shared = true
	return lentServer{s}, nil
}

// lentCluster is a Cluster as a loan.
type lentCluster RedisCluster

func (l *lentCluster) servers() []*Server { return l.nodes }

func (l *lentCluster) end() error {
	var errs []error
	for _, s := range l.nodes {
		errs = append(errs, l.admin[s].Close(), s.endShared())
	}
	return errors.Join(errs...)
}

func startLentCluster(t testing.TB) (*lentCluster, error) {
	t.Helper()
	path, argv0 := redisBinary(t)
	c := &RedisCluster{masters: 3}
	err := c.start(path, argv0, lentDir, nil, func(s *Server) { s.shared = true })
	if err != nil {
		return nil, errors.Join(err, (*lentCluster)(c).end())
	}
	return (*lentCluster)(c), nil
}

// lentDir is a directory that outlives the test.
func lentDir() (string, error) { return os.MkdirTemp("", "rmq-redis-") }
