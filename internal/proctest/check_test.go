package proctest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var rules = Rules{
	MaxAttempts: 17, Lease: 100, // ns
	Basis: func(content string) string { basis, _, _ := strings.Cut(content, "/"); return basis },
}

// told makes events from lines such as "10 w1 start a/1 slot 0 fence 7 attempt 1",
// of which the last three parts may be missing: slot 0, fence 7, attempt 1.
func told(t *testing.T, lines ...string) (events []Event) {
	t.Helper()
	for _, line := range lines {
		e := Event{Fence: 7, Attempt: 1}
		var what string
		if _, err := fmt.Sscan(line, &e.At, &e.Worker, &e.Kind, &what); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		e.Content = what
		if e.Worker == "test" || e.Kind == Stall {
			e.Content, e.Note = "", what
		}
		words := strings.Fields(line)[4:]
		for i := 0; i+1 < len(words); i += 2 {
			var n int
			if _, err := fmt.Sscan(words[i+1], &n); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			switch words[i] {
			case "slot":
				e.Slot = n
			case "fence":
				e.Fence = int64(n)
			case "attempt":
				e.Attempt = n
			default:
				t.Fatalf("%q: what is %q?", line, words[i])
			}
		}
		events = append(events, e)
	}
	return events
}

// A checker that finds nothing proves nothing: each of these must be found.
func TestCheckFindsFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		sent       string
		lines      []string
	}{
		{"never delivered", "never delivered", "a/1 a/2", []string{"1 w1 start a/1", "2 w1 done a/1"}},
		{"failed and forgotten", "never done", "a/1", []string{"1 w1 start a/1", "2 w1 fail a/1"}},
		{"killed and forgotten", "never done", "a/1", []string{"1 w1 start a/1", "2 test kill w1"}},
		{"dead too early", "never done", "a/1", []string{"1 w1 start a/1 attempt 16", "2 w1 fail a/1 attempt 16"}},
		{"one attempt too many", "out of range", "a/1", []string{"1 w1 start a/1 attempt 18", "2 w1 done a/1 attempt 18"}},
		{"an attempt given twice", "told twice", "a/1", []string{"1 w1 start a/1", "2 w1 fail a/1", "3 w1 start a/1 fence 8", "4 w1 done a/1 fence 8"}},
		{"unknown", "never sent", "a/1", []string{"1 w1 start a/1", "2 w1 done a/1", "3 w1 start a/2", "4 w1 done a/2"}},
		{"hangs", "never returned", "a/1", []string{"1 w1 start a/1"}},
		{"two in one worker", "two handlers at once", "a/1 a/2", []string{"1 w1 start a/1", "2 w1 start a/2", "3 w1 done a/2"}},
		{"two workers", "two handlers at once", "a/1 a/2",
			[]string{"1 w1 start a/1", "2 w2 start a/2 fence 8", "3 w1 done a/1", "4 w2 done a/2 fence 8"}},
		{"two workers, the killed one", "two handlers at once", "a/1 a/2",
			[]string{"1 w1 start a/1", "2 w2 start a/2 fence 8", "3 w2 done a/2 fence 8", "4 test kill w1", "5 w2 start a/1 fence 9 attempt 2", "6 w2 done a/1 fence 9"}},
		{"frozen, but the fence is no newer", "two handlers at once", "a/1 a/2",
			[]string{"1 w1 start a/1", "200 w2 start a/2", "201 w2 done a/2", "300 w1 done a/1"}},
		{"one basis, two slots", "two slots", "a/1 a/2", []string{"1 w1 start a/1", "2 w1 done a/1", "3 w1 start a/2 slot 1", "4 w1 done a/2 slot 1"}},
		{"fence goes back", "fence goes back", "a/1 a/2", []string{"1 w1 start a/1", "2 w1 done a/1", "3 w2 start a/2 fence 6", "4 w2 done a/2 fence 6"}},
		{"one fence, two workers", "two batches", "a/1 a/2", []string{"1 w1 start a/1", "2 w1 done a/1", "3 w2 start a/2", "4 w2 done a/2"}},
		{"one fence, two attempts", "two batches", "a/1 a/2", []string{"1 w1 start a/1", "2 w1 done a/1", "3 w1 start a/2 attempt 2", "4 w1 done a/2 attempt 2"}},
		{"an end from nowhere", "without a start", "", []string{"1 w1 done a/1"}},
		{"sent twice", "sent twice", "a/1 a/1", []string{"1 w1 start a/1", "2 w1 done a/1"}},
	} {
		r := Check(told(t, c.lines...), strings.Fields(c.sent), rules)
		if !slices.ContainsFunc(r.Faults, func(f string) bool { return strings.Contains(f, c.want) }) {
			t.Errorf("%s: got %q, want a fault with %q", c.name, r.Faults, c.want)
		}
	}
}

