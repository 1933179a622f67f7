package periodic

import "sync"

// Lines are things to be asked of servers beside turns: the looks at slots, the lists
// of members, the definitions. What is for one server waits in one line, and a
// goroutine, which lives while there is something in the line, asks for some of it at
// a time. So thousands of topics are asked for in few round trips, the turns never wait
// behind all of them at once, and a server that hangs holds up its own line only.
type Lines[K comparable] struct {
	most  int                         // asked for together
	do    func(line string, some []K) // asks a server
	begin func(func())                // a goroutine

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

// NewLines makes lines that are empty. Their goroutines are begun by begin.
func NewLines[K comparable](most int, begin func(func()), do func(line string, some []K)) *Lines[K] {
	return &Lines[K]{most: most, do: do, begin: begin, lines: map[string][]K{}, known: map[K]errand{}}
}

// Add has some things asked of a server. Each waits in the line that is named: normally the
// server's address.
func (e *Lines[K]) Add(line string, things ...K) {
	e.mu.Lock()
	defer e.mu.Unlock()
	waiting, runs := e.lines[line]
	for _, k := range things {
		switch e.known[k] {
		case 0:
			e.known[k] = inLine
			waiting = append(waiting, k)
		case inHand:
			e.known[k] = inHandAgain
		}
	}
	if len(waiting) == 0 && !runs {
		return
	}
	e.lines[line] = waiting
	if !runs {
		e.begin(func() { e.run(line) })
	}
}

// run asks a server until its line is empty.
func (e *Lines[K]) run(line string) {
	for some := e.take(line); some != nil; some = e.take(line) {
		e.do(line, some)
		e.finish(line, some)
	}
}

// take returns the first of a line, which are in hand from then on. Of an empty one it
// returns nothing, and its goroutine ends.
func (e *Lines[K]) take(line string) []K {
	e.mu.Lock()
	defer e.mu.Unlock()
	waiting := e.lines[line]
	some := waiting[:min(e.most, len(waiting))]
	if len(some) == 0 {
		delete(e.lines, line)
		return nil
	}
	for _, k := range some {
		e.known[k] = inHand
	}
	e.lines[line] = waiting[len(some):]
	return some[:len(some):len(some)]
}

// finish ends what was in hand. What was added meanwhile waits again.
func (e *Lines[K]) finish(line string, some []K) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, k := range some {
		if e.known[k] == inHandAgain {
			e.known[k] = inLine
			e.lines[line] = append(e.lines[line], k)
		} else {
			delete(e.known, k)
		}
	}
}
