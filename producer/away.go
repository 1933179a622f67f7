package producer

import (
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/cluster"
)

// slowAnswer is when an answer of a Cluster's master comes so late that another one
// may have taken its place meanwhile.
const slowAnswer = 500 * time.Millisecond

var errAway = errors.New("the server was away for so long that another one may have taken its place, and it is not confirmed to be the master")

// doubts are about masters that answered late, or have not answered yet. A master
// that has stood still executes and acknowledges what it finds in its sockets when it
// goes on, before it hears that a replica was made master; then it throws that away.
type doubts struct {
	mu    sync.Mutex
	about map[string]bool // addresses
}

func (d *doubts) raise(addr string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.about == nil {
		d.about = map[string]bool{}
	}
	d.about[addr] = true
}

func (d *doubts) dispel(addr string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.about, addr)
}

func (d *doubts) any(addr string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.about[addr]
}

// address is that of a server of a Cluster.
func (p *Producer) address(at server) string {
	if one, ok := at.UniversalClient.(*redis.Client); ok {
		return one.Options().Addr
	}
	return ""
}

// confirm lets answers count only if their server, about which there are doubts, is
// the master still, as the other masters say after it has answered. Else the writes are
// as good as unanswered, and are sent again to whom the Cluster names.
func (p *Producer) confirm(addr string, writes []*write) {
	if cluster.StillMaster(p.run, p.rdb, addr, writes[0].lane.store()) {
		p.doubts.dispel(addr)
		return
	}
	for _, w := range writes {
		if w.Err() == nil {
			w.SetErr(errAway)
		}
	}
}
