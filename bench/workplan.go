package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/slots"
)

// piece is a message of a plan.
type piece struct {
	at     time.Duration // when it is to be sent, after the begin
	takes  time.Duration // its handler
	entity int           // of which one handler may run
	fails  bool          // the first time
}

// workPlan is what is sent when, and how long it takes. It is made before the first send, so
// nobody who is slow moves it, and all contestants have the same one.
type workPlan struct {
	pieces []piece
	names  []string // of the entities, which are the slot bases; nil: each message is one
	ahead  int      // so many of the first pieces are sent before the others, all at once
}

// newWorkPlan draws Poisson arrivals, so many a second.
func newWorkPlan(seed uint64, h handling, rate float64, during time.Duration) (p workPlan) {
	random := rand.New(rand.NewPCG(seed, 0))
	for i, at := range poisson(random, rate, during) {
		p.pieces = append(p.pieces, piece{at: at, takes: h.draw(random), entity: i})
	}
	return p
}

// workPile is messages that are sent at once.
func workPile(seed uint64, h handling, n int) (p workPlan) {
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range n {
		p.pieces = append(p.pieces, piece{takes: h.draw(random), entity: i})
	}
	return p
}

// zipf gives the messages to n entities: the k-th gets 1/k of what the first gets.
func (p *workPlan) zipf(seed uint64, n int) {
	random, sums, sum := rand.New(rand.NewPCG(seed, 2)), make([]float64, n), 0.0
	for k := range n {
		sum += 1 / float64(k+1)
		sums[k] = sum
		p.names = append(p.names, fmt.Sprintf("entity-%d", k))
	}
	for i := range p.pieces {
		p.pieces[i].entity, _ = slices.BinarySearch(sums, random.Float64()*sum)
	}
}

// failing has a share of the messages fail the first time.
func (p *workPlan) failing(seed uint64, share float64) {
	random := rand.New(rand.NewPCG(seed, 3))
	for i := range p.pieces {
		p.pieces[i].fails = random.Float64() < share
	}
}

// entities is how many there are.
func (p workPlan) entities() int {
	if p.names == nil {
		return len(p.pieces)
	}
	return len(p.names)
}

// basis is the slot basis of a message, if it has one.
func (p workPlan) basis(i int) string {
	if p.names == nil {
		return ""
	}
	return p.names[p.pieces[i].entity]
}

// content of a message holds its number: entity:number, or the number alone.
func (p workPlan) content(i, bytes int) string {
	if p.names == nil {
		return content(i, bytes)
	}
	name := p.basis(i) + ":"
	return name + content(i, bytes-len(name))
}

// numbered is the part of a content that begins with the number of the message.
func numbered(content string) string { return content[strings.LastIndexByte(content, ':')+1:] }

// total is how long all handlers take.
func (p workPlan) total() (sum time.Duration) {
	for _, one := range p.pieces {
		sum += one.takes
	}
	return sum
}

// warm is the first tenth of the plan's time, which is not measured.
func (p workPlan) warm() time.Duration { return p.pieces[len(p.pieces)-1].at / 10 }

// add adds a piece of an entity of its own.
func (p *workPlan) add(one piece, name string) {
	one.entity = len(p.names)
	p.pieces, p.names = append(p.pieces, one), append(p.names, name)
}

// inSlot are n names whose slot is that one.
func inSlot(slot, width, n int) (names []string) {
	for i := 0; len(names) < n; i++ {
		if name := fmt.Sprintf("entity-%d", i); slots.Of(name, width) == slot {
			names = append(names, name)
		}
	}
	return names
}
