package protocol_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/script"
)

func answerOf(reply []string) (protocol.Answer, error) { return answerTo(&protocol.Turn{}, reply) }

func answerTo(t *protocol.Turn, reply []string) (protocol.Answer, error) {
	cmd := script.Once{StringSliceCmd: redis.NewStringSliceCmd(ctx)}
	cmd.SetVal(reply)
	t.Keys = protocol.KeysOf("orders", 3)
	return protocol.TurnAnswer(t, cmd)
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reply      string // words, _ is an empty one
		want       protocol.Answer
		priorities []int64
	}{
		{"BATCH 17 1 2 a b", protocol.Answer{Code: protocol.Batch, Fence: 17, Attempt: 1, Contents: []string{"a", "b"}}, []int64{0, 0}},
		{"BATCH 17 1 2 a b 50", protocol.Answer{Code: protocol.Batch, Fence: 17, Attempt: 1, Contents: []string{"a", "b"}}, []int64{50, 50}},
		{"BATCH 17 1 2 a b 9007199254740991 17", protocol.Answer{Code: protocol.Batch, Fence: 17, Attempt: 1, Contents: []string{"a", "b"}}, []int64{1<<53 - 1, 17}},
		{"BATCH 9007199254740991 17 1 _", protocol.Answer{Code: protocol.Batch, Fence: 1<<53 - 1, Attempt: 17, Contents: []string{""}}, []int64{0}},
		{"BATCH 17 2 1 a", protocol.Answer{Code: protocol.Batch, Fence: 17, Attempt: 2, Contents: []string{"a"}}, []int64{0}},
		{"BATCH 17 2 1 a 50", protocol.Answer{Code: protocol.Batch, Fence: 17, Attempt: 2, Contents: []string{"a"}}, []int64{0}},
		{"EMPTY 3 1500 0", protocol.Answer{Code: protocol.Empty, Fence: 3, Wait: 1500 * time.Millisecond}, nil},
		{"EMPTY 3 1500 300", protocol.Answer{Code: protocol.Empty, Fence: 3, Wait: 1499700 * time.Microsecond}, nil},
		{"EMPTY 3 0 300", protocol.Answer{Code: protocol.Empty, Fence: 3}, nil},
		{"EMPTY 3 _ 300", protocol.Answer{Code: protocol.Empty, Fence: 3, Wait: -1}, nil},
		{"BUSY w1 0", protocol.Answer{Code: protocol.Busy, Holder: "w1"}, nil},
		{"BUSY 12 2000", protocol.Answer{Code: protocol.Busy, Holder: "12", Wait: 2 * time.Second}, nil},
		{"NUMBER 4", protocol.Answer{Code: protocol.Number, Fence: 4}, nil},
		{"PAUSED 5", protocol.Answer{Code: protocol.Paused, Fence: 5}, nil},
		{"LEFT 6", protocol.Answer{Code: protocol.Left, Fence: 6}, nil},
	} {
		a, err := answerOf(words(c.reply))
		if err != nil {
			t.Errorf("%s: %v", c.reply, err)
			continue
		}
		for i, want := range c.priorities {
			if got := a.Priority(i); got != want {
				t.Errorf("%s: priority %d is %d, not %d", c.reply, i, got, want)
			}
		}
		got := protocol.Answer{Code: a.Code, Fence: a.Fence, Attempt: a.Attempt, Holder: a.Holder, Wait: a.Wait, Contents: a.Contents}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, not %+v", c.reply, got, c.want)
		}
	}
}

