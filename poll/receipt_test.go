package poll

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

func aReceipt() *receipt {
	return &receipt{
		topic: message.Topic{Name: "shop:orders", Kind: message.KindPriority, Slots: 65536, Notes: true}, slot: 65535, worker: "gateway-1",
		batch: newBits(), fence: 1<<53 - 1, attempt: 17, ttr: longestTTR, items: []item{{1<<53 - 1, true}, {}, {17, false}},
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

// A receipt is finished by whatever gateway it comes to, also by one of another release: its text is this.
func TestTextOfAReceipt(t *testing.T) {
	t.Parallel()
	r := aReceipt()
	for i := range r.batch {
		r.batch[i] = byte(i)
	}
	const text = "AQABAgMEBQYHCAkKCwwNDg8CgIAEAv__A_________8PEYDczBQLc2hvcDpvcmRlcnMJZ2F0ZXdheS0xA_________8fACL4nyIw"
	if got := r.String(); got != text {
		t.Errorf("%s\nwant %s", got, text)
	}
	if read, err := parseReceipt(text); err != nil || !reflect.DeepEqual(read, r) {
		t.Errorf("it is read as %+v (%v)", read, err)
	}
}

// The contents of a batch are read only while it is the receipt's: the next one in the slot may have as many.
func TestContentsOfAnotherBatch(t *testing.T) {
	t.Parallel()
	ctx, rdb := context.Background(), servertest.Redis(t).Client(t)
	p, r := &process{cfg: Config{Redis: rdb}}, aReceipt()
	k := protocol.KeysOf("shop:orders", r.slot)
	for i := range r.items {
		must.Do(t, rdb.ZAdd(ctx, k.Prepare, redis.Z{Score: 1, Member: fmt.Sprint("m", i)}).Err())
	}
	for _, c := range []struct {
		holder string
		batch  int64
		items  int
		there  bool
	}{{r.id(), r.fence, 3, true}, {"another", r.fence, 3, false}, {r.id(), r.fence - 1, 3, false}, {r.id(), r.fence, 2, false}} {
		must.Do(t, rdb.HSet(ctx, k.Meta, "holder", c.holder, "batch", c.batch).Err())
		of := *r
		of.items = r.items[:c.items]
		got, err := p.flying(ctx, &k, &of)
		if must.Do(t, err); (got != nil) != c.there {
			t.Errorf("%+v: %q", c, got)
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
