package consumer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// numberedSend is send number n of a content, which bears its number.
func numberedSend(topic message.Topic, content string, n int) message.Message {
	headers := map[string]string{"n": strconv.Itoa(n)}
	switch topic.Kind {
	case message.KindPriority:
		return message.Priority{Content: content, Priority: 100, Headers: headers}
	case message.KindRangeMerge:
		return message.RangeMerge{Content: content, Range: time.Millisecond, Headers: headers}
	default:
		return message.FixedTime{Content: content, In: time.Millisecond, Headers: headers}
	}
}

// sendsTold checks which sends the deliveries of a content are told.
type sendsTold struct {
	t  *testing.T
	mu sync.Mutex
	of map[string]*toldOf

	retried, waited, silent, lost, gaps int // how often it happened
}

// toldOf is what is known of one content.
type toldOf struct {
	begun       []time.Time // when send n was begun, in place n; in place 0 nothing
	first, last int         // the sends that were told last
	waits       bool        // its handler put that copy back, so that sends may merge into it
	silent      int         // first deliveries since that were told nothing: each had a send of its own, at least
	lost        bool        // a copy may have been lost since, with a worker that died, or without a note
	history     []string    // for when the test fails
}

func newSendsTold(t *testing.T, contents []string) *sendsTold {
	s := &sendsTold{t: t, of: map[string]*toldOf{}}
	for _, x := range contents {
		s.of[x] = &toldOf{begun: make([]time.Time, 1)}
	}
	return s
}

// begin is the number of the next send of a content, which begins now.
func (s *sendsTold) begin(content string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.of[content]
	x.begun = append(x.begun, time.Now().Truncate(time.Millisecond))
	x.say("send %d", len(x.begun)-1)
	return len(x.begun) - 1
}

// say adds to the history.
func (x *toldOf) say(format string, args ...any) {
	x.history = append(x.history, fmt.Sprintf(format, args...))
}

// Observe notes what became of each delivery.
func (s *sendsTold) Observe(e *message.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range e.Items {
		if x := s.of[i.Content]; x != nil {
			x.say("%v with fence %d: %s", i.What, e.Fence, i.Reason)
		}
	}
}

// die has a worker take what is due in a slot, and die with it.
func (s *sendsTold) die(rdb *redis.Client, topic message.Topic, slot int) (died bool) {
	s.mu.Lock() // so that nobody is told of it before this is known
	defer s.mu.Unlock()
	ghost := &protocol.Turn{
		Keys: keysOf(topic, slot), Priority: topic.Kind == message.KindPriority, Merge: topic.Kind == message.KindRangeMerge,
		Worker: fmt.Sprint("dies", s.lost), Lease: time.Millisecond, Count: 5,
	}
	a := takeTurn(s.t, rdb, ghost)
	if a.Code == protocol.Number {
		ghost.Fence = a.Fence
		a = takeTurn(s.t, rdb, ghost)
	}
	for _, content := range a.Contents {
		s.of[content].lost = true
		s.of[content].say("taken by one that dies")
		s.lost++
	}
	return len(a.Contents) > 0
}

// add takes a delivery into account. It is told the sends behind those of the copy before, and no
// fewer than there are, or those of the same copy again. Some may be missing only if their copy was told
// nothing, because the content was sent again, or was lost with its worker, and replaced.
func (s *sendsTold) add(d *Delivery, putBack bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.of[d.Content]
	x.say("delivery %d with fence %d is told %d sends, %v", d.Attempt, d.Fence, d.Sends(), d.Headers())
	if d.Sends() == 0 {
		s.silent++
		switch {
		case x.waits: // this copy, or one that was sent since
			x.lost = true
		case d.Attempt == 1:
			x.silent++
		}
		return
	}
	last, err := strconv.Atoi(d.Headers()["n"])
	first := last - d.Sends() + 1
	if err != nil || first < 1 || last >= len(x.begun) {
		s.t.Errorf("%s: told %d sends, %v", d.Content, d.Sends(), d.Headers())
		return
	}
	switch {
	case first == x.first && (last == x.last && d.Attempt > 1 || last >= x.last && x.waits):
		s.retried++
	case first == x.last+1 && x.silent == 0, first > x.last+x.silent && (x.silent > 0 || x.lost):
		s.gaps += min(1, first-x.last-1)
	default:
		s.t.Errorf("%s, attempt %d: told sends %d to %d, and before %d to %d; %d deliveries between were told nothing, lost %v", d.Content, d.Attempt, first, last, x.first, x.last, x.silent, x.lost)
		s.t.Logf("%s: %q", d.Content, x.history[max(0, len(x.history)-20):])
	}
	for n, at := range map[int]time.Time{first: d.FirstSent(), last: d.LastSent()} {
		if at.Before(x.begun[n]) || n+1 < len(x.begun) && at.After(x.begun[n+1]) {
			s.t.Errorf("%s: send %d is said to be at %v, and it was begun at %v of %v", d.Content, n, at, x.begun[n], x.begun)
		}
	}
	x.first, x.last, x.waits, x.silent, x.lost = first, last, putBack, 0, false
	if putBack {
		s.waited++
	}
}

