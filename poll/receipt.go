package poll

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/message"
)

// receipt is all that is needed to finish a batch. So who holds it may do that at any process, and none of
// them remembers anything. It cannot be guessed, because the id of the batch is random.
type receipt struct {
	topic   message.Topic // its name without the namespace
	slot    int
	worker  string // name of the process that took the batch
	batch   protocol.TakerBits
	fence   int64
	attempt int
	ttr     time.Duration
	items   []item // in the order of the bytes of their contents, which is that of `prepare`
}

// item is what a receipt says of one message.
type item struct {
	score   int64 // its priority, or when it was due in ms; 0: not known
	expired bool  // its time to live was over
}

// id is the holder of the batch, as Redis knows it. It is never used for another one.
func (r *receipt) id() string { return protocol.TakerID(r.worker, r.batch) }

const (
	receiptVersion = 1
	checkBytes     = 4
	bitsSize       = len(protocol.TakerBits{})
	longestName    = 500 // no topic and no worker has a longer name
)

// The flags of a topic.
const (
	literal = 1 << iota
	notes
)

func (r *receipt) flags() (n int64) {
	if r.topic.Literal {
		n |= literal
	}
	if r.topic.Notes {
		n |= notes
	}
	return n
}

// String writes a receipt, for URLs and JSON.
func (r *receipt) String() string {
	b := append(make([]byte, 0, 64+len(r.topic.Name)+len(r.worker)+8*len(r.items)), receiptVersion)
	b = append(b, r.batch[:]...)
	for _, n := range []int64{int64(r.topic.Kind), int64(r.topic.Slots), r.flags(), int64(r.slot), r.fence, int64(r.attempt), r.ttr.Milliseconds()} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	for _, text := range []string{r.topic.Name, r.worker} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	b = binary.AppendUvarint(b, uint64(len(r.items)))
	for _, x := range r.items {
		n := uint64(x.score) << 1
		if x.expired {
			n |= 1
		}
		b = binary.AppendUvarint(b, n)
	}
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.EncodeToString(b)
}

// parseReceipt reads what String wrote.
func parseReceipt(text string) (*receipt, error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) < 1+bitsSize+checkBytes || b[0] != receiptVersion {
		return nil, ErrReceipt
	}
	body := b[:len(b)-checkBytes]
	if binary.BigEndian.Uint32(b[len(body):]) != crc32.ChecksumIEEE(body) {
		return nil, ErrReceipt
	}
	in := reader{rest: body[1:]}
	r := &receipt{batch: protocol.TakerBits(in.bytes(bitsSize))}
	r.topic.Kind, r.topic.Slots = message.Kind(in.number(math.MaxUint8)), int(in.number(limits.Slots))
	flags := in.number(literal | notes)
	r.topic.Literal, r.topic.Notes = flags&literal > 0, flags&notes > 0
	r.slot, r.fence = int(in.number(limits.Slots-1)), int64(in.number(1<<53))
	r.attempt = int(in.number(limits.Deliveries))
	r.ttr = time.Duration(in.number(uint64(longestTTR.Milliseconds()))) * time.Millisecond
	r.topic.Name = string(in.bytes(int(in.number(longestName))))
	r.worker = string(in.bytes(int(in.number(longestName))))
	r.items = make([]item, in.number(protocol.MaxBatch))
	for i := range r.items {
		n := in.number(1 << 54)
		r.items[i] = item{int64(n >> 1), n&1 > 0}
	}
	if in.bad || len(in.rest) > 0 || len(r.items) == 0 || r.attempt == 0 || r.slot >= r.topic.Slots || r.topic.Validate() != nil ||
		r.String() != text { // the same in other words
		return nil, ErrReceipt
	}
	return r, nil
}

// reader reads numbers and bytes until something is wrong.
type reader struct {
	rest []byte
	bad  bool
}

func (in *reader) number(most uint64) uint64 {
	n, size := binary.Uvarint(in.rest)
	if size <= 0 || n > most {
		in.bad, in.rest = true, nil
		return 0
	}
	in.rest = in.rest[size:]
	return n
}

func (in *reader) bytes(n int) []byte {
	if n > len(in.rest) {
		in.bad, in.rest = true, nil
		return make([]byte, n)
	}
	b := in.rest[:n]
	in.rest = in.rest[n:]
	return b
}

// SizeOf returns how many messages a receipt is about.
func SizeOf(text string) (int, error) {
	r, err := parseReceipt(text)
	if err != nil {
		return 0, fmt.Errorf("size of a receipt: %w", err)
	}
	return len(r.items), nil
}

// TopicOf returns the name of the topic that a receipt is about: who passes receipts on may have to know who may
// finish what.
func TopicOf(text string) (string, error) {
	r, err := parseReceipt(text)
	if err != nil {
		return "", fmt.Errorf("topic of a receipt: %w", err)
	}
	return r.topic.Name, nil
}

// readContents reads those of a batch, in the order of their bytes. It returns none if the batch is not the receipt's any more.
func (p *process) readContents(ctx context.Context, r *receipt) ([]string, error) {
	k := p.keysOf(r)
	all, _, err := untilAnswered(ctx, p, k.Store, func(ctx context.Context) ([]string, error) { return p.flying(ctx, &k, r) })
	return all, err
}

func (p *process) flying(ctx context.Context, k *protocol.SlotKeys, r *receipt) ([]string, error) {
	node, _, err := cluster.MasterFor(ctx, p.cfg.Redis, k.Meta)
	if err != nil {
		return nil, err
	}
	pipe := node.Pipeline()
	flying, holder := pipe.ZRange(ctx, k.Prepare, 0, -1), pipe.HMGet(ctx, k.Meta, "holder", "batch") // in this order: if it is the receipt's now, it was before
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	by, _ := holder.Val()[0].(string)
	number, _ := holder.Val()[1].(string)
	if by != r.id() || number != fmt.Sprint(r.fence) || len(flying.Val()) != len(r.items) {
		return nil, nil
	}
	return flying.Val(), nil
}
