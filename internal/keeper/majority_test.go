package keeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// Three servers that do not agree. They cost much, so all that needs such servers is here, and
// the last of it harms them.
func TestServersThatDisagree(t *testing.T) {
	t.Parallel()
	// A leader that is cut off from the others does not notice here: else it would follow another
	// one, perhaps before the worker's session is over, and the session would go on. The others need
	// 4 s to find that they cannot follow the old one, and may try it again.
	e := servertest.SplitEnsemble(t, 3, "syncLimit=6000", "initLimit=40")
	t.Cleanup(func() {
		for _, m := range e.Members() {
			if log := m.Log(); t.Failed() {
				t.Logf("%s:\n%s", m.Addr(), log[max(0, len(log)-4000):])
			}
		}
	})
	t.Run("one is behind", func(t *testing.T) { verifyAtAServerThatIsBehind(t, e) })
	t.Run("the leader is alone", func(t *testing.T) { leaderWithoutAMajority(t, e) })
}

// A server that is behind the others does not know yet who has just joined.
func verifyAtAServerThatIsBehind(t *testing.T, e *servertest.ZooKeeperEnsemble) {
	behind := e.Followers(t)[0]
	proxy := servertest.NewProxy(t, behind.Addr())
	m := join(t, New(config("/behind", long, proxy.Addr())), worker())
	witness := e.Leader(t).Client(t, long)
	for i := range night.Times(5, 20) {
		holder := fmt.Sprintf("x-%d", i)
		asked := make(chan struct{}, 100)
		proxy.OnRequest(func([]byte) bool {
			asked <- struct{}{}
			return true
		})
		behind.Pause()
		comes(t, witness, m.tree.worker(holder))
		found := make(chan struct{})
		go func() {
			defer close(found)
			verify(t, m, holder, false)
		}()
		await.Signal(t, "a question", asked)
		behind.Resume()
		await.Signal(t, "an answer", found)
	}
	m.Close()
}

// A leader and one worker are cut off from all others, who notice at once, while the
// leader does not. It goes on answering, even to a sync, and the worker must not believe
// in it: the others elect another one, which ends the session.
//
// Nor does it decide on a write meanwhile, and a refusal is a decision, too: about a node that
// is not there, that may not be written, or that is another version.
func leaderWithoutAMajority(t *testing.T, e *servertest.ZooKeeperEnsemble) {
	const timeout = 9 * time.Second
	e.AwaitReady(t)
	leader := e.Leader(t)
	s, err := open(await.Context(t), config("/", long, leader.Addr()).withDefaults())
	must.Do(t, err)
	defer s.abandon()
	must.Do(t, s.ensure(await.Context(t), "/there", nil))
	beside := leader.Client(t, long)
	if _, err := beside.Create("/closed", nil, 0, zk.WorldACL(zk.PermRead)); !errors.Is(err, zk.ErrNodeExists) {
		must.Do(t, err)
	}
	writes := map[string]func() error{
		"no node":  func() error { _, err := s.set(await.Context(t), "/missing", nil, -1); return err },
		"no right": func() error { _, err := s.set(await.Context(t), "/closed", nil, -1); return err },
		"version":  func() error { _, err := s.set(await.Context(t), "/there", nil, 99); return err },
		"exists":   func() error { return s.create(await.Context(t), "/there", nil) },
	}
	for what, write := range writes {
		if err := write(); err == nil || !refused(err) {
			t.Errorf("%s: %v is no refusal", what, err)
		}
	}

	m := join(t, New(config("/alone", timeout, leader.Addr())), worker())
	witness := e.Followers(t)[0].Client(t, long)
	if now := e.Leader(t); now != leader { // on a busy machine another one may be elected at any time
		t.Logf("%s leads after %s; once more", now.Addr(), leader.Addr())
		m.Abandon()
		leaderWithoutAMajority(t, e)
		return
	}
	confirms(t, m) // just now, which is the worst moment
	before, cut := s.answered(), time.Now()
	e.Way(leader).CutClients()

	var writing sync.WaitGroup
	for what, write := range writes {
		writing.Go(func() {
			if err := write(); refused(err) {
				t.Errorf("%s: %v without a majority", what, err)
			}
		})
	}
	// In sessions of their own: what is asked in the other one waits for the writes.
	_, besideErr := beside.Sync("/")
	answers := make(chan int, 1)
	go func() {
		n := 0
		for m.session.sync(context.Background(), "/") == nil {
			n++
		}
		answers <- n
	}()
	gone := make(chan error, 1)
	go func() {
		ctx, look := await.Context(t), time.NewTicker(10*time.Millisecond)
		defer look.Stop()
		for {
			there, _, err := witness.Exists(m.tree.worker(m.ID()))
			if err == nil && !there {
				gone <- nil
				return
			}
			select {
			case <-look.C:
			case <-ctx.Done():
				gone <- fmt.Errorf("it is still there, %w, %w", err, context.Cause(ctx))
				return
			}
		}
	}()
	must.Do(t, await.Signal(t, "the end of the session", gone))
	if until := m.session.confirmed().Add(m.session.timeout()); until.After(time.Now()) {
		t.Errorf("others can prove it dead, and it believes in its session until %v later", time.Until(until))
	}
	if after := time.Since(cut); after < timeout {
		t.Errorf("the session has ended after %v", after)
	}
	if besideErr != nil {
		t.Errorf("the leader has not answered anything beside the writes; they show nothing: %v", besideErr)
	}
	if s.answered().After(before) {
		t.Error("a sign of life without a majority")
	}
	if late := m.session.confirmed().Sub(cut); late > 0 {
		t.Errorf("it believes that the session was alive %v after the leader was cut off", late)
	}
	// Its end is told by a server that follows the others.
	e.Way(leader).Mend()
	leader.Restart(t)
	await.Signal(t, "lost", m.Lost())
	t.Logf("lost after %v, of %v", time.Since(cut), timeout)
	writing.Wait()
	if n := <-answers; n == 0 {
		t.Error("the leader has not answered the worker; it shows nothing")
	} else {
		t.Logf("the leader has answered %d times since", n)
	}
	m.Abandon()
}

