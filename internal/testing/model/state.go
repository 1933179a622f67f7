package model

// id of one life of a worker process; 0 is none. An id is never used twice.
type id int8

func idOf(worker int, incarnation int8) id {
	return id(incarnation)*maxWorkers + id(worker) + 1
}

func (i id) worker() int       { return int(i-1) % maxWorkers }
func (i id) incarnation() int8 { return int8(i-1) / maxWorkers }

// Scores. Times and priorities share one axis with the retries left, as in the store: everything
// above fresh is a fresh content, everything up to Options.Retries is a retry.
const fresh = 10

// verdict of a worker on one content of its batch.
type verdict int8

const (
	notMine verdict = iota // not in the batch
	notStarted
	done
	failed    // tries again after a delay
	failedNow // tries again without delay
	failedForGood
	snoozed // its handler wants it later
)

// answer of a script.
type answer int8

const (
	answerNone answer = iota
	answerNumber
	answerBatch
	answerBusy
	answerEmpty
	answerLeft
)

// request is one turn on its way. From 0: there is none.
type request struct {
	From     id
	Number   int8 // of the slot, as far as the worker knows
	Gone     id   // holder proven dead
	Idle     bool // the worker holds nothing
	Count    int8 // how many contents; 0 leaves the slot
	Low      bool // a due retry passes what would come first: by the random number, or as the worker wants it
	Verdicts [maxContents]verdict
	Priority [maxContents]int8 // of what was not started, or when it was due; 0 unknown
}

// reply is the answer to a turn on its way back.
type reply struct {
	Answer   answer
	Number   int8
	Holder   id
	Has      [maxContents]bool
	Priority [maxContents]int8 // 0 unknown
	Newest   [maxContents]bool // observer: the copy is of the last send
}

// worker is a process and all it knows.
type worker struct {
	Incarnation int8
	Up, Frozen  bool

	// ZooKeeper. Late means that the worker's own deadline has passed, which is before its session
	// can expire.
	Session, Late bool
	Sees          id               // to whom the slot is assigned, as last read
	Members       [maxWorkers]int8 // incarnation + 1 of the live workers, as last read
	Named         id               // holder named by BUSY, not yet verified
	Gone          id               // last holder proven dead

	// The slot.
	Asked    bool // somebody was told BUSY with it, while it held nothing
	Joined   bool // has turned since it last left
	Number   int8
	Holds    bool // a batch, with a verdict for each content
	Verdicts [maxContents]verdict
	Priority [maxContents]int8
	Newest   [maxContents]bool
	Since    int8 // the lease counts from here
	Handling int8 // content + 1 in the handler
	Reckless bool // the handler was started although lease or session were over
	Cut      bool // observer: the batch was taken over

	// The turn outstanding.
	Waiting, Leaving bool
	Sent             int8
	Request, Ghost   request // Ghost: a duplicate that arrives late
	Reply            reply
}

// state of the world. All fields are one byte wide, so that a state has no gaps and can be hashed
// as plain memory.
type state struct {
	Now int8

	// Redis.
	Store     [maxContents]int8 // score; 0 not there
	Prepare   [maxContents]int8 // retries left if this delivery fails, + 1; 0 not there
	RetryDue  [maxContents]int8 // time + 1; 0 not there
	RetryLeft [maxContents]int8 // Retries + 1: a first delivery, + 2: and Kept is its priority
	Kept      [maxContents]int8
	Holder    id
	Number    int8
	Until     int8 // end of the holder's lease
	Lease     int8 // of the holder
	Taken     int8 // when the batch was taken

	Assigned id // ZooKeeper
	Workers  [maxWorkers]worker

	// Observer: what was promised for each content, and what became of it.
	Owed       [maxContents]bool // sent, and neither handled nor dead since
	Unseen     [maxContents]bool // waits fresh, with the time or priority of the last send
	Newest     [maxContents]bool // the copy in flight is of the last send
	Last       [maxContents]int8 // score of the last send
	Deliveries [maxContents]int8 // since the last send; what was handed back or put back does not count
	Later      [maxContents]int8 // before this its handler did not want it; 0: no matter

	// The journal, if there is one.
	Journal [maxContents]bool // it says that the content is owed
	Unread  [maxContents]bool // the number behind the last send is not read yet
	Below   [maxContents]bool // and it is below the slot's present one

	Sends, Faults int8 // that may still happen
	Drain         bool // neither sends nor faults any more
	Forgot        bool // Redis went back to what it was
	Given         int8 // the largest number there ever was
}

// world is a state under the rules, with the first violation seen.
type world struct {
	*Options
	state
	history   []redis // what Redis was, if it may go back
	violation string
}

// start is the state before anything happened: all workers are up, the first one has the slot.
func start(o *Options) state {
	s := state{Assigned: idOf(0, 0), Sends: o.Max.Sends, Faults: o.Max.Faults}
	for i := range o.Max.Workers {
		s.Workers[i] = worker{Up: true, Session: true, Sees: s.Assigned}
	}
	for i := range o.Max.Workers {
		s.Workers[i].Members = s.members()
	}
	return s
}

func (s *state) id(i int) id { return idOf(i, s.Workers[i].Incarnation) }

// members are the workers with a session, as ZooKeeper would list them.
func (s *state) members() (m [maxWorkers]int8) {
	for i := range s.Workers {
		if s.Workers[i].Session {
			m[i] = s.Workers[i].Incarnation + 1
		}
	}
	return m
}

func (s *state) hasSession(who id) bool {
	return s.members()[who.worker()] == who.incarnation()+1
}

func (s *state) inFlight() bool { return s.Prepare != [maxContents]int8{} }

// inTime reports whether a worker may trust its batch: its lease, counted from before the request, or
// its session deadline is not over.
func (w *world) inTime(i int) bool {
	k := &w.Workers[i]
	if w.ZooKeeper {
		return !k.Late && k.Session
	}
	return w.Now-k.Since < w.Leases[i]
}

// trusts reports whether a worker trusts its batch. With all rules it may.
func (w *world) trusts(i int) bool {
	k := &w.Workers[i]
	return w.inTime(i) || w.ZooKeeper && !w.SessionLives && !k.Late
}
