package protocol

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/protocol/score"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/luascripts"
)

var turnScript = script.New(luascripts.Source("turn.lua"))

// MaxBatch is the most contents that one turn takes. Together they have at most 1 MiB, unless
// it takes only one.
const MaxBatch = 256

// Turn is one request of a worker at a slot: finish the batch it holds, and take the next one.
// A turn that gets no answer must be repeated unchanged until it gets one; that changes
// nothing twice.
type Turn struct {
	Keys     SlotKeys
	Priority bool          // a topic of the Priority kind: larger scores first
	Merge    bool          // of the RangeMerge kind: the first time stays; neither: of two times the last one does
	Due      bool          // kinds with a time: return when each first delivery was due
	Worker   string        // an id that is never used again
	Fence    int64         // of the slot, as this worker knows it; 0: unknown
	Lease    time.Duration // 0: ZooKeeper says whether this worker is alive
	Count    int           // contents to take, up to MaxBatch; 0: leave the slot
	Random   int           // draws among equal priorities; any number ≥ 0

	Wants Wants // what of all that is due

	DeadHolder    string        // a holder proven dead, or empty
	TakeoverDelay time.Duration // of the retry of contents that are taken over from a lost worker

	// HoldsNothing is set by a worker that holds no batch. If one of its batches is in
	// flight all the same, Redis has forgotten in a failover what became of it, and
	// returns it once more.
	HoldsNothing bool

	// Verdicts on what was not done in the batch held. What is not listed is done.
	Verdicts []Verdict
}

// Wants is what a worker wants of what is due.
type Wants uint8

// What it may want. If there is none of that it gets what comes first.
const (
	First  Wants = iota // what comes first
	Retry               // a retry, also where others would come before it
	Behind              // one first delivery alone: of those in their order number Count, or the last
)

// Verdict says what becomes of one message of a batch.
type Verdict struct {
	Content string
	Fate    Fate
	Delay   time.Duration // of the retry, for Failed; 0: back to the store at once (literal topics); how long it waits, for PutBack

	// Priority it was taken with; 0: unknown, or not a Priority topic. It is kept for people
	// who look if the message fails, and given back to it if it was not started, or put back.
	Priority int64

	// Due is when it was due, which a message not started keeps; zero: unknown, or not a kind
	// with a time.
	Due time.Time

	Reason string // why it failed or was put back, for people who look
}

// Fate is what becomes of a message that was not done.
type Fate int

// The fates.
const (
	Failed     Fate = iota // spends an attempt; dead if it was the last
	Dead                   // dead now, whatever attempts are left
	NotStarted             // goes back with its attempt, time or priority kept
	PutBack                // by its handler: waits for Delay, 1 ms at least, with its attempt and priority kept
)

// Code is the kind of an [Answer].
type Code string

// The codes of a turn's answer.
const (
	Batch  Code = "BATCH"  // the worker holds the batch of Fence: Attempt, Contents
	Empty  Code = "EMPTY"  // nothing is due before Wait is over
	Number Code = "NUMBER" // nothing was taken; use Fence in the next turn
	Busy   Code = "BUSY"   // Holder holds the slot; its lease ends in Wait
	Paused Code = "PAUSED" // a person has paused the slot
	Left   Code = "LEFT"   // the worker holds nothing
)

// Answer is what a turn returns.
type Answer struct {
	Code    Code
	Fence   int64  // of the batch, or of the slot; not with BUSY
	Attempt int    // of every message of the batch, 1 to 17
	Holder  string // with BUSY

	// Wait is the time until the next message is due (EMPTY; negative if none is known; 0 if
	// another turn may take something now) or until the holder's lease ends (BUSY).
	Wait time.Duration

	Contents []string

	// For first deliveries the priority or due time of each message, or one for all, or none.
	// For a retry its entry of `why`, if there is one.
	extra []string
	due   bool // due times were asked for
}

// Priority returns the priority of content i, or 0 where it is not known: kinds with a time,
// retries (see [Answer.Failure]), and first deliveries that are returned once more. For a
// score that no priority can have, from a ZADD of another program, it is the nearest one.
func (a *Answer) Priority(i int) int64 {
	text := a.extraOf(i)
	if text == "" || a.due {
		return 0
	}
	return max(limits.MinPriority, score.Parse(text))
}

// Due returns when content i was due, or the zero time where it is not known: if [Turn.Due]
// was not set, for retries, and for what is returned once more.
func (a *Answer) Due(i int) time.Time {
	if !a.due {
		return time.Time{}
	}
	return score.Time(score.Parse(a.extraOf(i)))
}

// extraOf is what the answer has about content i of a first delivery.
func (a *Answer) extraOf(i int) string {
	switch {
	case a.Attempt > 1 || len(a.extra) == 0:
		return ""
	case len(a.extra) == 1:
		return a.extra[0]
	}
	return a.extra[i]
}

// Failure returns what is known about the failures before a retry.
func (a *Answer) Failure() (Failure, bool) {
	if a.Attempt <= 1 || len(a.extra) == 0 {
		return Failure{}, false
	}
	return ParseFailure(a.extra[0])
}

// errAnswer is the error of an answer that no script of this version gives.
var errAnswer = errors.New("unknown answer of the turn script")

