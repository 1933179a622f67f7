package model

// The lanes of a slot. A and B are of one entity, C of another.
const (
	laneContents = 3
	helper       = 2 // the worker that only helps
)

func entityOf(c int) int { return c / 2 }

// lane is what a worker does with one content.
type lane int8

const (
	noLane lane = iota
	unbegun
	running
	overDone
	overFailed
	handedBack // on its way back
)

// copies of the contents in one place of Redis.
type copies struct {
	Left    [laneContents]int8 // retries left + 1; 0 not there
	Suspect [laneContents]bool
	Send    [laneContents]int8 // observer: of which send it is
}

func (p *copies) drop(c int) { p.Left[c], p.Suspect[c], p.Send[c] = 0, false, 0 }

func (p *copies) move(c int, to *copies) {
	to.Left[c], to.Suspect[c], to.Send[c] = p.Left[c], p.Suspect[c], p.Send[c]
	p.drop(c)
}

func (p *copies) count() (n int) {
	for _, left := range p.Left {
		if left > 0 {
			n++
		}
	}
	return n
}

// laneRedis is what Redis has of the slot, and may go back to.
type laneRedis struct {
	Store, Prepare, Retry copies
	Mark                  [laneContents]int8 // the number under which it was taken
	Holder                id
	Number                int8
	LeaseOver             bool
	Unrenewed             bool // the lease ends before the holder knows
	Paused                bool
}

// laneRequest is a turn on its way. From 0: there is none.
type laneRequest struct {
	From     id
	Number   int8
	Gone     id
	Idle     bool
	Rolling  bool // only what is listed is over
	Count    int8
	Low      bool // a retry first
	Verdicts [laneContents]verdict
}

const (
	answerKept answer = answerLeft + 1 + iota
	answerPaused
)

type laneReply struct {
	Answer answer
	Number int8
	Holder id
	Told   bool
	Has    [laneContents]bool
	Mark   [laneContents]int8
	Send   [laneContents]int8
}

type laneWorker struct {
	Incarnation int8
	Up, Session bool
	Late        bool // its lease or session may be over
	Gone, Named id
	Asked       bool
	Number      int8
	Lanes       [laneContents]lane
	Under       [laneContents]int8 // the number under which it counts as taken
	Send        [laneContents]int8 // observer: of which send it is
	Ended       [laneContents]int8 // observer: the take whose handler has ended here last

	Waiting, Leaving bool
	Stale            bool // a lease from when the turn was sent is over
	Request, Ghost   laneRequest
	Reply            laneReply

	Touch     int8 // number it was sent with + 1; 0 none
	Touched   int8 // its answer: 1 yes, 2 no
	Overtaken bool // by a turn
}

// laneState is the world of the lanes of one slot.
type laneState struct {
	laneRedis
	Workers [maxWorkers]laneWorker

	// Observer.
	Sent       [laneContents]int8 // the last send of each
	Owed       [laneContents]bool // it was neither handled nor is it dead
	Deliveries [laneContents]int8 // of the copy that was taken last
	Shared     [laneContents]int8 // attempts of it that were lost to deaths others shared
	Fence      [laneContents]int8 // the largest number under which it was taken
	Stamp      [laneContents]int8 // the slot's number at the last send
	Journal    [laneContents]bool // the journal says that it is owed

	Sends, Faults, Pauses int8
	Drain, Forgot         bool
	Given                 int8 // the largest number there ever was
}

type laneWorld struct {
	*LaneOptions
	laneState
	history   []laneRedis
	violation string
}

func startLanes(o *LaneOptions) *laneWorld {
	w := &laneWorld{LaneOptions: o, laneState: laneState{Sends: o.Max.Sends, Faults: o.Max.Faults, Pauses: o.Max.Pauses}}
	for i := range o.Max.Workers {
		w.Workers[i] = laneWorker{Up: true, Session: true}
	}
	return w
}

func (w *laneWorld) at() *laneState   { return &w.laneState }
func (w *laneWorld) violated() string { return w.violation }

func (s *laneState) id(i int) id { return idOf(i, s.Workers[i].Incarnation) }

// lives reports whether the process with this id runs.
func (s *laneState) lives(who id) bool {
	return who != 0 && s.Workers[who.worker()].Up && s.id(who.worker()) == who
}

func (k *laneWorker) holds() bool { return k.Lanes != [laneContents]lane{} }

// all reports whether every lane of k is one of these, or empty.
func (k *laneWorker) all(of ...lane) bool {
	for _, l := range k.Lanes {
		known := l == noLane
		for _, one := range of {
			known = known || l == one
		}
		if !known {
			return false
		}
	}
	return true
}

// drop forgets all lanes: they were taken over.
func (k *laneWorker) drop() {
	k.Lanes, k.Under, k.Send = [laneContents]lane{}, [laneContents]int8{}, [laneContents]int8{}
}

// keepsLease reports whether the holder lives, and trusts its lease.
func (w *laneWorld) keepsLease() bool {
	if !w.lives(w.Holder) {
		return false
	}
	k := &w.Workers[w.Holder.worker()]
	return k.holds() && !k.Late || k.Waiting && !k.Stale
}