func TestUnknownAnswers(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{
		"", "BATCH", "BATCH 1", "BATCH 1 1 1", "BATCH 1 1 0 a", "BATCH 1 0 1 a", "BATCH x 1 1 a", "BATCH 1 x 1 a", "BATCH 1 1 x a", "BATCH 1 1 -1 a",
		"BATCH 1 1 2 a", "BATCH 1 1 3 a b c 50 50", "BATCH 1 2 1 a x y", "BATCH 1 2 2 a b x y", "BATCH 1 1 9223372036854775807 a", "BATCH 1 1 9223372036854775804 a",
		"EMPTY 1", "EMPTY 1 2", "EMPTY x 1 0", "EMPTY 1 x 0", "EMPTY 1 2 x", "BUSY w", "BUSY w x", "NUMBER", "NUMBER x", "LEFT", "PAUSED", "LATER 1", "batch 1 1 1 a", "_ 1",
	} {
		if a, err := answerOf(words(reply)); !errors.Is(err, protocol.ErrAnswer) || !strings.Contains(err.Error(), "orders_3") {
			t.Errorf("%s: %+v, %v", reply, a, err)
		}
	}
	cmd := script.Once{StringSliceCmd: redis.NewStringSliceCmd(ctx)}
	cmd.SetErr(redis.ErrClosed)
	if _, err := protocol.TurnAnswer(&protocol.Turn{}, cmd); !errors.Is(err, redis.ErrClosed) {
		t.Errorf("the error of the command is hidden: %v", err)
	}
}

func words(text string) []string {
	list := strings.Fields(text)
	for i := range list {
		list[i] = strings.ReplaceAll(list[i], "_", "")
	}
	return list
}

func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{"BATCH 17 1 2 a b 50", "BATCH 1 1 9223372036854775807 a", "EMPTY 3 _ 0", "BUSY w1 0", "NUMBER 4"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := answerOf(words(text))
		if err != nil {
			return
		}
		if a.Code == protocol.Batch && (len(a.Contents) == 0 || a.Attempt < 1) {
			t.Errorf("%q: %+v", text, a)
		}
		for i := range a.Contents {
			_, _ = a.Priority(i), a.Due(i)
		}
		_, _ = a.Failure()
	})
}

// What is told of a delivery depends on what was asked, and on the attempt: one
// answer is never taken for another.
func TestToldOfDeliveries(t *testing.T) {
	t.Parallel()
	failed := protocol.Failure{Attempts: 2, First: time.UnixMilli(5), Last: time.UnixMilli(6), Priority: 50, Worker: "w", Reason: "boom twice"}
	for _, c := range []struct {
		asked    protocol.Turn
		reply    []string
		priority int64
		due      time.Time
		why      protocol.Failure
	}{
		{reply: []string{"BATCH", "9", "1", "1", "a"}},
		{asked: protocol.Turn{Due: true}, reply: []string{"BATCH", "9", "1", "1", "a"}}, // told again
		{asked: protocol.Turn{Due: true}, reply: []string{"BATCH", "9", "1", "1", "a", "1700000000000"}, due: time.UnixMilli(1_700_000_000_000)},
		{asked: protocol.Turn{Due: true}, reply: []string{"BATCH", "9", "1", "2", "a", "b", "7", "1.7e+12"}, due: time.UnixMilli(7)},
		{asked: protocol.Turn{Priority: true}, reply: []string{"BATCH", "9", "1", "1", "a", "50"}, priority: 50},
		{asked: protocol.Turn{Priority: true, Due: true}, reply: []string{"BATCH", "9", "1", "1", "a", "50"}, priority: 50},
		{asked: protocol.Turn{Priority: true}, reply: []string{"BATCH", "9", "3", "1", "a", "2 5 6 50 w boom twice"}, why: failed},
		{asked: protocol.Turn{Due: true}, reply: []string{"BATCH", "9", "3", "1", "a", "2 5 6 50 w boom twice"}, why: failed},
		{reply: []string{"BATCH", "9", "3", "1", "a"}},
		{reply: []string{"BATCH", "9", "3", "1", "a", "written by hand"}},
		{reply: []string{"BATCH", "9", "3", "1", "a", ""}},
	} {
		a, err := answerTo(&c.asked, c.reply)
		why, told := a.Failure()
		if err != nil || a.Priority(0) != c.priority || !a.Due(0).Equal(c.due) || why != c.why || told != (c.why != protocol.Failure{}) {
			t.Errorf("%q: priority %d, due %v, why %+v, %v; %v", c.reply, a.Priority(0), a.Due(0), why, told, err)
		}
	}
}