// An answered write confirms the one before it, a beat older, or the beginning of the
// connection that has brought the answer.
func TestWhatAWriteConfirms(t *testing.T) {
	t.Parallel()
	const timeout = 8 * time.Second // a beat is a second
	begun := time.Now()
	at := func(d float64) time.Time { return begun.Add(time.Duration(d * float64(time.Second))) }
	s := &session{granted: timeout, alive: begun, heard: begun}
	s.dialed = at(-0.1)
	for i, step := range []struct {
		write, dialed, want float64 // dialed: a connection was begun before the write
	}{
		{write: 0.1, want: 0}, // too soon after the opening
		{write: 1.1, want: 0},
		{write: 1.5, want: 0}, // too soon
		{write: 2.2, want: 1.1},
		{write: 2.1, want: 1.1}, // an answer that overtook another
		{write: 3.2, want: 2.2},
		{write: 5.0, dialed: 4.8, want: 4.8},
		{write: 5.9, want: 4.8},
		{write: 6.0, want: 5.0},
		{write: 6.9, dialed: 7.5, want: 5.0}, // begun before the connection: of the one before
		{write: 7.6, want: 7.5},
	} {
		if step.dialed > 0 {
			s.dialed = at(step.dialed)
		}
		s.confirm(at(step.write))
		if got := s.confirmed(); !got.Equal(at(step.want)) {
			t.Errorf("step %d: confirmed at %v, want %v s", i, got.Sub(begun), step.want)
		}
	}
}

// A write that was long under way confirms the time when it was begun, and not that of its
// answer: who has decided on it may have been lost since.
func TestLateAnswerConfirmsTheBeginning(t *testing.T) {
	t.Parallel()
	srv := servertest.SharedZooKeeper(t)
	proxy := servertest.NewProxy(t, srv.Addr())
	root := srv.Chroot(t)
	s := openHere(t, root, proxy.Addr())
	if err := s.create(await.Context(t), root+"/a", nil); err != nil {
		t.Fatal(err)
	}
	asked, answer := make(chan struct{}), make(chan struct{})
	proxy.OnRequest(func(b []byte) bool {
		if asks(b, opSet) {
			close(asked)
			<-answer
		}
		return true
	})
	before := time.Now()
	s.mu.Lock()
	s.alive, s.heard = before.Add(-long), before.Add(-long) // so that the next write counts
	s.mu.Unlock()
	written := make(chan error, 1)
	go func() {
		_, err := s.set(await.Context(t), root+"/a", nil, -1)
		written <- err
	}()
	await.Signal(t, "the write", asked)
	underWay := time.Now()
	close(answer)
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if heard := s.answered(); heard.Before(before) || heard.After(underWay) {
		t.Errorf("begun between 0 and %v, and taken for %v", underWay.Sub(before), heard.Sub(before))
	}
}

// What a worker writes to may be closed to it, by a person or by a tool: then it lives all
// the same, proves others dead, and says so once.
func TestOwnedMayNotBeWritten(t *testing.T) {
	t.Parallel()
	srv := servertest.SharedZooKeeper(t)
	proxy, conn := servertest.NewProxy(t, srv.Addr()), srv.Client(t, long)
	cfg := config(srv.Chroot(t), 12*time.Second, proxy.Addr())
	k := New(cfg)
	core, logs := observer.New(zap.WarnLevel)
	talks := worker()
	talks.Logger = zap.New(core)
	m, closed := join(t, k, talks), join(t, k, worker())
	path := m.tree.owned(m.ID())
	tries := make(chan struct{}, 1000)
	proxy.OnRequest(func(b []byte) bool {
		if slices.Contains(requests(b), request{opSet, path}) {
			tries <- struct{}{}
		}
		return true
	})
	if _, err := conn.SetACL(path, zk.WorldACL(zk.PermRead), -1); err != nil {
		t.Fatal(err)
	}
	if err := m.write(await.Context(t)); !errors.Is(err, zk.ErrNoAuth) {
		t.Fatalf("it may be written: %v", err)
	}
	closed.Close()
	verify(t, m, closed.ID(), true)
	said := func() int {
		return logs.FilterMessage("people cannot see what the worker holds: its node may not be written").Len()
	}
	m.Show("orders", []int{1})
	await.Nil(t, "it is said", func() error {
		if said() == 0 {
			return errors.New("not yet")
		}
		return nil
	})
	m.Show("orders", []int{2})
	for len(tries) > 0 {
		<-tries
	}
	for range 3 { // of what it holds now, too, and of its beats
		await.Signal(t, "it tries to write", tries)
	}
	confirms(t, m)
	if n := said(); n != 1 {
		t.Errorf("it is said %d times", n)
	}
}
