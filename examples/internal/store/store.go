// Package store is what the examples have in common: the flags -redis and -zk, a
// Redis to work with, and a decent end.
//
// Without -redis it is an in-memory Redis inside the process. With it, a
// program works in a namespace of its own, and deletes its keys at the end, and
// its nodes in ZooKeeper.
package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/rmq"
)

// Store is where an example works: its Redis, and its ZooKeeper if it has one.
type Store struct {
	Redis     redis.UniversalClient
	Where     string // for people
	InMemory  bool
	Namespace string   // of this run; empty in memory
	ZooKeeper []string // its servers; none without -zk

	server *miniredis.Miniredis
	kept   bool // the keys stay
}

// Main reads the command line, opens the store, runs the example and ends the
// program: 0 if all went well, 1 if not, 2 if the command line is wrong. The
// context ends at SIGTERM or Ctrl-C.
func Main(run func(ctx context.Context, s *Store) error) {
	main(run, flag.String("zk", "", zooKeeperUsage))
}

// MainWithoutZooKeeper is Main for an example that shares no slots.
func MainWithoutZooKeeper(run func(ctx context.Context, s *Store) error) { main(run, new(string)) }

func main(run func(ctx context.Context, s *Store) error, zk *string) {
	name := filepath.Base(os.Args[0])
	url := flag.String("redis", "", "the `URL` of a Redis, such as redis://localhost:6379/0 (default: one in memory, inside this program)")
	code, done := parse(name)
	var options *redis.Options
	var servers []string
	if !done && *url != "" {
		var err error
		if options, err = redis.ParseURL(*url); err != nil {
			code, done = wrong(name, errors.New("-redis must be a URL such as redis://localhost:6379/0")), true
		}
	}
	if !done {
		var err error
		if servers, err = parseZooKeeper(*zk, *url); err != nil {
			code, done = wrong(name, err), true
		}
	}
	if done {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	s, err := open(ctx, options, servers, name)
	if err == nil {
		err = run(ctx, s)
		err = errors.Join(err, s.close())
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// parse reads the command line. Whatever is wrong with it is reported in one line.
func parse(name string) (code int, done bool) {
	flags := flag.CommandLine
	flags.Init(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	err := flags.Parse(os.Args[1:])
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Printf("%s takes these flags:\n", name)
		flags.SetOutput(os.Stdout)
		flags.PrintDefaults()
		return 0, true
	case err != nil:
		return wrong(name, err), true
	}
	return 0, false
}

func wrong(name string, err error) (code int) {
	fmt.Fprintf(os.Stderr, "%s: %v (%s -h shows the flags)\n", name, err, name)
	return 2
}

// patience is for servers that do not answer.
const patience = 5 * time.Second

// open opens the Redis of these options, or one in memory if there are none,
// and checks that it answers, and ZooKeeper, too.
func open(ctx context.Context, options *redis.Options, zooKeeper []string, name string) (*Store, error) {
	logging.Disable() // go-redis would report each failed dial by itself
	s := &Store{ZooKeeper: zooKeeper}
	if options != nil {
		s.Where = fmt.Sprintf("the Redis at %s, database %d", options.Addr, options.DB)
		s.Namespace = unique(name)
	} else {
		var err error
		if s.server, err = miniredis.Run(); err != nil {
			return nil, fmt.Errorf("start the in-memory Redis: %w", err)
		}
		s.Where, s.InMemory = "an in-memory Redis inside this program", true
		options = &redis.Options{Addr: s.server.Addr(), Protocol: 2}
	}
	if zooKeeper != nil {
		s.Where += ", and with the ZooKeeper at " + strings.Join(zooKeeper, ",")
	}
	options.DialerRetries = 1 // who waits at a terminal wants to know
	s.Redis = redis.NewClient(options)
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := s.Redis.Ping(asking).Err()
	if err != nil {
		err = fmt.Errorf("Redis does not answer: %w", err)
	} else {
		err = s.askZooKeeper(ctx)
	}
	if err != nil {
		_ = s.Redis.Close()
		return nil, err
	}
	return s, nil
}

// unique returns a namespace that no other run has.
func unique(name string) string {
	random := make([]byte, 4)
	_, _ = rand.Read(random) // never fails
	return name + "-" + hex.EncodeToString(random)
}

// Client returns a client of this run, which the example closes.
func (s *Store) Client(cfg rmq.Config) (*rmq.Client, error) {
	cfg.Redis, cfg.Namespace, cfg.Slots = s.Redis, s.Namespace, s.sharing(cfg.Lease)
	return rmq.New(cfg)
}

// Share lets the run work in a namespace that other programs use, too. Its keys
// are not deleted at the end.
func (s *Store) Share(namespace string) { s.Namespace, s.kept = namespace, true }

// On returns the store with another client.
func (s *Store) On(rdb redis.UniversalClient) *Store {
	other := *s
	other.Redis, other.Namespace = rdb, unique("client")
	return &other
}

// Keys returns the keys of the slot of a topic of this run, for a look at what
// is stored.
func (s *Store) Keys(topic string, slot int) protocol.SlotKeys {
	return protocol.KeysOf(protocol.Qualify(s.Namespace, topic), slot)
}

func (s *Store) close() error {
	var err error
	if s.Namespace != "" && !s.kept {
		ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
		defer cancel()
		err = s.CleanUp(ctx)
	}
	_ = s.Redis.Close()
	if s.server != nil {
		s.server.Close()
	}
	return err
}
