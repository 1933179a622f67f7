package consumer

import (
	"context"

	"github.com/slotmq/go-rmq/internal/worker/gate"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
)

// evidence is what an error shows that ended a handler, with what it has made of its message.
func evidence(ctx context.Context, f verdict.Fate, err error) gate.Evidence {
	if verdict.Blames(ctx, f, err) {
		return gate.Failure
	}
	return gate.NoEvidence
}

// show has the gate know what the end of a handler shows. If it had several messages, i is the first.
func show(b *batch, i int, e gate.Evidence) {
	d := &b.deliveries[i]
	m := gate.Message{Content: d.Content, Attempt: d.Attempt, FirstFailure: d.FirstFailure}
	b.topic.gate.Ended(b.results[i].Pass, e, m, func() string { return b.texts.Of(b.results[i].Reason) })
}
