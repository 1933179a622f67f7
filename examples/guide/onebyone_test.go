package guide_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/slotmq/go-rmq/rmq"
)

// accounts counts how many handlers work at each account.
type accounts struct {
	mu      sync.Mutex
	working map[string]int
	most    int // at one account
	handled int
}

func (a *accounts) book(account string) {
	a.add(account, 1)
	runtime.Gosched() // it takes a while
	a.add(account, -1)
}

func (a *accounts) add(account string, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.working[account] += n
	a.most = max(a.most, a.working[account])
	a.handled += max(0, n)
}

// Bookings of one account are never handled at the same time, those of others are.
func Example_oneAtATime() {
	client, end := open(rmq.Config{})
	defer end()
	bank := accounts{working: map[string]int{}}

	bookings := rmq.Topic{Name: "bookings", Kind: rmq.KindPriority}
	check(client.Listen(bookings, rmq.ListenerFunc(func(ctx context.Context, d *rmq.Delivery) error {
		var account string
		var booking int
		if _, err := fmt.Sscanf(d.Content, "account %s booking %d", &account, &booking); err != nil {
			return rmq.Dead(err)
		}
		bank.book(account) // no lock: no other handler works at this account
		return nil
	}), rmq.ListenOptions{}))
	check(client.Start(ctx))

	for booking := range 30 {
		account := []string{"ann", "bob", "eve"}[booking%3]
		_, err := client.Send(ctx, bookings, rmq.Priority{
			Content:   fmt.Sprintf("account %s booking %d", account, booking), // each is a message of its own
			SlotBasis: account,                                                // all of an account are in one slot
			Priority:  100,
		})
		check(err)
	}
	client.Advance(0)
	fmt.Println(bank.handled, "bookings, at most", bank.most, "at once for an account")
	// Output: 30 bookings, at most 1 at once for an account
}
