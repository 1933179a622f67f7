package journal

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/sharetest"
	"github.com/slotmq/go-rmq/message"
)

func TestFold(t *testing.T) {
	t.Parallel()
	const unknown = message.UnknownNumber
	send := func(id, number, score int64) Sent {
		return Sent{ID: id, Number: number, Score: score, At: 1000 * id, Content: "c"}
	}
	keeps := func(s Sent) Sent { s.Keeps = true; return s }
	note := func(s Sent, note string) Sent { s.Note = note; return s }
	end := func(id int64, what string, number int64) Ended {
		return Ended{ID: id, What: what, Number: number, At: 1000 * id}
	}
	at := func(e Ended, ms int64) Ended { e.At = ms; return e }
	owed := func(score int64) Verdict { return Verdict{What: Owed, Content: "c", Score: score} }
	for name, c := range map[string]struct {
		sent  []Sent
		ended []Ended
		want  Verdict // without the ids
	}{
		"nothing":                         {nil, nil, Verdict{}},
		"sent":                            {[]Sent{send(1, 5, 70)}, nil, owed(70)},
		"done":                            {[]Sent{send(1, 5, 70)}, []Ended{end(2, Done, 6)}, Verdict{What: Done, Content: "c"}},
		"dropped":                         {[]Sent{send(1, 5, 70)}, []Ended{end(2, Dropped, 6)}, Verdict{What: Dropped, Content: "c"}},
		"an end without its send":         {nil, []Ended{end(2, Done, 6)}, Verdict{What: Done}},
		"sent at the number of its end":   {[]Sent{send(1, 6, 70)}, []Ended{end(2, Done, 6)}, owed(70)},
		"the end is told before":          {[]Sent{send(2, 5, 70)}, []Ended{end(1, Done, 6)}, Verdict{What: Done, Content: "c"}},
		"the end is told twice":           {[]Sent{send(1, 5, 70), send(4, 6, 71)}, []Ended{end(2, Done, 6), end(5, Done, 6)}, owed(71)},
		"an older end is told late":       {[]Sent{send(1, 8, 70)}, []Ended{end(2, Done, 6)}, owed(70)},
		"sent again in flight":            {[]Sent{send(1, 5, 70), send(2, 6, 71)}, []Ended{end(3, Done, 6)}, owed(71)},
		"sent again, both done":           {[]Sent{send(1, 5, 70), send(2, 6, 71)}, []Ended{end(3, Done, 7)}, Verdict{What: Done, Content: "c"}},
		"the last time counts":            {[]Sent{send(1, 5, 70), send(2, 5, 60)}, nil, owed(60)},
		"rows in another order":           {[]Sent{send(2, 5, 60), send(1, 5, 70)}, nil, owed(60)},
		"the first time counts":           {[]Sent{keeps(send(1, 5, 70)), keeps(send(2, 5, 80))}, nil, owed(70)},
		"keeps what is not settled":       {[]Sent{keeps(send(1, 5, 70)), keeps(send(3, 6, 80)), keeps(send(4, 7, 90))}, []Ended{end(2, Done, 6)}, owed(80)},
		"keeps, and one that does not":    {[]Sent{keeps(send(1, 5, 70)), send(2, 5, 80), keeps(send(3, 5, 90))}, nil, owed(80)},
		"no end settles an unknown one":   {[]Sent{send(1, unknown, 70)}, []Ended{end(2, Done, unknown-1)}, owed(70)},
		"a look into Redis does":          {[]Sent{send(1, unknown, 70)}, []Ended{end(2, Gone, 1)}, Verdict{What: Gone, Content: "c"}},
		"sent after the look":             {[]Sent{send(1, 5, 70), send(2, 5, 71)}, []Ended{end(3, Gone, 1)}, owed(71)},
		"cancelled":                       {[]Sent{send(1, 5, 70)}, []Ended{end(2, Cancelled, 0)}, Verdict{What: Cancelled, Content: "c"}},
		"cancelled, and sent again":       {[]Sent{send(1, 5, 70), send(3, 5, 71)}, []Ended{end(2, Cancelled, 0)}, owed(71)},
		"cancelled with unknown number":   {[]Sent{send(1, unknown, 70)}, []Ended{end(2, Cancelled, 0)}, Verdict{What: Cancelled, Content: "c"}},
		"cancelled, and told late":        {[]Sent{send(1, 5, 70), send(2, 5, 71)}, []Ended{at(end(3, Cancelled, 0), 1999)}, owed(71)},
		"cancelled in the same ms":        {[]Sent{send(1, 5, 70), send(2, 5, 71)}, []Ended{at(end(3, Cancelled, 0), 2000)}, Verdict{What: Cancelled, Content: "c"}},
		"dead":                            {[]Sent{send(1, 5, 70)}, []Ended{end(2, Dead, 6)}, Verdict{What: Dead, Content: "c", Score: 70}},
		"dead, and sent again":            {[]Sent{send(1, 5, 70), send(3, 6, 71)}, []Ended{end(2, Dead, 6)}, owed(71)},
		"dead, sent again, done":          {[]Sent{send(1, 5, 70), send(3, 6, 71)}, []Ended{end(2, Dead, 6), end(4, Done, 7)}, Verdict{What: Done, Content: "c"}},
		"dead told after a later done":    {[]Sent{send(1, 5, 70), send(2, 6, 71)}, []Ended{end(3, Done, 7), end(4, Dead, 6)}, Verdict{What: Done, Content: "c"}},
		"dead, and deleted":               {[]Sent{send(1, 5, 70)}, []Ended{end(2, Dead, 6), end(3, Deleted, 0)}, Verdict{What: Deleted, Content: "c"}},
		"deleted, and another one waits":  {[]Sent{send(1, 5, 70), send(3, 6, 71)}, []Ended{end(2, Dead, 6), end(4, Deleted, 0)}, owed(71)},
		"deleted, and dead again":         {[]Sent{send(1, 5, 70), send(3, 6, 71)}, []Ended{end(2, Dead, 6), end(4, Deleted, 0), end(5, Dead, 7)}, Verdict{What: Dead, Content: "c", Score: 71}},
		"on its way":                      {[]Sent{send(1, 5, 70)}, []Ended{end(2, Taken, 6), end(3, Failed, 6), end(4, HandedBack, 7), end(5, Snoozed, 8), end(6, Overtaken, 9)}, owed(70)},
		"restored and adopted":            {[]Sent{send(1, 5, 70)}, []Ended{end(2, Restored, 9), end(3, Adopted, 9)}, owed(70)},
		"expires":                         {[]Sent{note(send(1, 5, 70), "500")}, nil, Verdict{What: Owed, Content: "c", Score: 70, Expires: 1500}},
		"the last of the times counts":    {[]Sent{note(send(1, 5, 70), "9000"), note(send(2, 5, 70), "500")}, nil, Verdict{What: Owed, Content: "c", Score: 70, Expires: 10000}},
		"wanted for ever by one":          {[]Sent{note(send(1, 5, 70), "500"), send(2, 5, 70)}, nil, Verdict{What: Owed, Content: "c", Score: 70}},
		"headers of the last with any":    {[]Sent{note(send(1, 5, 70), `0 {"a":"1"}`), note(send(2, 5, 70), `0 {"a":"2"}`), send(3, 5, 70)}, nil, Verdict{What: Owed, Content: "c", Score: 70, Headers: `{"a":"2"}`}},
		"nothing of a settled send":       {[]Sent{note(send(1, 5, 70), `500 {"a":"1"}`), send(3, 6, 71)}, []Ended{end(2, Done, 6)}, owed(71)},
		"dead keeps its note":             {[]Sent{note(send(1, 5, 70), `0 {"a":"1"}`)}, []Ended{end(2, Dead, 6)}, Verdict{What: Dead, Content: "c", Score: 70, Headers: `{"a":"1"}`}},
		"cancelled between two of a kind": {[]Sent{keeps(send(1, 5, 70)), keeps(send(3, 5, 80))}, []Ended{end(2, Cancelled, 0)}, owed(80)},
	} {
		got := Fold(c.sent, c.ended)
		if n := len(got.Settled) + len(got.Open); n != len(c.sent) || (len(got.Open) > 0) != (got.What == Owed) {
			t.Errorf("%s: settled %v, open %v", name, got.Settled, got.Open)
		}
		got.Settled, got.Open = nil, nil
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, c.want)
		}
	}
}

