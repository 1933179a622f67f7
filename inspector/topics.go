package inspector

import (
	"context"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
)

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
