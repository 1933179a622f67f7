package workers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/slots"
)

// Job is what a worker process is told.
type Job struct {
	Dir, Name string
	Redis     string // of a Cluster, the addresses of several nodes, with commas
	Topics    []rmq.Topic
	Lease     time.Duration
	Work      time.Duration // a handler takes a random part of it
	Backoff   time.Duration
	Together  bool // its listener handles whole batches
	Rate      rmq.Rate

	ZooKeeper []string      // none: the slots are shared out in Redis
	Session   time.Duration // with ZooKeeper
	Root      string
	Coast     bool

	Timeout time.Duration

	Observe bool // log the events, too

	Plans []rmq.Recurring // of its first topic, which it declares when it starts

	SafetyLook    time.Duration
	ListensToDead bool // listens to the dead: see noteDeath
	NoBreaker     bool
}

// sharing is how the slots are shared out.
func (j Job) sharing() slots.Sharing {
	if len(j.ZooKeeper) == 0 {
		return nil
	}
	outage := slots.Stop
	if j.Coast {
		outage = slots.Coast
	}
	return slots.ZooKeeper(slots.ZooKeeperConfig{Servers: j.ZooKeeper, SessionTimeout: j.Session, Root: j.Root, OnOutage: outage})
}

// harmful is how long a pause of the worker may be without any consequence.
func (j Job) harmful() time.Duration {
	if len(j.ZooKeeper) > 0 {
		return j.Session / 6 // between the end of its handlers and that of its session
	}
	return j.Lease / 4
}

// Words in a content tell the handler what to do on the first attempt, or on
// all of them.
const (
	Hang     = "hang"     // wait until the context ends, then fail
	HangDone = "hangdone" // wait until the context ends, then be done
	FailOnce = "failonce"
	Poison   = "poison"   // fail always
	Slow     = "slow"     // take three seconds
	Stuck    = "stuck"    // heed nothing until the worker is to stop, then fail
	Hopeless = "hopeless" // is declared dead
	Hold     = "hold"     // wait until the context ends, then fail, on each attempt
	Closed   = "closed"   // put back, until the shop opens
	Away     = "away"     // fail, until then
	Full     = "full"     // push back for a moment, until then
)

// shopOpens is the file by which a test lets go of what is put back.
const shopOpens = "the shop opens"

// ContentsEnd separates the contents of an event in the log.
const ContentsEnd = "\n"

var (
	// ErrAsked is what handlers fail with that are asked to.
	ErrAsked = errors.New("the content asks for it")
	errAway  = errors.New("the database is away")
)

// Main is for TestMain: it runs the tests, or a worker, if a test has started this process as one.
func Main(m *testing.M) {
	var j Job
	if proctest.Child(&j) {
		os.Exit(j.work())
	}
	servertest.Main(m)
}

// work is the main function of a worker process; it returns the exit code.
func (j Job) work() int {
	if err := j.run(); err != nil {
		fmt.Fprintln(os.Stderr, "panic:", err) // the test looks for this word
		return 1
	}
	return 0
}

func (j Job) run() error {
	log, err := proctest.OpenLog(j.Dir, j.Name)
	if err != nil {
		return err
	}
	logger, err := zap.NewDevelopment(zap.IncreaseLevel(zap.InfoLevel), zap.AddStacktrace(zap.FatalLevel))
	if err != nil {
		return err
	}
	// Without repetitions of its own: what is repeated, the library repeats.
	rdb := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: strings.Split(j.Redis, ","), MaxRetries: -1})
	defer rdb.Close()
	var observers []rmq.Observer
	if j.Observe {
		observers = append(observers, eventLog{log})
	}
	client, err := rmq.New(rmq.Config{
		Redis: rdb, Worker: j.Name, Lease: j.Lease, Backoff: rmq.Schedule(j.Backoff), Logger: logger,
		Slots: j.sharing(), Timeout: j.Timeout, Observers: observers, SafetyLook: j.SafetyLook,
	})
	if err != nil {
		return err
	}
	stopping := make(chan struct{})
	for _, t := range j.Topics {
		h := handler{j, log, client, stopping}
		if j.Together {
			err = client.ListenBatch(t, h, rmq.BatchOptions{ListenOptions: rmq.ListenOptions{Rate: j.Rate, NoBreaker: j.NoBreaker}})
		} else {
			err = client.Listen(t, h, rmq.ListenOptions{Rate: j.Rate, NoBreaker: j.NoBreaker})
		}
		if err != nil {
			return err
		}
		if j.ListensToDead {
			if err := client.ListenDead(t, noteDeath(rdb)); err != nil {
				return err
			}
		}
	}
	ctx := context.Background()
	if err := patiently(func() error { return rdb.Ping(ctx).Err() }); err != nil {
		return err
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)

	log.WatchStalls(j.harmful())
	log.Write(proctest.Event{Kind: proctest.Warm})
	if !proctest.AwaitGo() {
		return nil
	}
	if err := patiently(func() error { return client.Start(ctx) }); err != nil {
		return err
	}
	for _, r := range j.Plans {
		if err := patiently(func() error { return client.Every(ctx, j.Topics[0], r) }); err != nil {
			return err
		}
	}
	log.Write(proctest.Event{Kind: proctest.Ready})
	<-term
	log.Write(proctest.Event{Kind: proctest.Closing})
	close(stopping)
	ctx, cancel := context.WithTimeout(ctx, await.Patience)
	defer cancel()
	if err := client.Close(ctx); err != nil {
		return err
	}
	log.Write(proctest.Event{Kind: proctest.Closed})
	return nil
}

