package schedule

// queue holds slots in the order in which they came. One that is no longer to be
// there is taken out without looking for it.
type queue struct {
	first, last *Slot
	length      int
}

// link is the place of a slot in a queue; it is in one at most.
type link struct {
	in            *queue
	before, after *Slot
}

func (q *queue) push(x *Slot) {
	x.link = link{in: q, before: q.last}
	if q.last != nil {
		q.last.after = x
	} else {
		q.first = x
	}
	q.last = x
	q.length++
}

// pushFront lets a slot go before all others.
func (q *queue) pushFront(x *Slot) {
	x.link = link{in: q, after: q.first}
	if q.first != nil {
		q.first.before = x
	} else {
		q.last = x
	}
	q.first = x
	q.length++
}

func (q *queue) remove(x *Slot) {
	if x.before != nil {
		x.before.after = x.after
	} else {
		q.first = x.after
	}
	if x.after != nil {
		x.after.before = x.before
	} else {
		q.last = x.before
	}
	x.link = link{}
	q.length--
}

// byServer holds the slots that are ready, with a queue for each server of a Cluster.
// The servers are served in turn.
type byServer struct {
	of     map[string]*queue
	order  []*queue
	served int // index in order
	length int // of all together
}

func (q *byServer) push(x *Slot) {
	mine := q.of[x.facts.Server]
	if mine == nil {
		if q.of == nil {
			q.of = map[string]*queue{}
		}
		mine = &queue{}
		q.of[x.facts.Server] = mine
		q.order = append(q.order, mine)
	}
	mine.push(x)
	q.length++
}

func (q *byServer) remove(x *Slot) {
	x.in.remove(x)
	q.length--
}

// next returns the queue of the server whose turn it is, or nil if nothing is ready.
func (q *byServer) next() *queue {
	for range q.order {
		q.served = (q.served + 1) % len(q.order)
		if q.order[q.served].length > 0 {
			return q.order[q.served]
		}
	}
	return nil
}
