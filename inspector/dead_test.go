package inspector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
	"github.com/slotmq/go-rmq/internal/text/pattern"
	"github.com/slotmq/go-rmq/message"
)

// noon is a time in the past at which contents die in tests.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// bury makes contents of one slot dead, each at its time, with an entry of why.
func bury(t testing.TB, rdb redis.UniversalClient, topic message.Topic, slot, n int, of func(n int) (content string, died time.Time, why string)) {
	t.Helper()
	k := protocol.KeysOf(topic.Name, slot)
	const most, calls = 1000, 50
	for first := 0; first < n; first += most * calls {
		pipe := rdb.Pipeline()
		for from := first; from < min(n, first+most*calls); from += most {
			var zs []redis.Z
			var entries []any
			for i := from; i < min(n, from+most); i++ {
				content, died, why := of(i)
				zs = append(zs, redis.Z{Member: content, Score: float64(died.UnixMilli())})
				entries = append(entries, content, why)
			}
			pipe.ZAdd(ctx, k.Dead, zs...)
			pipe.HSet(ctx, k.Why, entries...)
		}
		_, err := pipe.Exec(ctx)
		must.Do(t, err)
	}
}

// whyOf is an entry of why.
func whyOf(died time.Time, priority, reason string) string {
	return fmt.Sprintf("17 %d %d %s w1 %s", died.Add(-time.Hour).UnixMilli(), died.UnixMilli(), priority, reason)
}

// buryOne makes one content dead.
func buryOne(t testing.TB, rdb redis.UniversalClient, topic message.Topic, slot int, content string, died time.Time) {
	t.Helper()
	bury(t, rdb, topic, slot, 1, func(int) (string, time.Time, string) { return content, died, whyOf(died, "500", "it broke") })
}

// collect goes through the dead ones that are meant.
func collect(t testing.TB, i *Inspector, topic message.Topic, q DeadQuery) []Entry {
	t.Helper()
	var all []Entry
	for e, err := range i.Dead().List(ctx, topic.Name, q) {
		must.Do(t, err)
		all = append(all, e)
	}
	return all
}

func contentsOf(dead []Entry) []string {
	contents := make([]string, len(dead))
	for n, e := range dead {
		contents[n] = e.Content
	}
	return contents
}

