package protocol_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// What is noted of a long run is read again as it was, whatever the content; of many or large messages a part is noted.
func TestRunning(t *testing.T) {
	t.Parallel()
	for _, contents := range [][]string{{"order 4711"}, {" a  b ", "c"}, {""}, {"\x00\xff\n"}, {strings.Repeat("é", 10_000)}, strings.Split(strings.Repeat("x,y", 40), "")} {
		r := protocol.Running{Slot: 3, Worker: "host-1-2", Since: time.UnixMilli(1_700_000_000_000), Timeout: 30 * time.Second, Fence: 1 << 50}
		r.NoteContents(contents)
		got, ok := protocol.ParseRunning(r.String())
		if !ok || !reflect.DeepEqual(got, r) {
			t.Errorf("%+v, %v, not %+v", got, ok, r)
		}
		if !got.Has(contents[0]) || got.Has("other") || got.Count != len(contents) || !strings.HasPrefix(contents[0], got.Content) || len(r.String()) > 1000 {
			t.Errorf("%+v", got)
		}
	}
	for _, text := range []string{"", "0 w 1 2 3 4 5", "a w 1 2 3 4 5 x", "0 w b 2 3 4 5 x", fmt.Sprint("0 w 1 2 3 ", 1e300, " 5 x")} {
		if r, ok := protocol.ParseRunning(text); ok {
			t.Errorf("%q is %+v", text, r)
		}
	}
}