// What is compacted away must change no verdict, neither that of now nor one of later.
func TestNeedlessRowsChangeNoVerdict(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(uint64(sharetest.Seed(t)), 0))
	removed := 0
	for range 20_000 {
		e, id, number, compacted := &entry{}, int64(0), int64(3), false
		add := func() {
			id++
			late := int64(random.IntN(2))
			if compacted { // nothing older than that is told any more
				late = 0
			}
			switch p := random.IntN(10); {
			case p < 6:
				n := number - late
				if p == 0 {
					n = message.UnknownNumber
				}
				s := Sent{ID: id, Number: n, At: id - late, Score: id, Keeps: random.IntN(2) == 0, Content: "c"}
				if random.IntN(4) == 0 {
					s.Note = []string{"7", `0 {"a":"b"}`, "9000"}[random.IntN(3)]
				}
				e.sent = append(e.sent, s)
			case p < 9:
				number++
				what := []string{Done, Done, Dead, Dropped, Failed}[random.IntN(5)]
				e.ended = append(e.ended, Ended{ID: id, At: id, What: what, Number: number - late})
			case random.IntN(2) == 0:
				e.ended = append(e.ended, Ended{ID: id, At: id - 2*late, What: []string{Cancelled, Deleted}[random.IntN(2)]})
			default:
				e.ended = append(e.ended, Ended{ID: id, At: id, What: Gone, Number: id - int64(random.IntN(3))})
			}
		}
		for range 1 + random.IntN(8) {
			add()
		}
		sent, ended := e.needless(1 + random.Int64N(id+1))
		compacted = true
		removed += len(sent) + len(ended)
		gone := map[int64]bool{}
		for _, id := range append(sent, ended...) {
			gone[id] = true
		}
		for later := range 5 {
			less := &entry{}
			for _, s := range e.sent {
				if !gone[s.ID] {
					less.sent = append(less.sent, s)
				}
			}
			for _, x := range e.ended {
				if !gone[x.ID] {
					less.ended = append(less.ended, x)
				}
			}
			all, rest := e.verdict(), less.verdict()
			if (all.What == Owed || all.What == Dead || rest.What == Owed || rest.What == Dead) &&
				(all.What != rest.What || all.Score != rest.Score || all.Expires != rest.Expires || all.Headers != rest.Headers) {
				t.Fatalf("%d rows later:\n%+v\n%+v\nall  %+v\nleft %+v\nremoved %v %v", later, e.sent, e.ended, all, rest, sent, ended)
			}
			add()
		}
	}
	if removed < 1000 {
		t.Errorf("only %d rows were removed", removed)
	}
}

func TestHash(t *testing.T) {
	t.Parallel()
	if got := HashOf("abc"); got != [16]byte{0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23} {
		t.Errorf("%x", got)
	}
}

func TestPlainTexts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "a b": "a b", "世界": "世界", "a\x00b": "a�b", "\xff\xfe!": "�!"} {
		if got := plain(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
