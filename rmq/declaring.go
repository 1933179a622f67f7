package rmq

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/declaration"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// declarations are the plans that a client has declared.
type declarations struct {
	log  *zap.Logger
	each time.Duration

	mu      sync.Mutex
	of      map[string]*declaredTopic // by the names of the topics, with the namespace
	end     context.CancelFunc        // nil: it does not look yet
	closed  bool
	wrong   error // why it is not known whether Redis still has all
	looking sync.WaitGroup
}

// declaredTopic are the plans of one topic, by their names.
type declaredTopic struct {
	*declaration.Plans
	named map[string]*declaration.Declared
}

// plansOf are the plans of a topic.
func plansOf(rdb redis.UniversalClient, t Topic, namespace string) *declaration.Plans {
	p := &declaration.Plans{Redis: rdb, Scripts: protocol.New(rdb), Topic: t}
	p.Topic.Name = protocol.Qualify(namespace, t.Name)
	p.Define = func(ctx context.Context) error {
		_, err := definition.Agree(ctx, p.Scripts, p.Topic.Name, t, definition.Sharing{})
		return err
	}
	return p
}

// add notes a plan, and begins to look at the first.
func (d *declarations) add(p *declaration.Plans, x *declaration.Declared) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	t := d.of[p.Topic.Name]
	if t == nil {
		t = &declaredTopic{named: map[string]*declaration.Declared{}}
		if d.of == nil {
			d.of = map[string]*declaredTopic{}
		}
		d.of[p.Topic.Name] = t
	}
	t.Plans = p // as it is defined now
	t.named[x.Name()] = x
	if d.end == nil {
		ctx, end := context.WithCancel(context.Background())
		d.end = end
		d.looking.Go(func() {
			for wait.Sleep(ctx, d.each) {
				d.look(ctx)
			}
		})
	}
}

// forget notes that a plan is kept no more; not if it was declared again meanwhile. nil: however it was declared.
func (d *declarations) forget(topic, name string, x *declaration.Declared) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t := d.of[topic]; t != nil && (x == nil || t.named[name] == x) {
		delete(t.named, name)
	}
}

// topics are the plans that are declared at present, topic by topic.
func (d *declarations) topics() map[*declaration.Plans][]*declaration.Declared {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[*declaration.Plans][]*declaration.Declared{}
	for _, t := range d.of {
		for _, x := range t.named {
			all[t.Plans] = append(all[t.Plans], x)
		}
	}
	return all
}

// look sets those plans again that Redis has lost, and says which.
func (d *declarations) look(ctx context.Context) {
	var wrong error
	for p, plans := range d.topics() {
		within, cancel := context.WithTimeout(ctx, declaration.LookEach)
		again, err := p.Keep(within, plans)
		cancel()
		topic := zap.String("topic", p.Topic.Name)
		if len(again) > 0 {
			d.log.Warn("Redis had lost plans; they are set again, and send what was missed", topic, zap.Int("plans", len(again)), zap.String("one", again[0].Name()))
		}
		if err != nil && ctx.Err() == nil {
			cluster.NoteError(ctx, p.Redis, err)
			level := zap.DebugLevel
			if !cluster.Unanswered(err) { // else others say so
				level, wrong = zap.WarnLevel, cmp.Or(wrong, fmt.Errorf("it is not known whether Redis still has all plans of topic %s: %w", p.Topic.Name, err))
			}
			d.log.Log(level, "it is not known whether Redis still has all plans; it is tried again", topic, zap.Error(err))
		}
		for _, x := range plans {
			if x.Gone() {
				d.forget(p.Topic.Name, x.Name(), x)
			}
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wrong = wrong
}

// health is why the last look does not know whether Redis has all plans.
func (d *declarations) health() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.wrong
}

// close ends the looking. What looks may be waited for with wait.
func (d *declarations) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed = true; d.end != nil {
		d.end()
	}
}

// wait returns when nothing looks any more, or when ctx ends.
func (d *declarations) wait(ctx context.Context) { _ = wait.Group(ctx, &d.looking) }
