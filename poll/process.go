package poll

import (
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/lifetime"
	"github.com/slotmq/go-rmq/internal/observers"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/away"
	"github.com/slotmq/go-rmq/internal/servers/rights"
	"github.com/slotmq/go-rmq/internal/servers/wakeups"
)

// process is what all calls and all topics of a Poller share.
type process struct {
	cfg       Config
	scripts   *protocol.Scripts
	observers *observers.Observers // nil: nobody watches
	log       *zap.Logger
	life      *lifetime.Lifetime // of what belongs to no topic
	id        string             // in the lists of those who take
	idleAfter time.Duration      // before a topic is closed that nobody takes from
	away      *away.Watch
	publisher *wakeups.Publisher
	topics    topics
}

// watch is what notices that a server is away, as long as a lifetime lasts.
func (p *process) watch(life *lifetime.Lifetime) *away.Watch {
	return &away.Watch{Log: away.In(p.log), Redis: p.cfg.Redis, Ctx: life.Background, Go: func(look func()) bool {
		life.Go(look)
		return true
	}}
}

// explain says what to do about an error by which Redis refuses something.
func (p *process) explain(err error) error { return rights.Explain(err, rights.User(p.cfg.Redis)) }

func (p *process) qualify(topic string) string { return protocol.Qualify(p.cfg.Namespace, topic) }

func (p *process) keysOf(r *receipt) protocol.SlotKeys {
	return protocol.KeysOf(p.qualify(r.topic.Name), r.slot)
}
