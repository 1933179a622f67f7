package typed_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/typed"
)

func TestMain(m *testing.M) {
	cluster.Patience = 4 * time.Second // a machine that is busy
	servertest.Main(m)
}

var namespaces atomic.Int64

// on runs a test with a client on one server, and with one on a Cluster, in a namespace of its own.
func on(t *testing.T, do func(t *testing.T, i *inspector.Inspector, client *rmq.Client)) {
	for where, rdb := range map[string]func(t *testing.T) redis.UniversalClient{
		"redis":   func(t *testing.T) redis.UniversalClient { return servertest.SharedRedis(t).Client(t) },
		"cluster": func(t *testing.T) redis.UniversalClient { return servertest.SharedCluster(t).Client(t) },
	} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			rdb := rdb(t)
			namespace := fmt.Sprint("n", namespaces.Add(1))
			client, err := rmq.New(rmq.Config{Redis: rdb, Namespace: namespace, Backoff: rmq.Schedule(time.Millisecond)})
			must.Do(t, err)
			t.Cleanup(func() {
				if err := client.Close(await.CleanupContext(t)); err != nil {
					t.Error(err)
				}
			})
			i, err := inspector.New(rdb, inspector.Config{Namespace: namespace})
			must.Do(t, err)
			do(t, i, client)
		})
	}
}

// price of a product, as a shop keeps it.
type price struct {
	Product string `json:"product"`
	Cents   int64  `json:"cents"`
}

// shop is where the prices are.
type shop struct {
	mu    sync.Mutex
	cents map[string]int64
}

func (s *shop) set(p price) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cents[p.Product] = p.Cents
}

func (s *shop) load(_ context.Context, product string) (price, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cents, ok := s.cents[product]
	if !ok {
		return price{}, fmt.Errorf("product %s: %w", product, typed.ErrGone)
	}
	return price{product, cents}, nil
}

// A thousand changes of one price are one delivery, with the last one.
func TestFloodOfChanges(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, i *inspector.Inspector, client *rmq.Client) {
		prices := &shop{cents: map[string]int64{}}
		changed := typed.Ref[price]{
			Topic:    rmq.Topic{Name: "prices", Kind: rmq.KindRangeMerge},
			Identity: func(p price) string { return p.Product },
			Load:     prices.load,
		}
		drawn := make(chan price, 1000)
		must.Do(t, changed.Listen(client, func(_ context.Context, d *typed.Delivery[price]) error {
			if d.Content != d.Value.Product {
				t.Errorf("%q is about %q", d.Content, d.Value.Product)
			}
			drawn <- d.Value
			return nil
		}, rmq.ListenOptions{}))
		ctx := t.Context()
		merged := 0
		for cents := range int64(1000) { // before any worker is there
			p := price{"bike", cents}
			prices.set(p)
			receipt, err := changed.Send(ctx, client, p, typed.Within(time.Millisecond))
			must.Do(t, err)
			if receipt.Outcome != rmq.Stored {
				merged++
			}
		}
		_, err := changed.Send(ctx, client, price{"gone", 1}, typed.Within(time.Millisecond))
		must.Do(t, err)
		must.Do(t, client.Start(ctx))
		if got := await.Signal(t, "drawn", drawn); got != (price{"bike", 999}) || merged != 999 {
			t.Errorf("drawn with %v, %d merged", got, merged)
		}
		await.True(t, "nothing waits", func() bool { return waiting(t, i, "prices") == 0 })
		if len(drawn) > 0 {
			t.Errorf("drawn again with %v", <-drawn)
		}
	})
}

