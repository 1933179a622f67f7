package guide_test

import (
	"context"
	"fmt"

	"github.com/slotmq/go-rmq/rmq"
)

// parcels is a table with a column for the fence. In SQL, its set is
//
//	update parcels set state = $2, fence = $3 where id = $1 and fence <= $3
type parcels map[string]struct {
	state string
	fence int64
}

func (p parcels) set(_ context.Context, id, state string, fence int64) (changed bool) {
	row := p[id]
	if changed = row.fence <= fence; changed {
		row.state, row.fence = state, fence
		p[id] = row
	}
	return changed
}

// A handler that was overtaken writes too late, and is refused.
func Example_fence() {
	client, end := open(rmq.Config{})
	defer end()
	db := parcels{}
	ask := func(string) string { return "delivered" } // the carrier

	track := rmq.Topic{Name: "track", Kind: rmq.KindPriority}
	check(client.Listen(track, rmq.ListenerFunc(func(ctx context.Context, d *rmq.Delivery) error {
		state := ask(d.Content)
		if !db.set(ctx, d.Content, state, d.Fence) {
			return nil // a later delivery has written: this one was overtaken
		}
		return nil
	}), rmq.ListenOptions{}))
	check(client.Start(ctx))
	_, err := client.Send(ctx, track, rmq.Priority{Content: "parcel 7", Priority: 100})
	check(err)
	client.Advance(0)

	fmt.Println("too late:", db.set(ctx, "parcel 7", "at the warehouse", db["parcel 7"].fence-1))
	fmt.Println(db["parcel 7"].state)
	// Output:
	// too late: false
	// delivered
}
