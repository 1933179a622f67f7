package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

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
	t.Run("one is behind", func(t *testing.T) { lookAtAServerThatIsBehind(t, e) })
	t.Run("the leader is alone", func(t *testing.T) { leaderWithoutAMajority(t, e) })
}

// A server that is behind the others does not know yet who has just joined. It does after a
// barrier.
func lookAtAServerThatIsBehind(t *testing.T, e *servertest.ZooKeeperEnsemble) {
	behind := e.Followers(t)[0]
	proxy := servertest.NewProxy(t, behind.Addr())
	w := newWorker(t, opened(t, config(long, proxy.Addr())), "/behind").lives()
	witness := e.Leader(t).Client(t, long)
	for i := range night.Times(5, 20) {
		other := fmt.Sprintf("/behind/x-%d", i)
		asked := make(chan struct{}, 100)
		proxy.OnRequest(func([]byte) bool {
			asked <- struct{}{}
			return true
		})
		behind.Pause()
		comes(t, witness, other, zk.FlagEphemeral)
		found := make(chan struct{})
		go func() {
			defer close(found)
			if err := w.Barrier(await.Context(t)); err != nil {
				t.Error(err)
			}
			if there, _, err := w.Exists(await.Context(t), other); !there || err != nil {
				t.Errorf("%s is not there: %v", other, err)
			}
		}()
		await.Signal(t, "a question", asked)
		behind.Resume()
		await.Signal(t, "an answer", found)
	}
	w.Close()
}

// A leader and one worker are cut off from all others, who notice at once, while the
// leader does not. It goes on answering, even to a sync, and the worker must not believe
// in it: the others elect another one, which ends the session.
//
// Nor does it decide on a write, and a refusal is a decision, too: about a node that is not
// there, that may not be written, or that is another version.
func leaderWithoutAMajority(t *testing.T, e *servertest.ZooKeeperEnsemble) {
	const timeout = 9 * time.Second
	e.AwaitReady(t)
	leader := e.Leader(t)
	s := opened(t, config(long, leader.Addr()))
	must.Do(t, s.Ensure(await.Context(t), "/there", nil))
	beside := leader.Client(t, long)
	if _, err := beside.Create("/closed", nil, 0, zk.WorldACL(zk.PermRead)); !errors.Is(err, zk.ErrNodeExists) {
		must.Do(t, err)
	}
	writes := map[string]func() error{
		"no node":  func() error { _, err := s.Set(await.Context(t), "/missing", nil, -1); return err },
		"no right": func() error { _, err := s.Set(await.Context(t), "/closed", nil, -1); return err },
		"version":  func() error { _, err := s.Set(await.Context(t), "/there", nil, 99); return err },
		"exists":   func() error { return s.Create(await.Context(t), "/there", nil) },
	}
	for what, write := range writes {
		if err := write(); err == nil || !refused(err) {
			t.Errorf("%s: %v is no refusal", what, err)
		}
	}

	w := newWorker(t, opened(t, config(timeout, leader.Addr())), "/alone").lives()
	witness := e.Followers(t)[0].Client(t, long)
	if now := e.Leader(t); now != leader { // on a busy machine another one may be elected at any time
		t.Logf("%s leads after %s; once more", now.Addr(), leader.Addr())
		w.leave()
		leaderWithoutAMajority(t, e)
		return
	}
	w.confirms(t) // just now, which is the worst moment
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
		for w.Sync(context.Background(), "/") == nil {
			n++
		}
		answers <- n
	}()
	gone := make(chan error, 1)
	go func() {
		ctx, look := await.Context(t), time.NewTicker(10*time.Millisecond)
		defer look.Stop()
		for {
			there, _, err := witness.Exists(w.node)
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
	if until := w.confirmed().Add(w.Timeout()); until.After(time.Now()) {
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
	if late := w.confirmed().Sub(cut); late > 0 {
		t.Errorf("it believes that the session was alive %v after the leader was cut off", late)
	}
	// A server that follows the others reports its end.
	e.Way(leader).Mend()
	leader.Restart(t)
	await.Signal(t, "lost", w.Lost())
	t.Logf("lost after %v, of %v", time.Since(cut), timeout)
	writing.Wait()
	if n := <-answers; n == 0 {
		t.Error("the leader has not answered the worker; it shows nothing")
	} else {
		t.Logf("the leader has answered %d times since", n)
	}
	w.leave()
}

// An answered write confirms the one before it, a beat older, or the beginning of the
// connection that has brought the answer.
func TestWhatAWriteConfirms(t *testing.T) {
	t.Parallel()
	const timeout = 8 * time.Second // a beat is a second
	begun := time.Now()
	at := func(d float64) time.Time { return begun.Add(time.Duration(d * float64(time.Second))) }
	s := &signs{granted: timeout, alive: begun, heard: begun, dialed: at(-0.1)}
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
	s := opened(t, config(long, proxy.Addr()))
	if err := s.Create(await.Context(t), root+"/a", nil); err != nil {
		t.Fatal(err)
	}
	asked, answer := make(chan struct{}), make(chan struct{})
	proxy.OnRequest(func(b []byte) bool {
		if bytes.Contains(b, []byte(root+"/a")) {
			close(asked)
			<-answer
		}
		return true
	})
	before := time.Now()
	s.signs.mu.Lock()
	s.alive, s.heard = before.Add(-long), before.Add(-long) // so that the next write counts
	s.signs.mu.Unlock()
	written := make(chan error, 1)
	go func() {
		_, err := s.Set(await.Context(t), root+"/a", nil, -1)
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