// Unproven says why an answer does not prove that Redis has applied what the turn said of the batch of a
// fence. It is empty if it does: see "The answers" in docs/PROTOCOL.md. Repeated says that the turn was
// sent before, without an answer.
//
// EMPTY, PAUSED and LEFT come only from behind the finish. So does a new batch; but a smaller
// fence is that of a Redis which has forgotten all that came after it.
func (a *Answer) Unproven(fence int64, repeated bool) string {
	switch {
	case a.Code != Busy && a.Fence < fence:
		return "Redis has forgotten the batch"
	case a.Code != Number && a.Code != Busy:
		return ""
	case repeated:
		return "answers of Redis got lost: the batch was finished, or it was taken over"
	}
	return "the batch was taken over before it was finished"
}

// TurnCmd makes the command of a turn. Send several at once with [Scripts.Exec]. go-redis does
// not repeat the command by itself: it would repeat all others of the pipeline, too. The
// worker repeats it, knows when, and need not wait meanwhile.
func (s *Scripts) TurnCmd(ctx context.Context, t *Turn) redis.Cmder {
	return script.Once{StringSliceCmd: redis.NewStringSliceCmd(ctx, t.args()...)}
}

// TurnAnswer reads the answer to a command of [Scripts.TurnCmd] that was sent.
func TurnAnswer(t *Turn, cmd redis.Cmder) (Answer, error) {
	if err := script.Err(cmd); err != nil {
		return Answer{}, fmt.Errorf("turn at slot %s: %w", t.Keys.Store, err)
	}
	reply := cmd.(script.Once).Val()
	a, ok := parseAnswer(reply)
	if !ok {
		return Answer{}, fmt.Errorf("turn at slot %s: %w: %.3q", t.Keys.Store, errAnswer, reply)
	}
	a.due = t.Due && !t.Priority
	return a, nil
}

func (t *Turn) args() []any {
	kind := "T"
	switch {
	case t.Priority:
		kind = "P"
	case t.Merge && t.Due:
		kind = "RD"
	case t.Merge:
		kind = "R"
	case t.Due:
		kind = "TD"
	}
	switch t.Wants {
	case Retry:
		kind += "F"
	case Behind:
		kind += "N"
	}
	k := &t.Keys
	// Pointers are written as what they point to, and cost no allocation.
	idle := 0
	if t.HoldsNothing {
		idle = 1
	}
	args := turnScript.Call(6, 15+4*len(t.Verdicts))
	args = append(args, k.Store, &k.Prepare, &k.Retry, &k.Dead, &k.Meta, &k.Why,
		kind, &t.Worker, &t.Fence, &t.DeadHolder, millis(t.Lease), &t.Count, &t.Random, millis(t.TakeoverDelay), idle)
	for i := range t.Verdicts {
		v := &t.Verdicts[i]
		var n int64
		switch v.Fate {
		case Failed:
			n = millis(v.Delay)
		case Dead:
			n = -1
		case NotStarted:
			n = -2
		case PutBack:
			n = -2 - max(1, millis(v.Delay))
		}
		priority := ""
		switch {
		case v.Priority > 0 && (t.Priority || v.Fate != NotStarted):
			priority = strconv.FormatInt(v.Priority, 10)
		case v.Fate == NotStarted && v.Due.UnixMilli() >= limits.MinPriority:
			priority = strconv.FormatInt(v.Due.UnixMilli(), 10)
		}
		args = append(args, &v.Content, n, priority, &v.Reason)
	}
	return args
}

// millis keeps a time from meaning something else: a negative one would be another verdict,
// and 0 means a literal topic, or a worker without a lease.
func millis(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return max(1, d.Milliseconds())
}

func parseAnswer(reply []string) (a Answer, ok bool) {
	if len(reply) < 2 {
		return a, false
	}
	a.Code = Code(reply[0])
	var err error
	if a.Code == Busy {
		a.Holder = reply[1]
	} else if a.Fence, err = strconv.ParseInt(reply[1], 10, 64); err != nil {
		return a, false
	}
	switch a.Code {
	case Batch:
		if len(reply) < 5 {
			return a, false
		}
		a.Attempt, _ = strconv.Atoi(reply[2])
		k, _ := strconv.Atoi(reply[3])
		if a.Attempt < 1 || k < 1 || k > len(reply)-4 {
			return a, false
		}
		a.Contents, a.extra = reply[4:4+k:4+k], reply[4+k:]
		return a, len(a.extra) <= 1 || a.Attempt == 1 && len(a.extra) == k
	case Busy:
		if len(reply) < 3 {
			return a, false
		}
		a.Wait, ok = parseMillis(reply[2])
		return a, ok
	case Empty:
		if len(reply) < 4 {
			return a, false
		}
		over, err := strconv.Atoi(reply[3])
		if a.Wait, ok = parseMillis(reply[2]); a.Wait > 0 {
			a.Wait -= time.Duration(over) * time.Microsecond
		}
		return a, ok && err == nil
	case Number, Paused, Left:
		return a, true
	}
	return a, false
}

func parseMillis(text string) (time.Duration, bool) {
	if text == "" {
		return -1, true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return time.Duration(min(max(n, 0), limits.MaxDelay)) * time.Millisecond, err == nil
}