// 10^4 dead messages, and a million by night, are gone through, in both directions, while
// others die, are requeued and deleted: those that stay are met once each, in the order of their
// deaths.
func TestManyDead(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		const slots = 4
		each := night.Times(2_500, 250_000)
		random := sharetest.Rand(t)
		topic := define(t, rdb, topicOf(t, message.KindFixedTime, slots))
		for slot := range slots {
			bury(t, rdb, topic, slot, each, func(n int) (string, time.Time, string) {
				id := n*slots + slot
				died := noon.Add(time.Duration(id) * 3 * time.Microsecond) // several die in one ms
				return name(id), died, whyOf(died, "-", "x")
			})
		}
		stays := func(id int) bool { return id%4 != 0 }

		// Beside it: one in four is requeued or deleted, now and then, and others die.
		done := make(chan struct{})
		var beside sync.WaitGroup
		defer beside.Wait()
		var stop sync.Once
		defer stop.Do(func() { close(done) })
		churn := func(do func() error) {
			beside.Go(func() {
				now := time.NewTicker(15 * time.Millisecond)
				defer now.Stop()
				for {
					select {
					case <-done:
						return
					case <-now.C:
					}
					if err := do(); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		goes := func(r *rand.Rand) DeadQuery {
			from := noon.Add(time.Duration(r.IntN(slots*each)) * 3 * time.Microsecond)
			third := time.Duration(slots*each) * time.Microsecond // of them
			return DeadQuery{NewerThan: from, OlderThan: from.Add(third), Limit: 100, Content: func(content string) bool {
				id, err := strconv.Atoi(strings.TrimPrefix(content, "m"))
				return err == nil && !stays(id)
			}}
		}
		one, two := rand.New(rand.NewPCG(random.Uint64(), 1)), rand.New(rand.NewPCG(random.Uint64(), 2))
		requeued, deleted, died := 0, 0, 0
		churn(func() error {
			r, err := i.Dead().Requeue(ctx, topic.Name, goes(one), RequeueOptions{})
			requeued += r.Stored
			return err
		})
		churn(func() error {
			n, _, err := i.Dead().Delete(ctx, topic.Name, goes(two), nil)
			deleted += n
			return err
		})
		churn(func() error {
			died++
			buryOne(t, rdb, topic, died%slots, fmt.Sprint("late ", died), time.Now())
			return nil
		})

		q := DeadQuery{Newest: strings.HasSuffix(t.Name(), "cluster")} // one way on each
		met := make([]bool, slots*each)
		var last time.Time
		for e, err := range i.Dead().List(ctx, topic.Name, q) {
			must.Do(t, err)
			id, err := strconv.Atoi(strings.TrimPrefix(e.Content, "m"))
			if err != nil {
				continue // died while the slots were counted
			}
			if met[id] {
				t.Fatalf("%s is met twice", e.Content)
			}
			met[id] = true
			if e.Slot != id%slots || e.Failure == nil && stays(id) || e.Failure != nil && e.Failure.Reason != "x" {
				t.Fatalf("met %+v", e)
			}
			if order := e.Died.Compare(last); !last.IsZero() && order != 0 && (order < 0) != q.Newest {
				t.Fatalf("%s died at %v, after one of %v", e.Content, e.Died, last)
			}
			last = e.Died
		}
		stop.Do(func() { close(done) })
		beside.Wait()
		for id, is := range met {
			if !is && stays(id) {
				t.Fatalf("%s is not met", name(id))
			}
		}
		t.Logf("meanwhile %d requeued, %d deleted, %d died", requeued, deleted, died)
		if requeued == 0 || deleted == 0 || died == 0 {
			t.Error("nothing happened meanwhile")
		}
		n, err := i.Dead().Count(ctx, topic.Name, DeadQuery{})
		if want := slots*each - requeued - deleted + died; err != nil || n != want {
			t.Errorf("%d are dead, %v; want %d", n, err, want)
		}

		// All of it is sound, and comes back.
		if found, err := i.Verify(ctx, []string{topic.Name}, nil); err != nil || found != nil {
			t.Errorf("found %v, %v", found, err)
		}
		told := 0
		r, err := i.Dead().Requeue(ctx, topic.Name, DeadQuery{}, RequeueOptions{Progress: func(r Requeued) {
			if r.Stored <= told {
				t.Errorf("told of %d after %d", r.Stored, told)
			}
			told = r.Stored
		}})
		if err != nil || r != (Requeued{Stored: n}) || told != n {
			t.Errorf("%d were dead, and %+v, %v", n, r, err)
		}
		stored := 0
		for slot := range slots {
			stored += int(rdb.ZCard(ctx, protocol.StoreKey(topic.Name, slot)).Val())
		}
		if stored != n+requeued {
			t.Errorf("%d are stored, want %d", stored, n+requeued)
		}
	})
}

func name(id int) string { return "m" + strconv.Itoa(id) }

// 6,000 that died in the same ms, and 100,000 by night, are met once each, both ways.
func TestManyDeathsAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		n := night.Times(6_000, 100_000)
		topic := define(t, rdb, topicOf(t, message.KindPriority, 2))
		for slot := range 2 {
			bury(t, rdb, topic, slot, n/2, func(n int) (string, time.Time, string) { return name(2*n + slot), noon, whyOf(noon, "20", "x") })
		}
		ways := map[bool][]Entry{}
		for _, newest := range []bool{false, true} {
			for e, err := range i.Dead().each(ctx, Topic{Topic: topic}, DeadQuery{Newest: newest}, false) {
				must.Do(t, err)
				ways[newest] = append(ways[newest], e)
			}
		}
		// Equal deaths come slot by slot, and in each by content.
		inOrder := func(a, b Entry) int {
			return cmp.Or(cmp.Compare(a.Slot, b.Slot), strings.Compare(a.Content, b.Content))
		}
		if len(ways[false]) != n || !slices.IsSortedFunc(ways[false], inOrder) {
			t.Errorf("%d are met, in order: %t", len(ways[false]), slices.IsSortedFunc(ways[false], inOrder))
		}
		contents := map[string]bool{}
		for k, e := range ways[false] {
			contents[e.Content] = true
			if back := ways[true]; len(back) == n { // slots in the same order, contents the other way round
				other := back[k/(n/2)*(n/2)+n/2-1-k%(n/2)]
				if other.Slot != e.Slot || other.Content != e.Content {
					t.Fatalf("the other way round slot %d %s is where slot %d %s should be", other.Slot, other.Content, e.Slot, e.Content)
				}
			}
		}
		if len(contents) != n || len(ways[true]) != n {
			t.Errorf("%d different ones are met, and %d the other way round", len(contents), len(ways[true]))
		}
	})
}

