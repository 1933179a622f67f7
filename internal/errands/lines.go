package errands

import "sync"

// Lines are things to be asked of servers beside turns: the looks at slots, the lists
// of members, the definitions. What is for one server waits in one line, and a
// goroutine, which lives while there is something in the line, asks for some of it at
// a time. So thousands of topics are asked for in few round trips, the turns never wait
// behind all of them at once, and a server that hangs holds up its own line only.
type Lines[K comparable] struct {
	most int                         // asked for together
	do   func(addr string, some []K) // asks a server
	all  *sync.WaitGroup             // of the goroutines

	mu    sync.Mutex
	lines map[string][]K // by server; as long as its goroutine lives
	known map[K]errand
}

// errand is how far one thing is. It is in a line once, and in hand once, also when its
// server has become another one meanwhile.
type errand uint8

const (
	inLine errand = iota + 1
	inHand
	inHandAgain // and then once more: the answer may show what was before
)

// NewLines makes lines that are empty. The goroutines are of a group.
func NewLines[K comparable](most int, all *sync.WaitGroup, do func(addr string, some []K)) *Lines[K] {
	return &Lines[K]{most: most, do: do, all: all, lines: map[string][]K{}, known: map[K]errand{}}
}

// Add has some things asked of a server.
func (e *Lines[K]) Add(addr string, things ...K) {
	e.mu.Lock()
	defer e.mu.Unlock()
	line, runs := e.lines[addr]
	for _, k := range things {
		switch e.known[k] {
		case 0:
			e.known[k] = inLine
			line = append(line, k)
		case inHand:
			e.known[k] = inHandAgain
		}
	}
	if len(line) == 0 && !runs {
		return
	}
	e.lines[addr] = line
	if !runs {
		e.all.Go(func() { e.run(addr) })
	}
}

// run asks a server until its line is empty.
func (e *Lines[K]) run(addr string) {
	for some := e.take(addr); some != nil; some = e.take(addr) {
		e.do(addr, some)
		e.finish(addr, some)
	}
}

// take returns the first of a line, which are in hand from then on. Of an empty one it
// returns nothing, and its goroutine ends.
func (e *Lines[K]) take(addr string) []K {
	e.mu.Lock()
	defer e.mu.Unlock()
	line := e.lines[addr]
	some := line[:min(e.most, len(line))]
	if len(some) == 0 {
		delete(e.lines, addr)
		return nil
	}
	for _, k := range some {
		e.known[k] = inHand
	}
	e.lines[addr] = line[len(some):]
	return some[:len(some):len(some)]
}

// finish ends what was in hand. What was added meanwhile waits again.
func (e *Lines[K]) finish(addr string, some []K) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, k := range some {
		if e.known[k] == inHandAgain {
			e.known[k] = inLine
			e.lines[addr] = append(e.lines[addr], k)
		} else {
			delete(e.known, k)
		}
	}
}