// wantAll checks what was told when all is over: the last copy of a content cannot have been told nothing.
func (s *sendsTold) wantAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for content, x := range s.of {
		if sent := len(x.begun) - 1; x.last != sent {
			s.t.Errorf("%s: told of %d of %d sends", content, x.last, sent)
		}
	}
	if s.retried == 0 || s.waited == 0 || s.lost == 0 {
		s.t.Errorf("%d retries, %d were put back, %d were lost with a worker", s.retried, s.waited, s.lost)
	}
	s.t.Logf("%d were told nothing, %d times sends are missing", s.silent, s.gaps)
}

// Whatever is sent again while it waits, is in flight or waits for its retry, whatever fails, and
// whichever worker dies: a copy is told its own sends, all of them, and none of another one.
func TestEachSendIsToldWithItsCopy(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		for _, literal := range []bool{false, true} {
			for _, how := range waysToHandle {
				t.Run(fmt.Sprint(kind, "-literal-", literal, "-", how), func(t *testing.T) {
					t.Parallel()
					topic := notedTopic(t, kind, 2)
					topic.Literal = literal
					testEachSendIsToldWithItsCopy(t, topic, how)
				})
			}
		}
	}
}

func testEachSendIsToldWithItsCopy(t *testing.T, topic message.Topic, how string) {
	const senders = 3
	sends := night.Times(40, 100)
	rdb, seed := shared(t), uint64(sharetest.Seed(t))
	var contents []string
	for sender := range senders {
		contents = append(contents, numbered(fmt.Sprint(sender), 5)...)
	}
	told, s := newSendsTold(t, contents), newSender(t, rdb, topic)
	send := func(x string) {
		if _, err := s.Send(ctx, topic, numberedSend(topic, x, told.begin(x))); err != nil {
			t.Error(err)
		}
	}
	for _, x := range contents {
		send(x)
	}
	for slot := range topic.Slots {
		await.True(t, "a worker dies", func() bool { return told.die(rdb, topic, slot) })
	}
	hook := new(noteHook)
	hook.failThat.Store(20) // so that notes are left over
	worker := shared(t)
	worker.AddHook(hook)
	var draw sync.Mutex
	random := rand.New(rand.NewPCG(seed, 0))
	listenNoted(t, worker, Config{Lease: 5 * time.Minute, Backoff: verdict.Schedule(time.Millisecond), SafetyLook: 20 * time.Millisecond, Observers: []message.Observer{told}}, topic, how, ListenOptions{NoBreaker: true}, func(_ context.Context, d *Delivery) error {
		draw.Lock()
		what, delay := random.IntN(6), time.Duration(1+random.IntN(3))*time.Millisecond
		draw.Unlock()
		told.add(d, what == 0)
		switch what {
		case 0:
			return verdict.LaterError(delay)
		case 1:
			return verdict.RetryError(delay, errors.New("oops"))
		case 2:
			return verdict.DeadError(errors.New("oops"))
		}
		return nil
	})
	var all sync.WaitGroup
	for sender := range senders {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(1+sender)))
			mine := contents[5*sender:][:5]
			for range sends {
				send(mine[random.IntN(len(mine))])
				if random.IntN(4) == 0 {
					told.die(rdb, topic, random.IntN(topic.Slots))
				}
			}
		})
	}
	all.Wait()
	for slot := range topic.Slots {
		k := keysOf(topic, slot)
		for _, key := range []string{k.Store, k.Prepare, k.Retry} {
			await.True(t, key+" is empty", func() bool { return rdb.ZCard(ctx, key).Val() == 0 })
		}
		awaitNotes(t, rdb, topic, slot)
	}
	told.wantAll()
}

// The network is cut between the take and the look at the notes, again and again: nothing is handled
// unread, and what is past its time to live is not handled.
func TestNotesWhileTheNetworkIsCut(t *testing.T) {
	t.Parallel()
	server := servertest.SharedRedis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	rdb, topic := server.Client(t), notedTopic(t, message.KindPriority, 4)
	s := newSender(t, rdb, topic)
	worker := proxy.Client(t, func(o *redis.Options) { o.MaxRetries = -1 })
	n, told := newNotes(), new(told)
	c := newConsumer(t, worker, Config{Lease: time.Second, SafetyLook: 50 * time.Millisecond})
	must.Do(t, c.Listen(topic, n.around(func(_ context.Context, d *Delivery) error {
		told.add(d)
		return nil
	}), ListenOptions{Expired: ExpiredDrop}))
	start(t, c)
	var contents []string
	for round := range 4 {
		var ms []message.Message
		these := numbered(fmt.Sprint("m", round), 20)
		for _, x := range these {
			ms = append(ms, message.Priority{Content: x, Priority: 100, TTL: time.Hour}, message.Priority{Content: "short-" + x, Priority: 17, TTL: time.Millisecond})
		}
		contents = append(contents, these...)
		lost := proxy.LoseNextReply("hmget")
		_, err := s.SendBatch(ctx, topic, ms)
		must.Do(t, err)
		await.Signal(t, "a reply is lost", lost)
		n.awaitAll(t, contents)
	}
	wantEmpty(t, rdb, topic)
	told.mu.Lock()
	defer told.mu.Unlock()
	for content, all := range told.all {
		if slices.ContainsFunc(all, func(note string) bool { return note[0] == '0' }) {
			t.Errorf("%s is handled unread: %q", content, all)
		}
	}
}
