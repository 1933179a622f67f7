package consumer

import (
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/slotmq/go-rmq/internal/schedule"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

// topic is what a consumer keeps about a topic it listens to.
type topic struct {
	message.Topic        // with the number of slots, once it has started
	name          string // qualified by the namespace
	opts          ListenOptions
	listener      MessageListener
	refused       atomic.Bool // its definition is another one now
	part          float64     // of a period after which it is first looked after: above 0, up to 1
	scheduled     *schedule.Topic
	size          batchSize
	takeover      takeoverDelay
	born          time.Time   // when the worker started
	newcomer      atomic.Bool // it found others in the list of members
	listed        atomic.Bool // it has entered that list
	saidKeptOut   bool        // it has said why it stays out after its trial
	compared      time.Time   // its definition with the stored one, last
}

func newTopic(t message.Topic, namespace string, l MessageListener, o ListenOptions) *topic {
	return &topic{Topic: t, name: luascripts.Qualify(namespace, t.Name), opts: o, listener: l}
}

// prepare makes the topic ready for a start.
func (t *topic) prepare(newSlot func(t *topic, index int) *schedule.Slot) *schedule.Topic {
	t.born, t.compared, t.saidKeptOut = time.Now(), time.Now(), false
	t.newcomer.Store(false)
	t.listed.Store(false)
	t.scheduled = &schedule.Topic{Name: t.Name, Slots: t.Slots, Most: t.opts.Concurrency, NewSlot: func(index int) *schedule.Slot { return newSlot(t, index) }}
	if t.opts.Parallel {
		t.scheduled.Together = t.size.most
	}
	return t.scheduled
}

// memberOf is the id in the list of members of the worker that holds a slot.
func memberOf(holder string) string {
	if id, n, found := strings.Cut(holder, "+"); found {
		if _, err := strconv.Atoi(n); err == nil {
			return id
		}
	}
	return holder
}
