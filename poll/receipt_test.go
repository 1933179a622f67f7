package poll

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/message"
)

func aReceipt() *receipt {
	return &receipt{
		topic: message.Topic{Name: "shop:orders", Kind: message.KindPriority, Slots: 65536, Notes: true}, slot: 65535, worker: "gateway-1",
		batch: newBits(), fence: 1<<53 - 1, attempt: 17, ttr: LongestTTR, items: []item{{1<<53 - 1, true}, {}, {17, false}},
	}
}

func TestReceipts(t *testing.T) {
	t.Parallel()
	one := &receipt{topic: message.Topic{Name: "t", Kind: message.KindRangeMerge, Slots: 1, Literal: true}, worker: "w", batch: newBits(), attempt: 1, ttr: time.Second, items: []item{{}}}
	for _, r := range []*receipt{aReceipt(), one} {
		read, err := parseReceipt(r.String())
		if err != nil || !reflect.DeepEqual(read, r) {
			t.Errorf("%+v is read as %+v (%v)", r, read, err)
		}
	}
	text := aReceipt().String()
	for i := range text { // one character is another one, or is missing
		for _, wrong := range []string{text[:i], text[:i] + text[i+1:], text[:i] + "~" + text[i+1:], text[:i] + other(text[i]) + text[i+1:]} {
			if r, err := parseReceipt(wrong); !errors.Is(err, ErrReceipt) {
				t.Errorf("%q is read as %+v", wrong, r)
			}
		}
	}
}

// other is another character that a receipt may have.
func other(c byte) string {
	if c == 'A' {
		return "B"
	}
	return "A"
}

// Whatever is given, a receipt is read in full or refused.
func FuzzReceipts(f *testing.F) {
	f.Add(aReceipt().String())
	f.Add("")
	f.Add(strings.Repeat("A", 100))
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseReceipt(text)
		switch {
		case err == nil && r.String() != text:
			t.Errorf("%q is read as %+v", text, r)
		case err != nil && !errors.Is(err, ErrReceipt):
			t.Error(err)
		}
	})
}