// Each way to say when a message is handled makes the message that says so.
func TestHow(t *testing.T) {
	t.Parallel()
	at, headers := time.Now(), map[string]string{"a": "b"}
	own := typed.How(func(string, string) rmq.Message { return nil })
	for i, c := range []struct {
		how  typed.How
		want rmq.Message
	}{
		{typed.Priority(500), rmq.Priority{Content: "x", SlotBasis: "s", Priority: 500}},
		{typed.Within(time.Second), rmq.RangeMerge{Content: "x", SlotBasis: "s", Range: time.Second}},
		{typed.Debounced(time.Second, time.Minute), rmq.RangeMerge{Content: "x", SlotBasis: "s", Range: time.Second, Extend: true, Ceiling: time.Minute}},
		{typed.At(at), rmq.FixedTime{Content: "x", SlotBasis: "s", At: at}},
		{typed.In(time.Second), rmq.FixedTime{Content: "x", SlotBasis: "s", In: time.Second}},
		{typed.In(time.Second).TTL(time.Minute), rmq.FixedTime{Content: "x", SlotBasis: "s", In: time.Second, TTL: time.Minute}},
		{typed.Priority(17).Headers(headers).TTL(time.Hour), rmq.Priority{Content: "x", SlotBasis: "s", Priority: 17, TTL: time.Hour, Headers: headers}},
		{typed.Within(time.Second).Headers(headers), rmq.RangeMerge{Content: "x", SlotBasis: "s", Range: time.Second, Headers: headers}},
		{typed.Debounced(time.Second, time.Minute).Unique(time.Hour), rmq.RangeMerge{Content: "x", SlotBasis: "s", Range: time.Second, Extend: true, Ceiling: time.Minute, Unique: time.Hour}},
		{own.TTL(time.Second), nil},
	} {
		if got := c.how("x", "s"); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%d: %+v, not %+v", i, got, c.want)
		}
	}
	if how := typed.How(nil).TTL(time.Second); how != nil {
		t.Error("made of nothing")
	}
}

// waiting is how many messages of a topic are not handled yet.
func waiting(t *testing.T, i *inspector.Inspector, topic string) (n int) {
	t.Helper()
	s, err := i.Stats(t.Context(), topic)
	must.Do(t, err)
	return s.Waiting + s.InFlight + s.Retrying
}

// order is a value that travels whole.
type order struct {
	ID       int64          `json:"id"`
	Customer string         `json:"customer"`
	Items    map[string]int `json:"items"`
}

// Equal values merge, others do not; a handler gets the value; and values of one basis are
// handled one at a time.
func TestValues(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, _ *inspector.Inspector, client *rmq.Client) {
		orders := typed.Topic[order]{
			Topic: rmq.Topic{Name: "orders", Kind: rmq.KindPriority},
			Basis: func(o order) string { return o.Customer },
		}
		ctx := t.Context()
		a, b := order{4711, "c1", map[string]int{"x": 1, "y": 2}}, order{4712, "c1", nil}
		first, err := orders.Send(ctx, client, a, typed.Priority(100))
		must.Do(t, err)
		again, err := orders.Send(ctx, client, order{4711, "c1", map[string]int{"y": 2, "x": 1}}, typed.Priority(200))
		must.Do(t, err)
		other, err := orders.Send(ctx, client, b, typed.Priority(100))
		must.Do(t, err)
		if again.Outcome != rmq.Merged || other.Outcome != rmq.Stored || first.Slot != other.Slot || first.Slot != again.Slot {
			t.Errorf("%+v, %+v, %+v", first, again, other)
		}
		got := make(chan order, 3)
		must.Do(t, orders.Listen(client, func(_ context.Context, d *typed.Delivery[order]) error {
			if d.Attempt == 1 && d.Value.ID == b.ID {
				return errors.New("once more")
			}
			got <- d.Value
			return nil
		}, rmq.ListenOptions{}))
		must.Do(t, client.Start(ctx))
		if o := await.Signal(t, "got", got); o.ID != 4711 || o.Items["y"] != 2 {
			t.Errorf("%+v comes first", o)
		}
		if o := await.Signal(t, "got", got); o.ID != 4712 {
			t.Errorf("%+v comes then", o)
		}
	})
}

