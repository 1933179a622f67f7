package ledger

import (
	"reflect"
	"testing"

	"github.com/slotmq/go-rmq/internal/record"
)

func TestFold(t *testing.T) {
	t.Parallel()
	const unknown = record.UnknownNumber
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

func TestHash(t *testing.T) {
	t.Parallel()
	if got := HashOf("abc"); got != [16]byte{0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23} {
		t.Errorf("%x", got)
	}
}
