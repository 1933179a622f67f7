package proctest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var rules = Rules{
	MaxAttempts: 17, Lease: 100, Margin: 50, // ns
	Basis: func(content string) string { basis, _, _ := strings.Cut(content, "/"); return basis },
}

// told makes events from lines such as "10 w1 start a/1 slot 0 fence 7 attempt 1",
// of which the last three parts may be missing: slot 0, fence 7, attempt 1. "as 2" is
// a note.
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
			e.Content, e.Note = "", strings.TrimPrefix(what, "-")
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
			case "as":
				e.Note = words[i+1]
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
		{"late, and its worker was well", "fence goes back", "a/1 a/2", []string{"1 w2 start a/2 fence 8", "2 w2 done a/2 fence 8", "3 w1 start a/1", "4 w1 done a/1"}},
		{"late, after a pause within the margin", "fence goes back", "a/1 a/2",
			[]string{"100 w2 start a/2 fence 8", "101 w2 done a/2 fence 8", "103 w1 start a/1", "104 w1 done a/1", "104 w1 stall 49ns"}},
		{"late, long after a pause", "fence goes back", "a/1 a/2",
			[]string{"90 w1 stall 80ns", "130 w2 start a/2 fence 8", "131 w2 done a/2 fence 8", "141 w1 start a/1", "142 w1 done a/1"}},
		{"late, and another has paused", "fence goes back", "a/1 a/2",
			[]string{"100 w2 start a/2 fence 8", "101 w2 done a/2 fence 8", "103 w1 start a/1", "104 w1 done a/1", "104 w2 stall 90ns"}},
		{"late twice", "fence goes back", "a/1 a/2 a/3",
			[]string{"100 w2 start a/2 fence 8", "101 w2 done a/2 fence 8", "103 w1 start a/1", "104 w1 done a/1", "104 w1 stall 90ns", "105 w1 start a/3", "106 w1 done a/3"}},
		{"late, and then on its own", "fence goes back", "a/1 a/2 a/3",
			[]string{"100 w2 start a/2 fence 8", "101 w2 done a/2 fence 8", "103 w1 start a/1", "104 w1 done a/1", "104 w1 stall 90ns", "105 w2 start a/2 fence 9 attempt 2",
				"106 w2 done a/2 fence 9", "107 w1 start a/3", "108 w1 done a/3"}},
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
		cause      Kind
	}{
		{"plain", "a/1 a/2", []string{"1 w1 start a/1", "2 w1 done a/1", "2 w1 start a/2", "3 w1 done a/2"}, Report{Deliveries: 2}, ""},
		{"another slot", "a/1 b/1", []string{"1 w1 start a/1", "2 w1 start b/1 slot 1", "3 w1 done b/1 slot 1", "4 w1 done a/1"}, Report{Deliveries: 2}, ""},
		{"dead", "a/1", deadly, Report{Deliveries: 17, Dead: 1}, ""},
		{"killed", "a/1", []string{"1 w1 start a/1", "2 test kill w1", "90 w2 start a/1 fence 8 attempt 2", "91 w2 done a/1 fence 8"},
			Report{Deliveries: 2, MidBatch: 1}, ""},
		{"killed before it began", "a/1", []string{"2 test kill w1", "90 w2 start a/1 fence 8 attempt 2", "91 w2 done a/1 fence 8"},
			Report{Deliveries: 1, Burnt: 1}, ""},
		{"killed before the finish", "a/1",
			[]string{"1 w1 start a/1", "2 w1 done a/1", "3 test kill w1", "90 w2 start a/1 fence 8 attempt 2", "91 w2 done a/1 fence 8"},
			Report{Deliveries: 2, Again: make([]Again, 1)}, Kill},
		{"stalled before the finish", "a/1",
			[]string{"1 w1 start a/1", "2 w1 done a/1", "90 w2 start a/1 fence 8 attempt 2", "91 w2 done a/1 fence 8", "92 w1 stall 90ns"},
			Report{Deliveries: 2, Again: make([]Again, 1), Stalls: 1}, Stall},
		{"frozen", "a/1",
			[]string{"1 w1 start a/1", "2 test freeze w1", "110 w2 start a/1 fence 8 attempt 2", "111 w2 done a/1 fence 8", "120 test thaw w1", "121 w1 done a/1"},
			Report{Deliveries: 2, Again: make([]Again, 1), Frozen: make([]Overlap, 1)}, Freeze},
		{"late, after a pause", "a/1 a/2",
			[]string{"100 w2 start a/2 fence 8", "101 w2 done a/2 fence 8", "103 w1 start a/1", "104 w1 done a/1", "104 w1 stall 90ns"},
			Report{Deliveries: 2, Frozen: make([]Overlap, 1), Late: make([]Event, 1), Stalls: 1}, ""},
		{"late beside its successor, with the same content", "a/1",
			[]string{"20 test freeze w1", "100 w2 start a/1 fence 8 attempt 2", "103 test thaw w1", "104 w1 start a/1", "105 w2 done a/1 fence 8", "106 w1 done a/1"},
			Report{Deliveries: 2, Frozen: make([]Overlap, 1), Late: make([]Event, 1), Again: make([]Again, 1)}, Freeze},
		{"late, and its successor goes on", "a/1 a/2 a/3",
			[]string{"20 test freeze w1", "100 w2 start a/2 fence 8", "101 w2 done a/2 fence 8", "103 test thaw w1", "104 w1 start a/1", "105 w2 start a/3 fence 9", "106 w2 done a/3 fence 9", "107 w1 fail a/1",
				"108 w2 start a/1 fence 10 attempt 2", "109 w2 done a/1 fence 10"},
			Report{Deliveries: 4, Frozen: make([]Overlap, 2), Late: make([]Event, 1)}, ""},
		{"done again without a reason", "a/1",
			[]string{"1 w1 start a/1", "2 w1 done a/1", "90 w2 start a/1 fence 8 attempt 2", "91 w2 done a/1 fence 8"},
			Report{Deliveries: 2, Again: make([]Again, 1)}, ""},
		{"done again although the batch was finished", "a/1 a/2",
			[]string{"1 w1 start a/1", "2 w1 done a/1", "3 w1 start a/2 fence 8", "4 w1 done a/2 fence 8", "5 test kill w1", "90 w2 start a/1 fence 9 attempt 2", "91 w2 done a/1 fence 9"},
			Report{Deliveries: 3, Again: make([]Again, 1)}, ""},
	} {
		r := Check(told(t, c.lines...), strings.Fields(c.sent), rules)
		if len(r.Faults) > 0 {
			t.Errorf("%s: faults: %q", c.name, r.Faults)
		}
		if r.Deliveries != c.want.Deliveries || r.Burnt != c.want.Burnt || r.Dead != c.want.Dead || r.MidBatch != c.want.MidBatch ||
			r.Stalls != c.want.Stalls || len(r.Again) != len(c.want.Again) || len(r.Frozen) != len(c.want.Frozen) || len(r.Late) != len(c.want.Late) {
			t.Errorf("%s: got %+v, want %+v", c.name, r, c.want)
		}
		if len(r.Again) > 0 && r.Again[0].Cause != c.cause {
			t.Errorf("%s: the cause is %q, want %q", c.name, r.Again[0].Cause, c.cause)
		}
	}
}