// What the codec cannot read is dead at once, with the reason, and its neighbours go on.
func TestUndecodableIsDead(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, i *inspector.Inspector, client *rmq.Client) {
		orders := typed.Topic[order]{Topic: rmq.Topic{Name: "orders", Kind: rmq.KindPriority, Slots: 1}}
		ctx := t.Context()
		_, err := client.Send(ctx, orders.Topic, rmq.Priority{Content: `{"id":"x"}`, Priority: 900})
		must.Do(t, err)
		_, err = orders.Send(ctx, client, order{ID: 1}, typed.Priority(100))
		must.Do(t, err)
		got := make(chan order, 1)
		must.Do(t, orders.Listen(client, func(_ context.Context, d *typed.Delivery[order]) error {
			got <- d.Value
			return nil
		}, rmq.ListenOptions{}))
		must.Do(t, client.Start(ctx))
		if o := await.Signal(t, "got", got); o.ID != 1 {
			t.Errorf("%+v", o)
		}
		died := func() (all []inspector.Entry) {
			for dead, err := range i.Dead().List(ctx, "orders", inspector.DeadQuery{}) {
				must.Do(t, err)
				all = append(all, dead)
			}
			return all
		}
		await.True(t, "it is dead", func() bool { return len(died()) > 0 })
		const reason = "decode the content as a typed_test.order: json: cannot unmarshal string"
		if f := died()[0].Failure; f == nil || !strings.Contains(f.Reason, reason) {
			t.Errorf("%+v", f)
		}
	})
}

// Distinct messages never merge, and the handler gets the value alone.
func TestDistinct(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, _ *inspector.Inspector, client *rmq.Client) {
		mails := typed.Topic[string]{
			Topic: rmq.Topic{Name: "mails", Kind: rmq.KindFixedTime},
			Codec: typed.Distinct(typed.Raw[string]()),
			Basis: func(to string) string { return to },
		}
		ctx := t.Context()
		got := make(chan string, 10)
		must.Do(t, mails.Listen(client, func(_ context.Context, d *typed.Delivery[string]) error {
			got <- d.Value
			return nil
		}, rmq.ListenOptions{}))
		for _, how := range []typed.How{typed.In(time.Millisecond), typed.In(2 * time.Millisecond), typed.At(time.Now())} {
			receipt, err := mails.Send(ctx, client, "ada", how)
			if err != nil || receipt.Outcome == rmq.Merged {
				t.Error(receipt, err)
			}
		}
		must.Do(t, client.Start(ctx))
		for range 3 {
			if to := await.Signal(t, "got", got); to != "ada" {
				t.Errorf("it is for %q", to)
			}
		}
		for _, bad := range []string{"", "ada", strings.Repeat("x", 40), strings.Repeat("\xff", 26) + " ada"} {
			if v, err := mails.Codec.Decode(bad); err == nil {
				t.Errorf("%q is read as %q", bad, v)
			}
		}
	})
}

// What is missing, or cannot be encoded, is said before anything is sent or begun.
func TestRefused(t *testing.T) {
	t.Parallel()
	client, err := rmq.New(rmq.Config{Redis: servertest.SharedRedis(t).Client(t)})
	must.Do(t, err)
	ctx := t.Context()
	handle := func(context.Context, *typed.Delivery[price]) error { return nil }
	topic := rmq.Topic{Name: "refused", Kind: rmq.KindPriority}
	for want, got := range map[string]error{
		"listen to topic refused: Ref.Load is nil; it must be a function":    typed.Ref[price]{Topic: topic}.Listen(client, handle, rmq.ListenOptions{}),
		"listen to topic refused: handle is nil; it must be a function":      typed.Ref[price]{Topic: topic}.Listen(client, nil, rmq.ListenOptions{}),
		"listen to topic refused: handle is nil; it must be a function ":     typed.Topic[price]{Topic: topic}.Listen(client, nil, rmq.ListenOptions{}),
		"send to topic refused: Ref.Identity is nil; it must be a function":  second(typed.Ref[price]{Topic: topic}.Send(ctx, client, price{}, typed.Priority(100))),
		"send to topic refused: How is nil; it must be a function":           second(typed.Topic[price]{Topic: topic}.Send(ctx, client, price{}, nil)),
		"send to topic refused: How is nil; it must be a function ":          second(typed.Ref[price]{Topic: topic, Identity: func(price) string { return "x" }}.Send(ctx, client, price{}, nil)),
		"send to topic refused: Ref.Identity is nil; it must be a function ": typed.Ref[price]{Topic: topic}.Every(ctx, client, price{}, rmq.Recurring{Name: "p"}),
		"encode a string for topic refused: a string is no ":                 typed.Topic[string]{Topic: topic}.Every(ctx, client, "\xff", rmq.Recurring{Name: "p"}),
		"encode a string for topic refused: a string is no":                  second(typed.Topic[string]{Topic: topic}.Send(ctx, client, "\xff", typed.Priority(100))),
	} {
		if got == nil || !strings.HasPrefix(got.Error(), strings.TrimSpace(want)) {
			t.Errorf("%v, want %s", got, want)
		}
		if !errors.Is(got, rmq.ErrInvalid) && !strings.HasPrefix(want, "encode") {
			t.Errorf("%v is no ErrInvalid", got)
		}
	}
	if err := second(typed.Topic[string]{Topic: topic}.Send(ctx, client, "x", typed.In(time.Hour))); !errors.Is(err, rmq.ErrInvalid) {
		t.Errorf("a time for a topic of priorities: %v", err)
	}
	must.Do(t, client.Close(ctx))
}

