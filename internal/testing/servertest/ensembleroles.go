package servertest

import (
	"errors"
	"sync"
	"testing"
)

// Leader is the member that leads now. While there is none, it waits.
func (e *ZooKeeperEnsemble) Leader(t testing.TB) *ZooKeeperServer {
	t.Helper()
	var leader *ZooKeeperServer
	e.await(t, "the leader", func() (err error) {
		leader, _, err = e.roles()
		return err
	})
	return leader
}

// Followers are the members that follow the leader now. While there is none, it waits.
func (e *ZooKeeperEnsemble) Followers(t testing.TB) []*ZooKeeperServer {
	t.Helper()
	var followers []*ZooKeeperServer
	e.await(t, "the followers", func() (err error) {
		if _, followers, err = e.roles(); err == nil && len(followers) == 0 {
			err = errors.New("nobody follows")
		}
		return err
	})
	return followers
}

// roles asks all members at once. Those that do not answer are left out.
func (e *ZooKeeperEnsemble) roles() (leader *ZooKeeperServer, followers []*ZooKeeperServer, err error) {
	answers := make([]status, len(e.members))
	var asked sync.WaitGroup
	for i, m := range e.members {
		asked.Go(func() { answers[i], _ = m.status(askPatience) })
	}
	asked.Wait()
	var epoch uint64
	for i, m := range e.members {
		switch answers[i].mode {
		case "leader":
			// A former leader that comes out of a pause believes in itself for a
			// moment; the greater epoch shows which is right.
			if now := answers[i].zxid >> 32; leader == nil || now > epoch {
				leader, epoch = m, now
			}
		case "follower":
			followers = append(followers, m)
		}
	}
	if leader == nil {
		return nil, nil, errors.New("nobody leads")
	}
	return leader, followers, nil
}
