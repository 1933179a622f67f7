package model

import "testing"

// TestHandBackSpendsNoAttempt: w0 gives back what it did not start, having heard of it or having
// been told it again, and gets it as attempt 1 once more.
func TestHandBackSpendsNoAttempt(t *testing.T) {
	t.Parallel()
	for _, c := range cells() {
		for _, again := range []bool{false, true} {
			o := searchOptions(c)
			w := &world{Options: &o, state: start(&o)}
			w.do(step{Op: send, Value: 1}, step{Op: tick}, step{Op: turn, Value: maxContents}, step{Op: arrive})
			if again {
				w.do(step{Op: loseReply}, step{Op: arrive})
			}
			w.do(step{Op: hear}, step{Op: tick}, step{Op: leave}, step{Op: arrive})

			store, retry := int8(fresh+1), int8(0) // due since it was taken, or its priority
			if again && c.kind == Priority {
				store, retry = 0, o.Retries+1 // the priority is not known any more
			}
			if w.Store[0] != store || w.RetryLeft[0] != retry || w.Deliveries[0] != 0 {
				t.Errorf("%v, told again %v: store %d, retries left %d after %d deliveries; want %d, %d after 0",
					&o, again, w.Store[0], w.RetryLeft[0], w.Deliveries[0], store, retry)
			}

			w.do(step{Op: hear})
			w.Workers[0].Number = w.Number // as after NUMBER
			w.Assigned, w.Workers[0].Sees = w.id(0), w.id(0)
			w.do(asks...)
			if w.Prepare[0] != o.Retries+1 || w.Deliveries[0] != 1 || w.violation != "" {
				t.Errorf("%v, told again %v: not attempt 1 (%d retries left, %d deliveries) %s",
					&o, again, w.Prepare[0]-1, w.Deliveries[0], w.violation)
			}
		}
	}
}

// TestHolderIsJudgedByItsOwnLease: the lease of w0 is three times as long as the one of w1, which
// looks at every tick.
func TestHolderIsJudgedByItsOwnLease(t *testing.T) {
	t.Parallel()
	o := searchOptions(cell{Priority, false})
	w := &world{Options: &o, state: start(&o)}
	w.do(step{Op: send, Value: 1}, step{Op: turn, Value: maxContents}, step{Op: arrive})
	look := []step{
		{Op: turn, Worker: 1, Value: maxContents}, {Op: arrive, Worker: 1}, {Op: hear, Worker: 1},
	}
	for range o.Leases[0] + 1 {
		w.do(look...)
		if w.Holder != w.id(0) || !w.inFlight() || w.Until != o.Leases[0] {
			t.Fatalf("at %d the lease of w0 was cut: it ends at %d", w.Now, w.Until)
		}
		w.do(step{Op: tick})
	}
	w.do(look...)
	if w.inFlight() {
		t.Fatalf("at %d the batch was not taken over, its lease ended at %d", w.Now, w.Until)
	}
}
