package keeper

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// A leader and one worker are cut off from all others, who notice at once, while the
// leader does not. It goes on answering, even to a sync, and the worker must not believe
// in it: the others elect another one, which ends the session.
func TestLeaderWithoutAMajority(t *testing.T) {
	t.Parallel()
	const timeout = 4 * time.Second
	e := servertest.SplitEnsemble(t, 3, "initLimit=20") // or it takes 10 s to find that the old leader cannot be followed
	leader := e.Leader(t)
	m := join(t, New(config("/rmq", timeout, leader.Addr())), worker())
	witness := e.Followers(t)[0].Client(t, long)
	confirms(t, m) // just now, which is the worst moment
	cut := time.Now()
	e.Way(leader).CutClients()

	answers := make(chan int, 1)
	go func() {
		n := 0
		for m.session.sync(context.Background(), "/") == nil {
			n++
		}
		answers <- n
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	gone := make(chan error, 1)
	go func() {
		var err error
		for there := true; there || err != nil; {
			<-time.After(10 * time.Millisecond)
			there, _, err = witness.Exists(m.tree.worker(m.ID()))
			if time.Since(cut) > 3*patience {
				break
			}
		}
		gone <- err
	}()
	select {
	case <-m.Lost():
	case err := <-gone:
		if until := m.session.confirmed().Add(m.session.timeout()); until.After(time.Now()) {
			t.Errorf("others can prove it dead, and it believes in its session until %v later", time.Until(until))
		}
		await(t, "lost", m.Lost())
		gone <- err
	case <-timer.C:
		t.Fatalf("%v after the leader was cut off, it believes in a session of %v", time.Since(cut).Round(time.Second), timeout)
	}
	lost := time.Now()
	if n := <-answers; n == 0 {
		t.Error("the leader has not answered anything; the test shows nothing")
	} else {
		t.Logf("the leader has answered %d times since", n)
	}
	if late := m.session.confirmed().Sub(cut); late > 0 {
		t.Errorf("it believes that the session was alive %v after the leader was cut off", late)
	}
	t.Logf("lost after %v, of %v", lost.Sub(cut), timeout)
	m.Abandon()
	leader.Pause() // or it takes part in elections, in which it cannot be reached
	if err := <-gone; err != nil {
		t.Fatal(err)
	}
	if after := time.Since(cut); after < timeout {
		t.Errorf("the session has ended after %v", after)
	}
}

// No write is decided on without a majority, and a refusal is a decision, too: about a
// node that is not there, that may not be written, or that is another version.
func TestRefusalsNeedAMajority(t *testing.T) {
	t.Parallel()
	e := servertest.SplitEnsemble(t, 3)
	leader := e.Leader(t)
	s, err := open(within(t), config("/", 6*time.Second, leader.Addr()).withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	defer s.abandon()
	if err := s.create(within(t), "/there", nil); err != nil {
		t.Fatal(err)
	}
	witness := leader.Client(t, long)
	if _, err := witness.Create("/closed", nil, 0, zk.WorldACL(zk.PermRead)); err != nil {
		t.Fatal(err)
	}
	writes := map[string]func() error{
		"no node":  func() error { _, err := s.set(within(t), "/missing", nil, -1); return err },
		"no right": func() error { _, err := s.set(within(t), "/closed", nil, -1); return err },
		"version":  func() error { _, err := s.set(within(t), "/there", nil, 99); return err },
		"exists":   func() error { return s.create(within(t), "/there", nil) },
	}
	for what, write := range writes {
		if err := write(); err == nil || !refused(err) {
			t.Errorf("%s: %v is no refusal", what, err)
		}
	}
	before := s.answered()
	e.Way(leader).CutClients()
	var writing sync.WaitGroup
	for what, write := range writes {
		writing.Go(func() {
			if err := write(); refused(err) {
				t.Errorf("%s: %v without a majority", what, err)
			}
		})
	}
	// In a session of its own: what is asked in the other one waits for the writes.
	_, err = witness.Sync("/")
	writing.Wait()
	if err != nil {
		t.Errorf("the leader has not answered anything, so the test shows nothing: %v", err)
	}
	if s.answered().After(before) {
		t.Error("a sign of life without a majority")
	}
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
	if err := s.create(within(t), root+"/a", nil); err != nil {
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
		_, err := s.set(within(t), root+"/a", nil, -1)
		written <- err
	}()
	await(t, "the write", asked)
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
	cfg, conn := shared(t)
	cfg.SessionTimeout = 3 * time.Second
	k := New(cfg)
	core, logs := observer.New(zap.WarnLevel)
	talks := worker()
	talks.Logger = zap.New(core)
	m, closed := join(t, k, talks), join(t, k, worker())
	path := m.tree.owned(m.ID())
	if _, err := conn.SetACL(path, zk.WorldACL(zk.PermRead), -1); err != nil {
		t.Fatal(err)
	}
	if err := m.write(within(t)); !errors.Is(err, zk.ErrNoAuth) {
		t.Fatalf("it may be written: %v", err)
	}
	closed.Close()
	verify(t, m, closed.ID(), true)
	said := func() int {
		return logs.FilterMessage("people cannot see what the worker holds: its node may not be written").Len()
	}
	m.Show("orders", []int{1})
	eventually(t, "it is said", func() error {
		if said() == 0 {
			return errors.New("not yet")
		}
		return nil
	})
	m.Show("orders", []int{2})
	for held := time.Now(); time.Since(held) < 2*debounce; { // it tries to write that, too
		confirms(t, m)
	}
	if n := said(); n != 1 {
		t.Errorf("it is said %d times", n)
	}
}
