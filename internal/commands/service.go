package commands

import (
	"context"
	"flag"
	"io"
	"math"
	"runtime/debug"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/silence"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/slots"
)

// Service is a command that a program has besides those of rmq, such as one that serves others until it is ended.
type Service struct {
	Use, Short, Long, Example string

	// Flags adds its flags, and returns what runs it when they have been read. ctx ends with the first
	// signal, and the process with the second.
	Flags func(flags *flag.FlagSet) func(ctx context.Context, s *Setup, args []string) error
}

// Setup is what the flags of all commands say, to a service.
type Setup struct {
	Program   string // how it is called
	Namespace string
	Out, Errs io.Writer

	// ZooKeeper is where its servers are, and their root and password; no servers: there is none.
	ZooKeeper slots.ZooKeeperConfig

	app *app
}

// Redis connects, and checks that the server answers.
func (s *Setup) Redis(ctx context.Context) (redis.UniversalClient, error) {
	if _, err := s.app.inspector(ctx); err != nil {
		return nil, err
	}
	return s.app.rdb, nil
}

// StandAlone has everything use a Redis of its own, whatever the environment says, and no journal. It returns the flag
// that names another one, if there is any.
func (s *Setup) StandAlone(url string) (against string) {
	switch {
	case s.app.redis != "":
		return "--redis"
	case s.app.journalURL != "":
		return "--journal"
	}
	s.app.redis, s.app.Databases = url, nil
	return ""
}

// RedisAt is where Redis is, without user and password. It is known when Redis has been called.
func (s *Setup) RedisAt() string { return silence.Server(s.app.rdb) }

// Inspector looks at what Redis has, and tells the journal what it changes, if that was opened before.
func (s *Setup) Inspector(ctx context.Context) (*inspector.Inspector, error) {
	return s.app.inspector(ctx)
}

// Journal opens the journal; nil if there is none. It is closed when the service has ended.
func (s *Setup) Journal(ctx context.Context) (*journal.Journal, error) {
	j, err := s.app.openJournal(ctx, toServe)
	if err != nil || j == nil {
		return nil, err
	}
	return j.Journal, nil
}

// Misused is an error about how a service was called: its exit code is 2.
func Misused(format string, args ...any) error { return misused(format, args...) }

// Failed is an error that needs no further explanation.
func Failed(format string, args ...any) error { return failed(format, args...) }

func (a *app) serviceCommand(s Service) *cobra.Command {
	cmd := &cobra.Command{Use: s.Use, Short: s.Short, Long: s.Long, Example: s.Example}
	flags := flag.NewFlagSet(s.Use, flag.ContinueOnError)
	run := s.Flags(flags)
	cmd.Flags().AddGoFlagSet(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		debug.SetMemoryLimit(math.MaxInt64) // it is for calls that are over soon
		setup := &Setup{Program: a.Name, Namespace: a.space(), Out: a.out, Errs: a.errs, ZooKeeper: a.zooKeeperConfig(), app: a}
		return run(cmd.Context(), setup, args)
	}
	return cmd
}