func TestDeadQueries(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, topicOf(t, message.KindPriority, 4))
		at := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }
		for n, c := range []struct {
			content, reason string
			slot            int
		}{
			{"order 0", "the shop timed out", 0}, {"order 1", "no such order", 1}, {"price 2", "the shop timed out", 2},
			{binary, "panic: \x00 \xff", 3}, {"order 4", "", 0}, {strings.Repeat("x", 256<<10), "no such order", 1},
		} {
			bury(t, rdb, topic, c.slot, 1, func(int) (string, time.Time, string) { return c.content, at(n), whyOf(at(n), "500", c.reason) })
		}
		k := protocol.KeysOf(topic.Name, 2)
		must.Do(t, rdb.ZAdd(ctx, k.Dead, redis.Z{Member: "nothing known", Score: float64(at(6).UnixMilli())}).Err())
		glob := func(text string) func(string) bool {
			filter, err := pattern.Glob(text)
			must.Do(t, err)
			return filter
		}
		for _, c := range []struct {
			name string
			q    DeadQuery
			want []int // by the second of their deaths
		}{
			{"all", DeadQuery{}, []int{0, 1, 2, 3, 4, 5, 6}},
			{"newest first", DeadQuery{Newest: true}, []int{6, 5, 4, 3, 2, 1, 0}},
			{"limit", DeadQuery{Limit: 3}, []int{0, 1, 2}},
			{"limit, newest", DeadQuery{Limit: 3, Newest: true}, []int{6, 5, 4}},
			{"limit above all", DeadQuery{Limit: 100}, []int{0, 1, 2, 3, 4, 5, 6}},
			{"one slot", DeadQuery{Slots: []int{1}}, []int{1, 5}},
			{"slots, one of them twice", DeadQuery{Slots: []int{3, 0, 3}}, []int{0, 3, 4}},
			{"no slot", DeadQuery{Slots: []int{}}, nil},
			{"content", DeadQuery{Content: glob("order *")}, []int{0, 1, 4}},
			{"content and limit", DeadQuery{Content: glob("order *"), Limit: 2, Newest: true}, []int{4, 1}},
			{"binary content", DeadQuery{Content: glob("*\xff*")}, []int{3}},
			{"reason", DeadQuery{Reason: "such"}, []int{1, 5}},
			{"reason and limit", DeadQuery{Reason: "shop", Limit: 2}, []int{0, 2}},
			{"reason and limit, newest", DeadQuery{Reason: "shop", Limit: 1, Newest: true}, []int{2}},
			{"binary reason", DeadQuery{Reason: "\xff"}, []int{3}},
			{"all at once", DeadQuery{Content: glob("*order*"), Reason: "shop", Slots: []int{0, 1}, OlderThan: at(9), NewerThan: noon.Add(-1)}, []int{0}},
			{"older", DeadQuery{OlderThan: at(2)}, []int{0, 1}},
			{"older by 1 ns", DeadQuery{OlderThan: at(2).Add(1)}, []int{0, 1, 2}},
			{"newer", DeadQuery{NewerThan: at(4)}, []int{5, 6}},
			{"newer by 1 ns", DeadQuery{NewerThan: at(4).Add(-1)}, []int{4, 5, 6}},
			{"between, newest", DeadQuery{NewerThan: at(1), OlderThan: at(4), Newest: true}, []int{3, 2}},
			{"nothing between", DeadQuery{NewerThan: at(4), OlderThan: at(5)}, nil},
			{"the wrong way round", DeadQuery{NewerThan: at(5), OlderThan: at(1)}, nil},
			{"the wrong way round, newest", DeadQuery{NewerThan: at(5), OlderThan: at(1), Newest: true}, nil},
		} {
			var got []int
			for _, e := range collect(t, i, topic, c.q) {
				got = append(got, int(e.Died.Sub(noon)/time.Second))
				if known := e.Failure != nil; known != (e.Content != "nothing known") ||
					known && (e.Failure.Attempts != 17 || e.Failure.Priority != 500 || e.Failure.Worker != "w1" || !e.Failure.Last.Equal(e.Died)) {
					t.Errorf("%s: %.40q has failure %+v", c.name, e.Content, e.Failure)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: met %v, want %v", c.name, got, c.want)
			}
			if n, err := i.Dead().Count(ctx, topic.Name, c.q); err != nil || n != len(c.want) {
				t.Errorf("%s: counted %d, %v; want %d", c.name, n, err, len(c.want))
			}
		}
	})
}

