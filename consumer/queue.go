package consumer

// queue holds slots in the order in which they came. One that is no longer to be
// there is taken out without looking for it.
type queue struct {
	first, last *slot
	length      int
}

// place of a slot in a queue; it is in one at most.
type link struct {
	in            *queue
	before, after *slot
}

func (q *queue) push(x *slot) {
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
func (q *queue) pushFront(x *slot) {
	x.link = link{in: q, after: q.first}
	if q.first != nil {
		q.first.before = x
	} else {
		q.last = x
	}
	q.first = x
	q.length++
}

func (q *queue) remove(x *slot) {
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

// nodeQueues are the slots that are ready, with a queue for each node of a
// Cluster. The nodes are served in turn.
type nodeQueues struct {
	of     map[string]*queue
	order  []*queue
	served int // index in order
	length int // of all together
}

func (q *nodeQueues) push(x *slot) {
	mine := q.of[x.node]
	if mine == nil {
		if q.of == nil {
			q.of = map[string]*queue{}
		}
		mine = &queue{}
		q.of[x.node] = mine
		q.order = append(q.order, mine)
	}
	mine.push(x)
	q.length++
}

func (q *nodeQueues) remove(x *slot) {
	x.in.remove(x)
	q.length--
}

// next returns the queue of the node whose turn it is, or nil if nothing is ready.
func (q *nodeQueues) next() *queue {
	for range q.order {
		q.served = (q.served + 1) % len(q.order)
		if q.order[q.served].length > 0 {
			return q.order[q.served]
		}
	}
	return nil
}
