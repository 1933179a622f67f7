package producer

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// slowAnswer is how late an answer of a Cluster's master may be. After that, a replica may
// have been made master in between.
const slowAnswer = 500 * time.Millisecond

var errAway = errors.New("the server was away for so long that another one may have taken its place, and it is not confirmed to be the master")

// doubts are about masters that answered late, or have not answered yet. When a master
// that was frozen goes on, it first executes and acknowledges what it finds in its
// sockets. Only then does it learn that a replica was made master, and it throws those
// writes away.
//
// Perhaps no replica has taken its place yet, but one is about to: the other masters still call it
// failed. Then its answers wait for the outcome, but only for a while after the first of them: perhaps
// no replica will.
type doubts struct {
	waits time.Duration
	mu    sync.Mutex
	about map[string]time.Time // address → when it answered again; zero: it has not yet
}

// askAgain is about how long to wait before asking again whether there is an outcome.
const askAgain = 100 * time.Millisecond

// electionTakes is how long it takes to make a replica master, once others call its master failed: the replica waits
// for 0.5 to 1 s, longer if other replicas have newer data, and is elected in one round trip.
const electionTakes = 2 * time.Second

func newDoubts() doubts { return doubts{waits: electionTakes, about: map[string]time.Time{}} }

// raise notes that a server is slow.
func (d *doubts) raise(addr string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, doubted := d.about[addr]; !doubted {
		d.about[addr] = time.Time{}
	}
}

// silent notes that a server has not answered.
func (d *doubts) silent(addr string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.about[addr] = time.Time{}
}

func (d *doubts) dispel(addr string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.about, addr)
}

func (d *doubts) any(addr string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, doubted := d.about[addr]
	return doubted
}

// answered notes that a server answers again, and returns until when to wait for an outcome.
func (d *doubts) answered(addr string) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.about[addr].IsZero() {
		d.about[addr] = time.Now()
	}
	return d.about[addr].Add(d.waits)
}

// address is that of a server of a Cluster.
func (e *executor) address(at server) string {
	if one, ok := at.UniversalClient.(*redis.Client); ok {
		return one.Options().Addr
	}
	return ""
}

// judge makes the answers of a server count only if they may.
func (e *executor) judge(addr string, asking, late bool, writes []*write) {
	switch {
	case slices.ContainsFunc(writes, func(w *write) bool { return w.Err() == nil }):
		if late || e.doubts.any(addr) {
			e.confirm(addr, asking, late, writes)
		}
	case slices.ContainsFunc(writes, func(w *write) bool { return cluster.Unanswered(w.Err()) }):
		e.doubts.silent(addr)
	}
}

// confirm asks the other masters whether a server is still a master, after it answered
// late. If they do not confirm it, its answers do not count, and the writes are sent again,
// to the server that the Cluster names now.
//
// One key stands for all writes, whatever hash slots theirs are in. A replica that takes
// over gets all hash slots of its master at once, so the server has lost all of them or
// none. A single hash slot leaves a master only by a migration, in which the master
// takes part: what it has acknowledged moves along. (A person can give away a single
// hash slot of a server that stands still, but that loses what is in it.)
func (e *executor) confirm(addr string, asking, late bool, writes []*write) {
	key := writes[0].lane.store()
	if asking { // its hash slot is on the way there, and no server says that it has arrived
		key = ""
	}
	for until := e.doubts.answered(addr); ; {
		standing := cluster.StandingOf(e.run, e.rdb, addr, key)
		over := time.Now().After(until)
		if standing == cluster.Failing && !over && wait.Sleep(e.run, askAgain/2+rand.N(askAgain)) {
			continue
		}
		if standing == cluster.Master || standing == cluster.Failing && over {
			if standing == cluster.Master || !late { // else the next late answer would wait as long again
				e.doubts.dispel(addr)
			}
			return
		}
		break
	}
	for _, w := range writes {
		if w.Err() == nil {
			w.SetErr(errAway)
		}
	}
}