// Of equal contents that are dead in several slots, Which chooses one. What Content says holds as well.
func TestDeadWhich(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, topicOf(t, message.KindFixedTime, 2))
		bury(t, rdb, topic, 0, 200, func(n int) (string, time.Time, string) { return name(n), noon, whyOf(noon, "-", "x") })
		buryOne(t, rdb, topic, 0, "x", noon.Add(time.Second))
		buryOne(t, rdb, topic, 1, "x", noon.Add(2*time.Second))
		which := func(slot int, died time.Time) DeadQuery {
			return DeadQuery{Limit: 5, Content: func(content string) bool { return content != name(7) }, Which: func(e Entry) bool {
				if e.State != Dead || e.Failure != nil {
					t.Errorf("it is asked about %+v", e)
				}
				return e.Slot == slot && e.Died.Equal(died) && (e.Content == "x" || e.Content == name(7))
			}}
		}
		for _, c := range []struct {
			slot, want int
			died       time.Time
		}{{0, 1, noon.Add(time.Second)}, {1, 1, noon.Add(2 * time.Second)}, {1, 0, noon.Add(time.Second)}, {0, 0, noon}} {
			q := which(c.slot, c.died)
			n, err := i.Dead().Count(ctx, topic.Name, q)
			if dead := collect(t, i, topic, q); err != nil || n != c.want || len(dead) != n || n == 1 && (dead[0].Slot != c.slot || dead[0].Content != "x" || dead[0].Failure == nil) {
				t.Errorf("slot %d, %v: %d, %v, %+v", c.slot, c.died, n, err, dead)
			}
		}
		only := which(1, noon.Add(2*time.Second))
		only.Content, only.Limit = nil, 0
		if n, _, err := i.Dead().Delete(ctx, topic.Name, only, nil); n != 1 || err != nil {
			t.Errorf("%d deleted, %v", n, err)
		}
		if dead := collect(t, i, topic, DeadQuery{Newest: true, Limit: 1}); len(dead) != 1 || dead[0].Content != "x" || dead[0].Slot != 0 {
			t.Errorf("%+v", dead)
		}
	})
}

func TestDeadShow(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, topicOf(t, message.KindFixedTime, 256))
		buryOne(t, rdb, topic, slotOf(topic, binary), binary, noon)
		buryOne(t, rdb, topic, slotOf(topic, "basis"), "x", noon)
		buryOne(t, rdb, topic, slotOf(topic, "another"), "x", noon.Add(time.Second))
		show := func(content, basis string) []Entry {
			dead, err := i.Dead().Show(ctx, topic.Name, content, basis)
			must.Do(t, err)
			return dead
		}
		if dead := show(binary, ""); len(dead) != 1 || dead[0].Content != binary || dead[0].Failure == nil || dead[0].Failure.Reason != "it broke" {
			t.Errorf("%+v", dead)
		}
		if dead := show("x", "basis"); len(dead) != 1 || !dead[0].Died.Equal(noon) || dead[0].Slot != slotOf(topic, "basis") {
			t.Errorf("%+v", dead)
		}
		if dead := show("x", ""); len(dead) != 2 {
			t.Errorf("%+v", dead)
		}
		if dead := show("y", ""); dead != nil {
			t.Errorf("%+v", dead)
		}
	})
}

func TestDeadOfAnEmptyTopic(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, topicOf(t, message.KindRangeMerge, 16))
		if all := collect(t, i, topic, DeadQuery{}); all != nil {
			t.Errorf("met %v", all)
		}
		n, err := i.Dead().Count(ctx, topic.Name, DeadQuery{})
		r, err2 := i.Dead().Requeue(ctx, topic.Name, DeadQuery{}, RequeueOptions{Rate: 1})
		d, _, err3 := i.Dead().Delete(ctx, topic.Name, DeadQuery{}, nil)
		if err := errors.Join(err, err2, err3); err != nil || n != 0 || d != 0 || r != (Requeued{}) {
			t.Errorf("%d dead, %d deleted, requeued %+v, %v", n, d, r, err)
		}
	})
}

