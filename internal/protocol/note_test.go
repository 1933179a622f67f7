package protocol_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/protocol"
)

func TestNote(t *testing.T) {
	t.Parallel()
	all := map[string]string{"trace": "00-1-2-01", "a b": `x "y" & <z> ` + "\n", "": "ü"}
	text, timed := strings.CutPrefix(protocol.NoteArg(0, all), "0 ")
	if want := `{"":"ü","a b":"x \"y\" & <z> \n","trace":"00-1-2-01"}`; !timed || text != want {
		t.Errorf("headers are %s, want %s", text, want)
	}
	n, ok := protocol.ParseNote("1700000000000000 3 1690000000001 1690000000002 1690000000003 " + text)
	if want := (protocol.Note{Stamp: 1700000000000000, Sends: 3, First: 1690000000001, Last: 1690000000002, Expires: 1690000000003, Headers: n.Headers}); !ok ||
		!maps.Equal(n.Headers, all) || n.Stamp != want.Stamp || n.Sends != want.Sends || n.First != want.First || n.Last != want.Last || n.Expires != want.Expires {
		t.Errorf("%+v, %v; want %+v", n, ok, want)
	}
	for want, got := range map[string]string{
		"": protocol.NoteArg(0, nil), "5": protocol.NoteArg(5, map[string]string{}), `5 {"a":"b"}`: protocol.NoteArg(5, map[string]string{"a": "b"}),
	} {
		if got != want {
			t.Errorf("told is %q, want %q", got, want)
		}
	}
	if n, ok := protocol.ParseNote("7 1 2 2 0"); !ok || n.Sends != 1 || n.Headers != nil {
		t.Errorf("without headers: %+v, %v", n, ok)
	}
	for _, odd := range []string{"", "1 2 3 4", "1 2 3 4 x", "1 2 3 4 5 {", " 1 2 3 4 5", "1 2 3 4 5 6", `1 2 3 4 5 {"a":1}`} {
		if n, ok := protocol.ParseNote(odd); ok || n.Stamp != 0 || n.Headers != nil {
			t.Errorf("%q is %+v", odd, n)
		}
	}
	for fence, tells := range map[int64]bool{6: false, 7: false, 8: true} {
		if n := (&protocol.Note{Stamp: 7}); n.Tells(fence) != tells {
			t.Errorf("a note with stamp 7 tells batch %d: %v", fence, !tells)
		}
	}
}
