package inspector

import (
	"context"

	"github.com/slotmq/go-rmq/inspector/audit"
	"github.com/slotmq/go-rmq/inspector/doctor"
	"github.com/slotmq/go-rmq/inspector/plans"
)

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
func (i *Inspector) Plans() plans.Plans { return plans.Of(i.w.Ground) }
