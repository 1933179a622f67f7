package rmq

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/internal/declaration"
	"github.com/slotmq/go-rmq/internal/definition"
	"github.com/slotmq/go-rmq/internal/wait"
	"github.com/slotmq/go-rmq/luascripts"
)

// declarations are the plans that a client has declared.
type declarations struct {
	log  *zap.Logger
	each time.Duration

	mu      sync.Mutex
	of      map[string]*declaredTopic // by the names of the topics, with the namespace
	end     context.CancelFunc        // nil: it does not look yet
	looking sync.WaitGroup
}

// declaredTopic are the plans of one topic, by their names.
type declaredTopic struct {
	*declaration.Plans
	plain Topic // whose name has no namespace
	named map[string]*declaration.Declared
}

// plansOf are the plans of a topic.
func plansOf(rdb redis.UniversalClient, t Topic, namespace string) *declaration.Plans {
	t.Name = luascripts.Qualify(namespace, t.Name)
	return &declaration.Plans{Redis: rdb, Scripts: luascripts.New(rdb), Topic: t}
}

// add notes a plan, and begins to look at the first.
func (d *declarations) add(plain Topic, p *declaration.Plans, x *declaration.Declared) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.of[p.Topic.Name]
	if t == nil {
		t = &declaredTopic{p, plain, map[string]*declaration.Declared{}}
		if d.of == nil {
			d.of = map[string]*declaredTopic{}
		}
		d.of[p.Topic.Name] = t
	}
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

// forget notes that a plan is ended.
func (d *declarations) forget(topic, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t := d.of[topic]; t != nil {
		delete(t.named, name)
	}
}

// topics are the plans that are declared at present, topic by topic.
func (d *declarations) topics() map[*declaredTopic][]*declaration.Declared {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[*declaredTopic][]*declaration.Declared{}
	for _, t := range d.of {
		for _, x := range t.named {
			all[t] = append(all[t], x)
		}
	}
	return all
}

// look sets those plans again that Redis has lost, and says which.
func (d *declarations) look(ctx context.Context) {
	for t, plans := range d.topics() {
		within, cancel := context.WithTimeout(ctx, declaration.LookEach)
		again, err := t.keep(within, plans)
		cancel()
		topic := zap.String("topic", t.plain.Name)
		if len(again) > 0 {
			d.log.Warn("Redis had lost plans; they are set again, and send what was missed", topic, zap.Int("plans", len(again)), zap.String("one", again[0].Name()))
		}
		if err != nil && ctx.Err() == nil {
			cluster.NoteError(ctx, t.Redis, err)
			level := zap.WarnLevel
			if cluster.Unanswered(err) { // others say so
				level = zap.DebugLevel
			}
			d.log.Log(level, "it is not known whether Redis still has all plans; it is tried again", topic, zap.Error(err))
		}
		for _, x := range plans {
			if x.Ended() {
				d.forget(t.Topic.Name, x.Name())
			}
		}
	}
}

// keep sets those plans again that Redis has lost. If it has lost the topic, too, that is defined before.
func (t *declaredTopic) keep(ctx context.Context, plans []*declaration.Declared) (again []*declaration.Declared, err error) {
	if _, err := definition.Agree(ctx, t.Scripts, t.Topic.Name, t.plain, definition.Sharing{}); err != nil {
		return nil, err
	}
	return t.Keep(ctx, plans)
}

// close ends the looking.
func (d *declarations) close(ctx context.Context) {
	d.mu.Lock()
	end := d.end
	d.mu.Unlock()
	if end != nil {
		end()
		_ = wait.Group(ctx, &d.looking)
	}
}
