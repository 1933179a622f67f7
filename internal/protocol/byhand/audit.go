package byhand

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/luascripts"
)

var auditScript = script.New(luascripts.Source("byhand/audit.lua"))

// Part is a key of a slot that an audit goes through.
type Part int

// The parts. What is in prepare and in meta comes with each audit.
const (
	PartStore Part = 1
	PartRetry Part = 3
	PartDead  Part = 4
	PartWhy   Part = 6
)

// Audit is a part of one slot as of one moment, with all that the [Rules] are about. Scores
// and fields are as Redis prints them.
type Audit struct {
	Keys     protocol.SlotKeys
	Priority bool // of the topic
	Literal  bool

	Part    Part
	Types   []string // of the six keys in the order of SlotKeys
	Now     int64    // ms
	Sizes   [5]int   // of store, prepare, retry, dead and why
	Meta    Meta
	Flight  []Scored // with the first page: what is in prepare, 300 at most; without content: the last of those left out
	Next    string   // rank or cursor of the next page; "0" when the part is through
	Entries []Entry  // the part
}

// Meta is the hash as it is stored; a field that is missing is empty.
type Meta struct{ Holder, Batch, Until, Lease, Paused, Why string }

// Scored is a content with its score.
type Scored struct{ Content, Score string }

// Entry is a message of the part, and where it is. A score is empty where the message is
// not.
type Entry struct {
	Content                     string
	Store, Prepare, Retry, Dead string
	Why                         string
}

// auditBytes is how many bytes of contents a page has.
const auditBytes = 512 << 10

// ReadContents reads where some contents of a slot are, 500 at most, and nothing of what is in
// flight besides. It answers for each, also for one that is nowhere.
func ReadContents(ctx context.Context, rdb redis.UniversalClient, k protocol.SlotKeys, contents []string) (*Audit, error) {
	return readAudit(ctx, rdb, k, 0, "", len(contents), contents)
}

// ReadAudit reads count contents of a part, or fewer if they are long: of the sets from a
// rank on, of why from a cursor on, "0" at first.
func ReadAudit(ctx context.Context, rdb redis.UniversalClient, k protocol.SlotKeys, part Part, from string, count int) (*Audit, error) {
	return readAudit(ctx, rdb, k, part, from, count, nil)
}

func readAudit(ctx context.Context, rdb redis.UniversalClient, k protocol.SlotKeys, part Part, from string, count int, contents []string) (*Audit, error) {
	args := append(auditScript.Call(6, 10+len(contents)), k.Store, k.Prepare, k.Retry, k.Dead, k.Meta, k.Why, int(part), from, count, auditBytes)
	for _, content := range contents {
		args = append(args, content)
	}
	cmd := redis.NewSliceCmd(ctx, args...)
	script.Exec(ctx, rdb, cmd)
	reply, err := cmd.Result()
	if err != nil {
		return nil, fmt.Errorf("audit slot %s: %w", k.Store, err)
	}
	a := &Audit{Keys: k, Part: part, Types: texts(reply[0]), Next: "0"}
	if len(reply) == 1 { // a key has a wrong type
		return a, nil
	}
	head := texts(reply[1])
	n := numbers(head)
	a.Now = n[0]
	for i := range a.Sizes {
		a.Sizes[i] = int(n[1+i])
	}
	a.Meta = Meta{Holder: head[6], Batch: head[7], Until: head[8], Lease: head[9], Paused: head[10], Why: head[11]}
	flight := texts(reply[2])
	for i := 0; i+1 < len(flight); i += 2 {
		a.Flight = append(a.Flight, Scored{flight[i], flight[i+1]})
	}
	a.Next, _ = reply[3].(string)
	e := texts(reply[4])
	for i := 0; i+5 < len(e); i += 6 {
		a.Entries = append(a.Entries, Entry{e[i], e[i+1], e[i+2], e[i+3], e[i+4], e[i+5]})
	}
	return a, nil
}

// texts are the texts in a reply that is a list of them.
func texts(reply any) []string {
	list, _ := reply.([]any)
	all := make([]string, len(list))
	for i, x := range list {
		all[i], _ = x.(string)
	}
	return all
}