func second[T any](_ T, err error) error { return err }

// Values are moved and taken back by what they are sent with.
func TestValuesAreTakenBack(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, _ *inspector.Inspector, client *rmq.Client) {
		ctx := context.Background()
		order := Order{ID: 7, Customer: "12"}
		customer := func(o Order) string { return o.Customer }
		orders := typed.Topic[Order]{Topic: rmq.Topic{Name: "orders", Kind: rmq.KindFixedTime}, Basis: customer}
		changed := typed.Ref[Order]{
			Topic: rmq.Topic{Name: "changed", Kind: rmq.KindFixedTime}, Basis: customer,
			Identity: func(o Order) string { return fmt.Sprint(o.ID) },
		}
		type topic interface {
			Send(context.Context, typed.Sender, Order, typed.How) (rmq.Receipt, error)
			Reschedule(context.Context, typed.Changer, Order, rmq.Move) (inspector.Entry, error)
			Cancel(context.Context, typed.Changer, Order) (removed, asked bool, err error)
		}
		for _, topic := range []topic{orders, changed} {
			receipt, err := topic.Send(ctx, client, order, typed.In(time.Hour))
			must.Do(t, err)
			moved, err := topic.Reschedule(ctx, client, order, rmq.Move{In: 2 * time.Hour})
			must.Do(t, err)
			if moved.Slot != receipt.Slot || !moved.Due.After(receipt.Due) {
				t.Errorf("%T: %+v became %+v", topic, receipt, moved)
			}
			for _, there := range []bool{true, false} {
				removed, _, err := topic.Cancel(ctx, client, order)
				must.Do(t, err)
				if removed != there {
					t.Errorf("%T: removed %v, not %v", topic, removed, there)
				}
			}
		}
	})
}

// A value is sent again and again, with the content and the basis of its other sends.
func TestValuesAreRepeated(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, _ *inspector.Inspector, client *rmq.Client) {
		ctx := context.Background()
		order := Order{ID: 7, Customer: "12"}
		customer := func(o Order) string { return o.Customer }
		type topic interface {
			Every(context.Context, typed.Repeater, Order, rmq.Recurring) error
		}
		for content, topic := range map[string]topic{
			`{"Customer":"12","ID":7}`: typed.Topic[Order]{Topic: rmq.Topic{Name: "again", Kind: rmq.KindFixedTime}, Basis: customer},
			"7": typed.Ref[Order]{
				Topic: rmq.Topic{Name: "changed-again", Kind: rmq.KindFixedTime}, Basis: customer,
				Identity: func(o Order) string { return fmt.Sprint(o.ID) },
			},
		} {
			must.Do(t, topic.Every(ctx, client, order, rmq.Recurring{Name: "p", Cron: "@daily"}))
			name := "again"
			if content == "7" {
				name = "changed-again"
			}
			all, err := client.Plans(ctx, rmq.Topic{Name: name})
			must.Do(t, err)
			if len(all) != 1 || all[0].Content != content || all[0].SlotBasis != "12" {
				t.Errorf("%+v", all)
			}
		}
	})
}