// Where workers have sessions, of 100 ns here, each may know when it must stop.
func TestCheckOfSessions(t *testing.T) {
	t.Parallel()
	overlap := []string{"1 w1 start a/1", "110 w2 start a/2 fence 8", "111 w2 done a/2 fence 8", "120 w1 done a/1"}
	with := func(more ...string) []string { return append(more, overlap...) }
	behind := func(more ...string) []string {
		return append(more, "110 w2 start a/2 fence 8", "111 w2 done a/2 fence 8", "119 w1 start a/1", "120 w1 done a/1")
	}
	alone := func(start, end int, more ...string) []string {
		return append(more, fmt.Sprint(start, " w1 start a/1"), fmt.Sprint(end, " w1 done a/1"))
	}
	for _, c := range []struct {
		name, want string // want: a fault; empty: none
		lines      []string
		coasts     bool
		frozen     int
	}{
		{"a long handler is no excuse", "two handlers at once", overlap, false, 0},
		{"frozen until then", "", with("2 test freeze w1", "115 test thaw w1"), false, 1},
		{"frozen until shortly before", "", with("2 test freeze w1", "70 test thaw w1"), false, 1},
		{"frozen long before", "two handlers at once", with("2 test freeze w1", "50 test thaw w1"), false, 0},
		{"another was frozen", "two handlers at once", with("2 test freeze w2", "115 test thaw w2"), false, 0},
		{"stalled", "", with("100 w1 stall 60ns"), false, 1},
		{"robbed", "", with("60 test rob w1"), false, 1},
		{"begun behind the new one, after a stall", "", behind("118 w1 stall 110ns"), false, 1},
		{"begun behind the new one", "fence goes back", behind(), false, 0},
		{"begun behind the new one, long after a stall", "fence goes back", behind("60 w1 stall 50ns"), false, 0},
		{"begun behind the new one, and another has stalled", "fence goes back", behind("118 w2 stall 110ns"), false, 0},
		{"robbed a session before", "two handlers at once", with("5 test rob w1"), false, 0},
		{"robbed later", "two handlers at once", with("115 test rob w1"), false, 0},
		{"cut off", "two handlers at once", with("20 test cut w1", "115 test mend w1"), false, 0},
		{"cut off, which it may not mind", "", with("20 test cut w1", "115 test mend w1"), true, 1},
		{"cut off from Redis", "two handlers at once", with("20 test part w1", "115 test join w1"), false, 0},
		{"all are cut off", "two handlers at once", with("20 test down -", "115 test up -"), false, 0},
		{"begun too late", "begun 84ns after its worker was cut off", alone(94, 112, "10 test cut w1"), false, 0},
		{"begun in time", "", alone(93, 112, "10 test cut w1"), false, 0},
		{"begun when mended", "", alone(111, 112, "10 test cut w1", "110 test mend w1"), false, 0},
		{"begun by another", "", alone(111, 112, "10 test cut w2"), false, 0},
		{"begun while all are cut off", "begun 84ns", alone(94, 112, "10 test down -"), false, 0},
		{"begun after a stall", "", alone(111, 112, "10 test cut w1", "110 w1 stall 90ns"), false, 0},
		{"begun by one that may", "", alone(111, 112, "10 test cut w1"), true, 0},
		{"not cancelled", "still running 150ns after its worker was cut off", alone(90, 161, "10 test cut w1"), false, 0},
		{"cancelled", "", alone(90, 159, "10 test cut w1"), false, 0},
		{"not cancelled, but mended", "", alone(90, 161, "10 test cut w1", "159 test mend w1"), false, 0},
		{"begun by one that was frozen", "", alone(111, 112, "10 test cut w1", "15 test freeze w1", "110 test thaw w1"), false, 0},
	} {
		events := told(t, c.lines...)
		slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
		sent := []string{"a/1"}
		if strings.Contains(strings.Join(c.lines, "\n"), "a/2") {
			sent = append(sent, "a/2")
		}
		r := Check(events, sent, Rules{MaxAttempts: 17, Basis: rules.Basis, Session: 100, Coasts: c.coasts})
		found := slices.ContainsFunc(r.Faults, func(f string) bool { return c.want != "" && strings.Contains(f, c.want) })
		if found != (c.want != "") || !found && len(r.Faults) > 0 || len(r.Frozen) != c.frozen {
			t.Errorf("%s: %q and %d overlaps apart, want %q and %d", c.name, r.Faults, len(r.Frozen), c.want, c.frozen)
		}
	}
}

