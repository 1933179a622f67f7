package inspector

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/audit"
	"github.com/slotmq/go-rmq/inspector/doctor"
	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/inspector/internal/steps"
	"github.com/slotmq/go-rmq/inspector/internal/who"
	"github.com/slotmq/go-rmq/inspector/plans"
	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/slots"
)

// Config of an inspector. The zero value is ready to use.
type Config struct {
	// Namespace stands in front of every topic's name, as in rmq.Config. Defaults to
	// none: the documented keys.
	Namespace string

	// Slots is that of the workers, slots.ZooKeeper(slots.ZooKeeperConfig{…}), to see who
	// works at topics that are shared by ZooKeeper. Defaults to nil: you see the workers of
	// topics that are shared by Redis.
	Slots slots.Sharing

	// Journal is that of package journal. It is told what is cancelled, rescheduled, requeued and
	// deleted, and Doctor asks it what Redis has forgotten. Defaults to none; then a journal learns it when it
	// is next compared with Redis.
	Journal record.Journal

	// HideContents leaves contents of messages out of the texts that say something of other messages too, as the checks of
	// Doctor and what Explain says of a batch do. Fields named Content have them all the same. Defaults to false.
	HideContents bool
}

// Inspector looks at topics and changes what is in them. Any number of goroutines may use it.
// It has nothing to close.
type Inspector struct {
	w     *who.Who
	steps *steps.Steps
}

// New returns an inspector on rdb, which the caller closes. It checks its arguments and does
// no I/O.
func New(rdb redis.UniversalClient, cfg Config) (*Inspector, error) {
	if err := validate(rdb, cfg); err != nil {
		return nil, fmt.Errorf("new inspector: %w", err)
	}
	g := &ask.Ground{
		Redis: rdb, Scripts: protocol.New(rdb), Namespace: cfg.Namespace, Slots: cfg.Slots, Journal: cfg.Journal, Hide: cfg.HideContents,
	}
	return &Inspector{who.Of(g), &steps.Steps{Ground: g}}, nil
}

func validate(rdb redis.UniversalClient, cfg Config) error {
	if err := checked.Client("Redis client", rdb); err != nil {
		return err
	}
	if err := checked.Namespace(cfg.Namespace); err != nil {
		return err
	}
	if cfg.Slots == nil {
		return nil
	}
	return cfg.Slots.Keeper().Validate(cfg.Namespace)
}

// Doctor looks at the servers and at the topics of the namespace, and changes nothing.
// Whatever goes wrong on the way is a Check, too, even the end of ctx. It does not ask for
// what is on servers that do not answer.
func (i *Inspector) Doctor(ctx context.Context) []doctor.Check { return doctor.Examine(ctx, i.w) }

// Verify compares what is stored of topics, nil meaning all of the namespace, with the rules:
// those of a slot (byhand.Rules), that the times kept beside it are times (FIRST, SEEN), that its notes
// can be read (NOTE), that each topic has a definition that can be read (DEFINITION), that it is
// listed in rmq:topics (LISTED), that its limit, if it has one, can be read (POLICY), and that its
// plans are whole (PLAN). Last it looks, twice, for slots with a batch in flight that stand still
// (STANDS).
//
// It reads page by page, and each page is of one moment. So it finds nothing in a topic at
// work, and workers go on meanwhile. If progress is not nil, Verify calls it for each slot
// that it has read, with the number of slots the topic has.
//
// With an error come the violations that were found before it.
func (i *Inspector) Verify(ctx context.Context, topics []string, progress func(topic string, slot, of int)) ([]audit.Violation, error) {
	return audit.Verify(ctx, i.w, topics, progress)
}

// Plans is about messages that are sent again and again.
func (i *Inspector) Plans() plans.Plans { return plans.Plans{Ground: i.w.Ground} }

// Topics returns the topics of the namespace, by name. A topic whose definition is missing or
// cannot be read has no Kind and no Slots: it does not hide the others. Verify and Doctor say
// what is wrong with it. A [PartialError] names those whose master does not answer.
//
// An inspector without a namespace sees the topics of all namespaces. Their names begin with
// the namespace, and they are Foreign.
func (i *Inspector) Topics(ctx context.Context) ([]Topic, error) {
	if err := ask.Given(ctx, "list topics"); err != nil {
		return nil, err
	}
	failed := i.w.Failing()
	all, err := i.w.Defined(ctx)
	if err := failed.Merge(err); err != nil {
		return nil, err
	}
	topics := make([]Topic, len(all))
	for n, d := range all {
		topics[n] = d.Topic
	}
	return topics, failed.Err()
}

// Topic returns one of them. If there is none of that name, the error wraps [ErrUnknownTopic].
func (i *Inspector) Topic(ctx context.Context, name string) (Topic, error) {
	return i.w.Topic(ctx, name)
}