func TestCheckPassesGoodRuns(t *testing.T) {
	t.Parallel()
	var deadly []string
	for i := 1; i <= 17; i++ {
		deadly = append(deadly, fmt.Sprintf("%d w1 start a/1 fence %d attempt %d", 2*i, i, i), fmt.Sprintf("%d w1 fail a/1 fence %d attempt %d", 2*i+1, i, i))
	}
	for _, c := range []struct {
		name, sent string
		lines      []string
		want       Report // of some fields
		explained  bool
	}{
		{"plain", "a/1 a/2", []string{"1 w1 start a/1", "2 w1 done a/1", "2 w1 start a/2", "3 w1 done a/2"}, Report{Deliveries: 2}, false},
		{"another slot", "a/1 b/1", []string{"1 w1 start a/1", "2 w1 start b/1 slot 1", "3 w1 done b/1 slot 1", "4 w1 done a/1"}, Report{Deliveries: 2}, false},
		{"dead", "a/1", deadly, Report{Deliveries: 17, Dead: 1}, false},
		{"killed", "a/1", []string{"1 w1 start a/1", "2 test kill w1", "90 w2 start a/1 fence 8 attempt 2", "91 w2 done a/1 fence 8"},
			Report{Deliveries: 2, MidBatch: 1}, false},
		{"killed before it began", "a/1", []string{"2 test kill w1", "90 w2 start a/1 fence 8 attempt 2", "91 w2 done a/1 fence 8"},
			Report{Deliveries: 1, Burnt: 1}, false},
		{"killed before the finish", "a/1",
			[]string{"1 w1 start a/1", "2 w1 done a/1", "3 test kill w1", "90 w2 start a/1 fence 8 attempt 2", "91 w2 done a/1 fence 8"},
			Report{Deliveries: 2, Again: make([]Again, 1)}, true},
		{"stalled before the finish", "a/1",
			[]string{"1 w1 start a/1", "2 w1 done a/1", "90 w2 start a/1 fence 8 attempt 2", "91 w2 done a/1 fence 8", "92 w1 stall 90ns"},
			Report{Deliveries: 2, Again: make([]Again, 1), Stalls: 1}, true},
		{"frozen", "a/1",
			[]string{"1 w1 start a/1", "2 test freeze w1", "110 w2 start a/1 fence 8 attempt 2", "111 w2 done a/1 fence 8", "120 test thaw w1", "121 w1 done a/1"},
			Report{Deliveries: 2, Again: make([]Again, 1), Frozen: make([]Overlap, 1)}, true},
		{"done again without a reason", "a/1",
			[]string{"1 w1 start a/1", "2 w1 done a/1", "90 w2 start a/1 fence 8 attempt 2", "91 w2 done a/1 fence 8"},
			Report{Deliveries: 2, Again: make([]Again, 1)}, false},
		{"done again although the batch was finished", "a/1 a/2",
			[]string{"1 w1 start a/1", "2 w1 done a/1", "3 w1 start a/2 fence 8", "4 w1 done a/2 fence 8", "5 test kill w1", "90 w2 start a/1 fence 9 attempt 2", "91 w2 done a/1 fence 9"},
			Report{Deliveries: 3, Again: make([]Again, 1)}, false},
	} {
		r := Check(told(t, c.lines...), strings.Fields(c.sent), rules)
		if len(r.Faults) > 0 {
			t.Errorf("%s: faults: %q", c.name, r.Faults)
		}
		if r.Deliveries != c.want.Deliveries || r.Burnt != c.want.Burnt || r.Dead != c.want.Dead || r.MidBatch != c.want.MidBatch ||
			r.Stalls != c.want.Stalls || len(r.Again) != len(c.want.Again) || len(r.Frozen) != len(c.want.Frozen) {
			t.Errorf("%s: got %+v, want %+v", c.name, r, c.want)
		}
		if len(r.Again) > 0 && r.Again[0].Explained != c.explained {
			t.Errorf("%s: explained is %v", c.name, !c.explained)
		}
	}
}

func TestPauses(t *testing.T) {
	t.Parallel()
	killed, left := Pauses(told(t,
		"10 w1 start a/1", "20 w1 done a/1", "25 w1 start a/2", "30 test kill w1", // its handler ran
		"40 w2 start a/2 fence 8 attempt 2", "50 w2 done a/2 fence 8",
		"55 w2 closed -",
		"60 w3 start a/3 fence 9", "70 w3 done a/3 fence 9",
	))
	if !slices.Equal(killed, []time.Duration{10}) || !slices.Equal(left, []time.Duration{10}) {
		t.Errorf("got %v and %v, want 10ns and 10ns", killed, left)
	}
}

func TestEventsSurviveTheLog(t *testing.T) {
	t.Parallel()
	e := Event{
		At: 1, Worker: "w1", Kind: Fail, Topic: "orders", Slot: 3, Fence: 1 << 60, Attempt: 17, Priority: 1 << 53,
		Content: "a\tb\n\x00\xff", Note: `"quoted"`,
	}
	got, err := parse(strings.TrimSuffix(string(e.line()), "\n"))
	if err != nil || got != e {
		t.Errorf("got %+v, %v, want %+v", got, err, e)
	}
	for _, bad := range []string{"", "1\tw1", strings.Replace(strings.TrimSpace(string(e.line())), "17", "x", 1)} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%q is an event", bad)
		}
	}
}
