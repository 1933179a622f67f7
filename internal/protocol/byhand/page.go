package byhand

import (
	"context"
	"crypto/sha1"
	"encoding/hex"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/luascripts"
)

var pageScript = script.New(luascripts.Source("byhand/page.lua"))

// Page is some contents of a sorted set, one after the other, as of one moment.
type Page struct {
	Entries []Scored
	Next    string // score of the content that follows; empty: none does
}

// PageAsk says which page to read.
type PageAsk struct {
	Key   string // one of a slot's sorted sets
	From  int    // rank of the first content
	Down  bool   // ranks count from the highest score
	Most  int    // contents
	Bytes int    // of contents
	Least int    // so many come however long they are

	// Known is an element that the caller has read before. If it is the first of the page, it
	// comes without its content.
	Known Known
}

// Known is what a content is recognized by. The zero value is of no content.
type Known struct {
	length int
	hash   string
}

// Know makes the Known of a content. For a short one it is zero: to send that again costs
// less.
func Know(content string) Known {
	const worthHashing = 1 << 10
	if len(content) < worthHashing {
		return Known{}
	}
	sum := sha1.Sum([]byte(content))
	return Known{len(content), hex.EncodeToString(sum[:])}
}

// PageCmd reads a page.
func PageCmd(ctx context.Context, ask PageAsk) *redis.StringSliceCmd {
	direction := "U"
	if ask.Down {
		direction = "D"
	}
	args := append(pageScript.Call(1, 8), ask.Key, ask.From, ask.Most, ask.Bytes, ask.Least, direction, ask.Known.length, ask.Known.hash)
	return redis.NewStringSliceCmd(ctx, args...)
}

// PageAnswer reads the answer to a command of [PageCmd].
func PageAnswer(cmd *redis.StringSliceCmd) (p Page, err error) {
	r, err := cmd.Val(), script.Err(cmd)
	if err != nil {
		return p, err
	}
	p.Next = r[0]
	p.Entries = make([]Scored, 0, len(r)/2)
	for i := 1; i+1 < len(r); i += 2 {
		p.Entries = append(p.Entries, Scored{r[i], r[i+1]})
	}
	return p, nil
}