func TestWhyEntries(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli
	for entry, want := range map[string]protocol.Failure{
		"1 2 3 - w boom":                     {Attempts: 1, First: at(2), Last: at(3), Worker: "w", Reason: "boom"},
		"17 2 3 9007199254740991 w two w s ": {Attempts: 17, First: at(2), Last: at(3), Priority: 1<<53 - 1, Worker: "w", Reason: "two w s "},
		"1 2 3 50 - ":                        {Attempts: 1, First: at(2), Last: at(3), Priority: 50, Worker: "-"},
	} {
		if got, ok := protocol.ParseFailure(entry); !ok || got != want {
			t.Errorf("%q: %+v, %v", entry, got, ok)
		}
	}
	for _, entry := range []string{"", "1 2 3 - w", "x 2 3 - w r", "1 x 3 - w r", "1 2 x - w r", "1 2 3 x w r", "1 2 3  w r"} {
		if got, ok := protocol.ParseFailure(entry); ok {
			t.Errorf("%q: %+v", entry, got)
		}
	}
}

func FuzzWhy(f *testing.F) {
	f.Add("1 2 3 - w boom")
	f.Add("1 2 3 50 w")
	f.Fuzz(func(t *testing.T, entry string) {
		if why, ok := protocol.ParseFailure(entry); ok && !strings.HasSuffix(entry, why.Reason) {
			t.Errorf("%q: %+v", entry, why)
		}
	})
}

func TestWakeUps(t *testing.T) {
	t.Parallel()
	type wake struct {
		slot int
		in   time.Duration
	}
	parse := func(payload string) (all []wake) {
		protocol.ParseWake(payload, func(slot int, in time.Duration) { all = append(all, wake{slot, in}) })
		return all
	}
	var payload []byte
	payload = protocol.AppendWake(payload, 3, 0)
	payload = protocol.AppendWake(payload, 1023, 1500*time.Millisecond)
	payload = protocol.AppendWake(payload, 0, -time.Second)
	if want := "3:0 1023:1500 0:0"; string(payload) != want {
		t.Errorf("%q, not %q", payload, want)
	}
	if got := parse(string(payload)); !slices.Equal(got, []wake{{3, 0}, {1023, 1500 * time.Millisecond}, {0, 0}}) {
		t.Errorf("%v", got)
	}
	for payload, want := range map[string][]wake{
		"": nil, " ": nil, "x": nil, "3": nil, "3:": nil, ":3": nil, "3:x 4:5": {{4, 5 * time.Millisecond}}, "3:4:5": nil, "1:1  2:2": {{1, 1e6}, {2, 2e6}},
	} {
		if got := parse(payload); !slices.Equal(got, want) {
			t.Errorf("%q: %v, not %v", payload, got, want)
		}
	}
}

// A question comes back as it was asked, and is no wake-up to who does not know it.
func TestQuestions(t *testing.T) {
	t.Parallel()
	for _, holder := range []string{"app7-4711-ca4a907a+1", "a:b 3:0", ""} {
		payload := string(protocol.AppendQuestion(nil, 12, holder))
		if slot, got, ok := protocol.ParseQuestion(payload); !ok || slot != 12 || got != holder {
			t.Errorf("%q: slot %d, holder %q, %t", payload, slot, got, ok)
		}
		protocol.ParseWake(payload, func(slot int, _ time.Duration) {
			if slot == 12 {
				t.Errorf("%q wakes its slot", payload)
			}
		})
	}
	if got := string(protocol.AppendQuestion(nil, 3, "app7-4711-ca4a907a")); got != "held:3:app7-4711-ca4a907a" {
		t.Error(got)
	}
	for _, payload := range []string{"", "members", "3:0", "held", "held:", "held:3", "held:x:y", "held: 3:y"} {
		if _, _, ok := protocol.ParseQuestion(payload); ok {
			t.Errorf("%q is a question", payload)
		}
	}
}

func FuzzWake(f *testing.F) {
	f.Add("3:0 1023:1500")
	f.Add("3: :x 99999999999999999999:1")
	f.Fuzz(func(t *testing.T, payload string) {
		var again []byte
		protocol.ParseWake(payload, func(slot int, in time.Duration) {
			if slot >= 0 && in >= 0 && in < time.Hour {
				again = protocol.AppendWake(again, slot, in)
			}
		})
		n := 0
		protocol.ParseWake(string(again), func(int, time.Duration) { n++ })
		if len(again) > 0 && n != 1+strings.Count(string(again), " ") {
			t.Errorf("%q became %q", payload, again)
		}
	})
}
