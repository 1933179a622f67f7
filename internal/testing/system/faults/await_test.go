package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
)

// await returns when cond holds. Who waits in vain is told what stands where.
func (l *traffic) await(what string, cond func() bool) {
	l.t.Helper()
	is := false
	defer func() {
		if !is {
			l.t.Log(l.stuck())
		}
	}()
	await.True(l.t, l.namespace+": "+what, cond)
	is = true
}

// flows returns when n more messages were accepted, and n more handled, on the
// slots of each of the shards, or of all.
func (l *traffic) flows(n int, on ...*shard) {
	l.t.Helper()
	if on == nil {
		on = l.shards
	}
	l.mu.Lock()
	before := map[*shard][2]int{}
	for _, s := range on {
		accepted, handled := s.counts()
		before[s] = [2]int{accepted, handled}
	}
	l.mu.Unlock()
	for _, s := range on {
		l.await(fmt.Sprintf("%d more accepted and handled on the slots of %s", n, s.server), func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			accepted, handled := s.counts()
			return accepted >= before[s][0]+n && handled >= before[s][1]+n
		})
	}
}

// counts are the messages accepted and handled so far.
func (s *shard) counts() (accepted, handled int) {
	for _, x := range s.spots {
		accepted += len(x.accepted)
		handled += len(x.handled)
	}
	return accepted, handled
}

// harm notes that the fault begins now: on the slots of a server, or on all.
func (l *traffic) harm(on ...*servertest.Server) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.harmed, l.hit = time.Now(), nil
	for _, s := range l.shards {
		if on == nil || slices.ContainsFunc(on, func(x *servertest.Server) bool { return x.Addr() == s.server }) {
			l.hit = append(l.hit, s)
		}
	}
}

// others are the shards that the fault did not hit.
func (l *traffic) others() []*shard {
	return slices.DeleteFunc(slices.Clone(l.shards), func(s *shard) bool { return slices.Contains(l.hit, s) })
}

// stop ends the sending.
func (l *traffic) stop() {
	l.once.Do(func() {
		l.mu.Lock()
		l.ended = time.Now()
		l.mu.Unlock()
		close(l.stopped)
	})
	l.sending.Wait()
}

// drain ends the sending and returns when nothing waits or is in flight any more.
func (l *traffic) drain() {
	l.t.Helper()
	l.stop()
	l.await("everything that waits is handled", func() bool {
		n, err := l.left()
		return err == nil && n == 0
	})
}

// left counts what waits or is in flight.
func (l *traffic) left() (sum int64, err error) {
	return l.count(func(k protocol.SlotKeys) []string { return []string{k.Store, k.Prepare, k.Retry} })
}

func (l *traffic) dead() (sum int64, err error) {
	return l.count(func(k protocol.SlotKeys) []string { return []string{k.Dead} })
}

func (l *traffic) count(keys func(protocol.SlotKeys) []string) (sum int64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	pipe := l.look.Pipeline()
	var counts []*redis.IntCmd
	for _, s := range l.spots {
		for _, key := range keys(l.keys(s)) {
			counts = append(counts, pipe.ZCard(ctx, key))
		}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		if c, ok := l.look.(*redis.ClusterClient); ok {
			c.ReloadState(ctx)
		}
		return 0, err
	}
	for _, c := range counts {
		sum += c.Val()
	}
	return sum, nil
}

func (l *traffic) keys(s *spot) protocol.SlotKeys {
	return protocol.KeysOf(protocol.Qualify(l.namespace, s.topic.Name), s.index)
}

// stuck tells what stands where, for whoever wants to know why nothing moves.
func (l *traffic) stuck() string {
	var b strings.Builder
	l.mu.Lock()
	for _, s := range l.shards {
		accepted, handled := s.counts()
		fmt.Fprintf(&b, "on the slots of %s: %d accepted, %d handled\n", s.server, accepted, handled)
	}
	fmt.Fprintf(&b, "met %v, refused %v\n", l.met, l.refusals)
	l.mu.Unlock()
	silent := map[*shard]bool{} // one error for each will do
	for _, s := range l.spots {
		if silent[s.shard] {
			continue
		}
		pipe, k := l.look.Pipeline(), l.keys(s)
		store, prepare := pipe.ZCard(context.Background(), k.Store), pipe.ZCard(context.Background(), k.Prepare)
		retry, meta := pipe.ZCard(context.Background(), k.Retry), pipe.HGetAll(context.Background(), k.Meta)
		if _, err := pipe.Exec(context.Background()); err != nil {
			silent[s.shard] = true
			fmt.Fprintf(&b, "%s: %v\n", k.Store, err)
		} else if store.Val()+prepare.Val()+retry.Val() > 0 {
			fmt.Fprintf(&b, "%s on %s: store %d, prepare %d, retry %d, meta %v\n",
				k.Store, s.shard.server, store.Val(), prepare.Val(), retry.Val(), meta.Val())
		}
	}
	return b.String()
}

// noticing notes every error that Redis answers with.
type noticing struct{ l *traffic }

func (n noticing) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		n.note(err)
		return conn, err
	}
}

func (n noticing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		n.noteOf(cmd, err)
		return err
	}
}

func (n noticing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			n.noteOf(cmd, cmd.Err())
		}
		return err
	}
}

// noteOf tells apart what scripts met, which the workers call.
func (n noticing) noteOf(cmd redis.Cmder, err error) {
	n.note(err)
	if strings.HasPrefix(cmd.Name(), "eval") && err != nil {
		n.note(fmt.Errorf("script: %s", gist(err)))
	}
}

func (n noticing) note(err error) {
	if err == nil || errors.Is(err, redis.Nil) || strings.HasPrefix(gist(err), "ERR") {
		return // ERR: the client tries what newer servers know
	}
	n.l.mu.Lock()
	defer n.l.mu.Unlock()
	n.l.met[gist(err)]++
}

// gist is the first word of what Redis said, or what happened to the connection.
func gist(err error) string {
	var reply redis.Error
	var op *net.OpError
	var invalid *rmq.InvalidError
	switch {
	case errors.As(err, &invalid):
		return "invalid " + invalid.Field
	case errors.As(err, &reply):
		word, _, _ := strings.Cut(reply.Error(), " ")
		return strings.TrimSuffix(word, ":")
	case errors.As(err, &op):
		return op.Op + " failed"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline"
	}
	return fmt.Sprintf("%.60v", err)
}

// has tells whether some client was answered with an error.
func (l *traffic) has(word string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.met[word] > 0
}

// wantMet fails the test unless some client was: otherwise the fault did not
// happen, and nothing was tested.
func (l *traffic) wantMet(t *testing.T, word string) {
	t.Helper()
	if !l.has(word) {
		t.Errorf("nobody met %s, only %v", word, l.met)
	}
}

// someKey is a key of the traffic's: its server is the one to harm.
func (l *traffic) someKey() string { return l.keys(l.spots[0]).Store }