// patiently tries for as long as tests wait: a server of a busy machine may not answer within the bound of one try.
func patiently(do func() error) error {
	for begun := time.Now(); ; {
		err := do()
		if err == nil || time.Since(begun) > await.Patience {
			return err
		}
	}
}

// handler logs what it does.
type handler struct {
	Job
	log      *proctest.Log
	client   *rmq.Client
	stopping <-chan struct{}
}

func (h handler) OnMessage(ctx context.Context, d *rmq.Delivery) error {
	e := proctest.Event{
		Kind: proctest.Start, Topic: d.Topic.Name, Slot: d.Slot, Fence: d.Fence,
		Attempt: d.Attempt, Priority: d.Priority, Content: d.Content, Note: h.client.Worker(),
	}
	h.log.Write(e)
	err := h.handle(ctx, d)
	e.Kind, e.Note = proctest.Done, ""
	if err != nil {
		e.Kind, e.Note = proctest.Fail, err.Error()
	} else if ctx.Err() != nil {
		e.Note = context.Cause(ctx).Error()
	}
	h.log.Write(e)
	return err
}

// OnBatch notes that all of it has begun, and then handles one after the other.
func (h handler) OnBatch(ctx context.Context, b *rmq.Batch) error {
	for _, d := range b.Messages {
		h.log.Write(proctest.Event{
			Kind: proctest.Start, Topic: d.Topic.Name, Slot: d.Slot, Fence: d.Fence,
			Attempt: d.Attempt, Content: d.Content, Note: fmt.Sprint(len(b.Messages)),
		})
	}
	for i, d := range b.Messages {
		e := proctest.Event{Kind: proctest.Done, Topic: d.Topic.Name, Slot: d.Slot, Fence: d.Fence, Attempt: d.Attempt, Content: d.Content}
		if err := h.handle(ctx, d); err != nil {
			b.Fail(i, err)
			e.Kind, e.Note = proctest.Fail, err.Error()
		}
		h.log.Write(e)
	}
	return nil
}

func (h handler) handle(ctx context.Context, d *rmq.Delivery) error {
	_, order, _ := strings.Cut(d.Content, " ")
	switch {
	case order == Poison, order == FailOnce && d.Attempt == 1:
		return ErrAsked
	case order == Hopeless:
		return rmq.Dead(ErrAsked)
	case order == Hold, order == Hang && d.Attempt == 1:
		<-ctx.Done()
		return context.Cause(ctx)
	case order == HangDone && d.Attempt == 1:
		<-ctx.Done()
		return nil
	case order == Closed && !h.shopOpen():
		pass(h.Work) // or a kill would hardly ever find it at work
		return rmq.Later(time.Millisecond + rand.N(40*time.Millisecond))
	case order == Away && !h.shopOpen():
		return errAway
	case order == Full && !h.shopOpen():
		return rmq.Pushback(20*time.Millisecond, errAway)
	case order == Stuck && d.Attempt == 1:
		<-h.stopping
		return ErrAsked
	}
	work := 3 * time.Second
	if order != Slow {
		if h.Work <= 0 {
			return nil
		}
		work = rand.N(h.Work)
	}
	timer := time.NewTimer(work)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h handler) shopOpen() bool {
	_, err := os.Stat(filepath.Join(h.Dir, shopOpens))
	return err == nil
}

// eventLog is an observer that logs the events of messages, those of one kind in one line.
type eventLog struct{ log *proctest.Log }

func (o eventLog) Observe(e *message.Event) {
	line := proctest.Event{Kind: proctest.Seen, Topic: e.Topic.Name, Slot: e.Slot, Fence: e.Fence}
	for i, x := range e.Items {
		if x.What == message.Moved || x.What == message.Probing {
			return
		}
		if note := x.What.String(); note != line.Note {
			if i > 0 {
				o.log.Write(line)
			}
			line.Note, line.Content = note, ""
		} else {
			line.Content += ContentsEnd
		}
		line.Content += x.Content
	}
	o.log.Write(line)
}