// What is wrong is the only thing that is yielded.
func TestDeadErrors(t *testing.T) {
	t.Parallel()
	rdb, i := onRedis(t, Config{})
	topic := define(t, rdb, topicOf(t, message.KindPriority, 2))
	for n := range 1000 {
		buryOne(t, rdb, topic, 0, name(n), noon)
	}
	only := func(ctx context.Context, topic string, q DeadQuery, after int) (err error) {
		t.Helper()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		met := 0
		for _, e := range i.Dead().List(ctx, topic, q) {
			if err != nil {
				t.Error("something comes after the error")
			}
			if err = e; err == nil {
				if met++; met == after {
					cancel()
				}
			}
		}
		return err
	}
	wantError(t, only(ctx, "nosuch", DeadQuery{}, 0), ErrUnknownTopic, "nosuch")
	wantError(t, only(ctx, topic.Name, DeadQuery{Slots: []int{1, 2}}, 0), message.ErrInvalid, "slot", "2", "0 to 1", topic.Name)
	wantError(t, only(ctx, topic.Name, DeadQuery{Limit: -1}, 0), message.ErrInvalid, "Limit", "-1")
	for _, after := range []int{1, 99, 100, 101, 500} {
		wantError(t, only(ctx, topic.Name, DeadQuery{}, after), context.Canceled, topic.Name)
	}
	fits, end := context.WithCancel(ctx) // while nothing fits, too
	defer end()
	looked := 0
	wantError(t, only(fits, topic.Name, DeadQuery{Content: func(string) bool {
		if looked++; looked == 150 {
			end()
		}
		return false
	}}, 0), context.Canceled, topic.Name)
	if looked != 150 {
		t.Errorf("%d were looked at", looked)
	}
	for e, err := range i.Dead().List(ctx, topic.Name, DeadQuery{}) { // and it may be left at any time
		if must.Do(t, err); e.Content == name(120) {
			break
		}
	}
	must.Do(t, rdb.Set(ctx, protocol.KeysOf(topic.Name, 1).Dead, "x", 0).Err())
	wantError(t, only(ctx, topic.Name, DeadQuery{}, 0), nil, protocol.KeysOf(topic.Name, 1).Dead)
}

// A time of death that came out of a duration which overflowed, or was negative, must not mean
// everything.
func TestDeadDeleteRefusesTimesToCome(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, message.Topic{Name: "orders", Kind: message.KindRangeMerge, Slots: 1})
		dead := protocol.KeysOf(topic.Name, 0).Dead
		now, err := rdb.Time(ctx).Result()
		must.Do(t, err)
		zadd(t, rdb, dead, "a", now.Add(-time.Hour).UnixMilli())
		age := func(days, hours time.Duration) time.Time { return now.Add(-(days*24*time.Hour + hours*time.Hour)) }
		for _, q := range []DeadQuery{
			{OlderThan: age(65535, 2_000_000)}, {OlderThan: age(-1, 0)}, {OlderThan: now.Add(6 * time.Minute)},
			{OlderThan: time.Unix(1<<60, 0)}, {OlderThan: time.Unix(-1<<60, 0)}, {NewerThan: time.Unix(-1<<60, 0)}, {NewerThan: time.Unix(1<<60, 0)},
		} {
			_, _, err := i.Dead().Delete(ctx, topic.Name, q, nil)
			wantError(t, err, message.ErrInvalid, "Than is ")
			_, err = i.Dead().Requeue(ctx, topic.Name, q, RequeueOptions{})
			wantError(t, err, message.ErrInvalid, "Than is ")
		}
		for range 20 { // of two wrong ones the same is named each time
			_, err := DeadQuery{OlderThan: time.Unix(1<<60, 0), NewerThan: time.Unix(1<<60, 0)}.slots(Topic{Topic: topic})
			wantError(t, err, message.ErrInvalid, "OlderThan is ")
		}
		if n := rdb.ZCard(ctx, dead).Val(); n != 1 {
			t.Errorf("%d of 1 are left", n)
		}
		// Looking harms nobody, and clocks may be somewhat apart.
		if n, err := i.Dead().Count(ctx, topic.Name, DeadQuery{OlderThan: now.Add(24 * time.Hour)}); n != 1 || err != nil {
			t.Error(n, err)
		}
		// Where the clock was set back, deaths are still to come, too.
		zadd(t, rdb, dead, "b", now.Add(5*time.Hour).UnixMilli())
		if n, _, err := i.Dead().Delete(ctx, topic.Name, DeadQuery{OlderThan: now.Add(5*time.Hour + time.Minute)}, nil); n != 2 || err != nil {
			t.Error(n, err)
		}
		if n, _, err := i.Dead().Delete(ctx, topic.Name, DeadQuery{OlderThan: now.Add(5 * time.Hour)}, nil); n != 0 || err != nil {
			t.Error(n, err)
		}
	})
}