func TestCheckOfHandlersThatNeverReturn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		lines      []string
	}{
		{"another goes on", "", []string{"1 w1 start a/1", "60 w2 start a/1 fence 8 attempt 2", "61 w2 done a/1 fence 8 attempt 2", "70 w1 done a/1"}},
		{"its worker goes on", "", []string{"1 w1 start a/1", "60 w1 start a/1 fence 8 attempt 2", "61 w1 done a/1 fence 8 attempt 2", "70 w1 done a/1"}},
		{"too early", "two handlers at once", []string{"1 w1 start a/1", "40 w1 start a/1 fence 8 attempt 2", "41 w1 done a/1 fence 8 attempt 2", "70 w1 done a/1"}},
		{"without a new fence", "two handlers at once", []string{"1 w1 start a/1", "60 w1 start a/1 attempt 1", "61 w1 done a/1"}},
	} {
		r := Check(told(t, c.lines...), []string{"a/1"}, Rules{MaxAttempts: 17, Basis: rules.Basis, Session: 100, Hung: 50})
		if found := strings.Contains(strings.Join(r.Faults, " "), "two handlers at once"); found != (c.want != "") || !found && len(r.Faults)+len(r.Frozen) != 1 {
			t.Errorf("%s: %q, %+v", c.name, r.Faults, r.Frozen)
		}
	}
}

func TestTakeovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		lines []string
		want  string // after, stood, who
	}{
		{"killed", []string{"10 w1 start a/1", "20 test kill w1", "50 w2 start a/1 fence 8"}, "30ns 30ns w2"},
		{"killed, and there was nothing to do", []string{"10 w1 start a/1", "15 w1 done a/1", "20 test kill w1", "50 w2 start a/40 fence 8"}, "30ns 10ns w2"},
		{"the next had waited", []string{"10 w1 start a/1", "15 w1 done a/1", "20 test kill w1", "50 w2 start a/40 fence 8", "51 w2 done a/40 fence 8", "52 w2 start a/25 fence 9"}, "30ns 25ns w2"},
		{"it goes on for a while", []string{"10 w1 start a/1", "20 test cut w1", "30 w1 done a/1", "31 w1 start a/2", "40 w1 done a/2", "60 w2 start a/3 fence 8"}, "40ns 20ns w2"},
		{"cut off from Redis", []string{"10 w1 start a/1", "20 test part w1", "50 w2 start a/1 fence 8"}, "30ns 30ns w2"},
		{"cut off from Redis, but not for long", []string{"10 w1 start a/1", "20 test part w1", "25 test join w1", "30 w1 done a/1", "40 w2 start a/3 fence 8"}, ""},
		{"left", []string{"10 w1 start a/1", "20 w1 closing -", "30 w1 done a/1", "32 w1 closed -", "40 w2 start a/3 fence 8"}, "20ns 10ns w2"},
		{"its own slot under another name", []string{"10 w1 start a/1 as 1", "20 test rob w1", "21 w1 fail a/1", "30 w1 start a/1 as 2 fence 8 attempt 2"}, "10ns 9ns w1"},
		{"frozen, but not for long", []string{"10 w1 start a/1", "20 test freeze w1", "25 test thaw w1", "30 w1 done a/1", "40 w2 start a/3 fence 8"}, ""},
		{"another was killed", []string{"10 w1 start a/1", "20 test kill w2", "30 w1 done a/1", "40 w2 start a/3 fence 8"}, ""},
		{"it had left the slot", []string{"5 w1 start a/1", "6 w1 done a/1", "10 w2 start a/2", "20 test kill w1", "25 w2 done a/2", "30 w3 start a/3 fence 8"}, ""},
		{"only the first", []string{"10 w1 start a/1", "20 test kill w1", "50 w2 start a/1 fence 8", "60 w2 done a/1 fence 8", "70 w3 start a/60 fence 9"}, "30ns 30ns w2"},
	} {
		due := func(content string) (n int64) {
			_, _ = fmt.Sscanf(content, "a/%d", &n)
			return n
		}
		got := ""
		for _, x := range Takeovers(told(t, c.lines...), due) {
			got += fmt.Sprintf("%v %v %s", x.After, x.Stood, x.Next.Worker)
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
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
