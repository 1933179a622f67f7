package producer

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// spy notes what passes it, and gives each topic a name of its own.
type spy struct {
	next  Sender
	name  string
	notes *[]string
}

func (s spy) Send(ctx context.Context, t message.Topic, m message.Message) (Receipt, error) {
	*s.notes = append(*s.notes, s.name+" Send")
	t.Name += s.name
	return s.next.Send(ctx, t, m)
}

func (s spy) SendBatch(ctx context.Context, t message.Topic, ms []message.Message) ([]Receipt, error) {
	*s.notes = append(*s.notes, s.name+" SendBatch")
	t.Name += s.name
	return s.next.SendBatch(ctx, t, ms)
}

// The first middleware is outermost, sees Send and SendBatch, may change the topic, and
// returns what the caller gets.
func TestMiddlewareWrapsSends(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rdb := servertest.SharedRedis(t).Client(t)
	var notes []string
	layer := func(name string) Middleware {
		return func(next Sender) Sender { return spy{next, name, &notes} }
	}
	p := newProducer(t, rdb, Config{SendMiddleware: []Middleware{layer("-a"), layer("-b")}})
	topic := topicOf(t, message.KindPriority)
	r := mustSend(t, p, topic, message.Priority{Content: "one", Priority: 17})
	if r.Outcome != Stored {
		t.Errorf("the receipt is %+v", r)
	}
	receipts, err := p.SendBatch(ctx, topic, []message.Message{message.Priority{Content: "two", Priority: 18}, message.Priority{Content: "three", Priority: 19}})
	if err != nil || len(receipts) != 2 {
		t.Fatalf("receipts %v, error %v", receipts, err)
	}
	if want := []string{"-a Send", "-b Send", "-a SendBatch", "-b SendBatch"}; !reflect.DeepEqual(notes, want) {
		t.Errorf("called %q, not %q", notes, want)
	}
	topic.Name += "-a-b"
	if got, want := waiting(t, rdb, topic), (map[string]float64{"one": 17, "two": 18, "three": 19}); !reflect.DeepEqual(got, want) {
		t.Errorf("there wait %v, not %v", got, want)
	}
	topic.Kind = 99
	if _, err = p.Send(ctx, topic, message.Priority{Content: "x", Priority: 17}); !errors.Is(err, message.ErrInvalid) || !strings.HasPrefix(err.Error(), "send to topic ") {
		t.Errorf("the error of a bad topic is %v", err)
	}
	before := len(notes)
	if _, err = p.Send(nil, topic, message.Priority{Content: "x", Priority: 17}); !errors.Is(err, errNilContext) { //nolint:staticcheck // on purpose
		t.Errorf("a nil context: %v", err)
	}
	if _, err = p.SendBatch(nil, topic, nil); !errors.Is(err, errNilContext) { //nolint:staticcheck // on purpose
		t.Errorf("a nil context: %v", err)
	}
	if len(notes) != before {
		t.Error("a middleware got a nil context")
	}
}

// stopper refuses what it should not let through.
type stopper struct{ Sender }

var errStopped = errors.New("not for us")

func (stopper) Send(context.Context, message.Topic, message.Message) (Receipt, error) {
	return Receipt{}, errStopped
}

// A middleware may refuse a message: then nothing is sent, and the caller gets its error as it is.
func TestMiddlewareMayRefuse(t *testing.T) {
	t.Parallel()
	rdb := servertest.SharedRedis(t).Client(t)
	p := newProducer(t, rdb, Config{SendMiddleware: []Middleware{func(next Sender) Sender { return stopper{next} }}})
	topic := topicOf(t, message.KindPriority)
	if _, err := p.Send(context.Background(), topic, message.Priority{Content: "one", Priority: 17}); err != errStopped { //nolint:errorlint // the same one
		t.Errorf("error %v", err)
	}
	if _, err := p.SendBatch(context.Background(), topic, []message.Message{message.Priority{Content: "two", Priority: 18}}); err != nil {
		t.Errorf("the batch passes: %v", err)
	}
	if got := waiting(t, rdb, topic); len(got) != 1 || got["two"] != 18 {
		t.Errorf("there wait %v", got)
	}
}

func TestMiddlewareIsChecked(t *testing.T) {
	t.Parallel()
	rdb := servertest.SharedRedis(t).Client(t)
	_, err := New(rdb, Config{SendMiddleware: []Middleware{nil}})
	wantInvalid(t, errors.Unwrap(err), "Config.SendMiddleware")
	if _, err := New(rdb, Config{SendMiddleware: []Middleware{func(Sender) Sender { return nil }}}); err == nil {
		t.Error("a middleware that returns nil is accepted")
	}
}

// A message that is passed by value stays where it is, as long as there is no middleware.
func TestSendAsksForNoMemoryForItsMessage(t *testing.T) {
	rdb := servertest.SharedRedis(t).Client(t)
	p, topic := newProducer(t, rdb, Config{}), topicOf(t, message.KindPriority)
	ended, end := context.WithCancel(context.Background())
	end()
	var kept message.Message = message.Priority{Content: topic.Name, Priority: 17}
	least := allocations(func() { _, _ = p.Send(ended, topic, kept) })
	if n := allocations(func() { _, _ = p.Send(ended, topic, message.Priority{Content: topic.Name, Priority: 17}) }); n > least+0.5 {
		t.Errorf("%v allocations, and %v for a message that is there already", n, least)
	}
}

// allocations is how often f asks for memory, with fractions: with the race detector a sync.Pool
// now and then forgets what it has.
func allocations(f func()) float64 {
	const runs = 10_000
	f()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		f()
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / runs
}

// What is no message is refused, with middleware, too.
func TestMiddlewareSeesMessagesOnly(t *testing.T) {
	t.Parallel()
	rdb := servertest.SharedRedis(t).Client(t)
	p := newProducer(t, rdb, Config{SendMiddleware: []Middleware{func(next Sender) Sender { return next }}})
	for _, m := range []message.Message{nil, &message.Priority{Content: "a", Priority: 17}} {
		if _, err := p.Send(context.Background(), topicOf(t, message.KindPriority), m); !errors.Is(err, message.ErrInvalid) {
			t.Errorf("%T: %v", m, err)
		}
	}
}
