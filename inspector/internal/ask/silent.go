package ask

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
)

// A master of a Cluster that hangs holds up each question put to it for as long as the
// client's limits and repetitions allow, and all that are in one pipeline with it. So each
// master is asked first whether it answers at all.

// It may take 2 s. One that did not answer is not asked again for silentFor,
// and one that did, not for a moment: a question about a topic is many. So a silent master
// costs a look 2 s, and 2 s more for each further 7 s that it takes, however many slots there
// are.
const (
	silentFor   = 5 * time.Second
	answeredFor = time.Second
)

// silentError is that a master does not answer.
type silentError struct {
	addr string
	err  error
}

func (s *silentError) Error() string {
	return "server " + s.addr + " does not answer: " + OneLine(s.err)
}
func (s *silentError) Unwrap() error { return s.err }

// LastAnswers are those of the masters, to remember which ones do not answer.
type LastAnswers struct {
	mu     sync.Mutex
	latest map[string]lastAnswer // by address
}

type lastAnswer struct {
	until time.Time // it counts
	err   error     // nil: it answered
}

func (l *LastAnswers) Note(addr string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.latest == nil {
		l.latest = map[string]lastAnswer{}
	}
	if err != nil {
		l.latest[addr] = lastAnswer{time.Now().Add(silentFor), &silentError{addr, err}}
	} else {
		l.latest[addr] = lastAnswer{time.Now().Add(answeredFor), nil}
	}
}

func (l *LastAnswers) get(addr string) (lastAnswer, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, known := l.latest[addr]
	return last, known && time.Now().Before(last.until)
}

// Silent returns for each key why its master must not be asked for it; nil: it answers. Of one
// server, which has all keys, the question itself finds that out.
func (l *LastAnswers) Silent(ctx context.Context, rdb redis.UniversalClient, keys []string) []error {
	errs := make([]error, len(keys))
	if !cluster.IsCluster(rdb) {
		return errs
	}
	addrs := make([]string, len(keys))
	var asked sync.WaitGroup
	met := map[string]bool{}
	for n, key := range keys {
		master, addr, err := cluster.MasterFor(ctx, rdb, key)
		if errs[n] = err; err != nil {
			continue
		}
		addrs[n] = addr
		if _, known := l.get(addr); known || met[addr] {
			continue
		}
		met[addr] = true
		asked.Go(func() {
			if err := answers(ctx, master); ctx.Err() == nil {
				l.Note(addr, err)
			}
		})
	}
	asked.Wait()
	for n, addr := range addrs {
		if last, _ := l.get(addr); errs[n] == nil && last.err != nil {
			errs[n] = last.err
		}
	}
	return errs
}

// answers is nil if a master answers, whatever it says.
func answers(ctx context.Context, master redis.UniversalClient) error {
	one, ok := master.(*redis.Client)
	if !ok {
		return nil
	}
	// The deadline bounds dialling and repeating; the time-outs, reading.
	within := 2 * cluster.Patience
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := one.WithTimeout(within).Ping(ctx).Err(); cluster.Unanswered(err) {
		return err
	}
	return nil
}
