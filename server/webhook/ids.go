package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
)

// ids gives each message its webhook-id: one for all tries of one wait, so that a receiver may drop what it has seen, whichever
// process tries again. Equal content that is sent when the message has ended, or while it runs, gets another one: else it would
// be dropped, too. Redis keeps the ids of those that have begun and not ended, in a hash for each slot.
type ids struct {
	rdb       redis.UniversalClient
	namespace string
}

// kept is what Redis has of a message that has begun.
type kept struct {
	id      string
	attempt int  // the last one that began
	back    bool // it went back after that, and the attempt does not count
}

const (
	keptFor    = 30 * 24 * time.Hour // after the last beginning in its slot
	endsWithin = time.Second         // what is not noted in time is noted wrongly, and costs an id
)

func (i *ids) key(d *rmq.Delivery) string {
	return luascripts.PushedKey(luascripts.Qualify(i.namespace, d.Topic.Name), d.Slot)
}

func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:12])
}

// begin is the id of a try, which begins.
func (i *ids) begin(ctx context.Context, d *rmq.Delivery) (id string, err error) {
	key, field := i.key(d), digest(d.Content)
	text, err := i.rdb.HGet(ctx, key, field).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", err
	}
	k := keptOf(text)
	if !k.goesOn(d.Attempt) {
		k.id = idOf(d)
	}
	k.attempt, k.back = d.Attempt, false
	_, err = i.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, key, field, k.text())
		p.PExpire(ctx, key, keptFor)
		return nil
	})
	return k.id, err
}

// goesOn reports whether an attempt is of the same wait. A wait begins with attempt 1: so a smaller number, and an equal one
// that has counted, are of another wait.
func (k kept) goesOn(attempt int) bool {
	return k.id != "" && (attempt > k.attempt || attempt == k.attempt && (k.back || attempt > 1))
}

// end notes what has become of a try. One that failed stays as it is: its next attempt has a larger number.
func (i *ids) end(ctx context.Context, d *rmq.Delivery, id string, f fate) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endsWithin)
	defer cancel()
	switch {
	case f == ended || f == failed && d.Attempt > message.MaxRetries:
		_ = i.rdb.HDel(ctx, i.key(d), digest(d.Content)).Err()
	case f == wentBack:
		_ = i.rdb.HSet(ctx, i.key(d), digest(d.Content), kept{id, d.Attempt, true}.text()).Err()
	}
}

// check is an error if the user of Redis may not keep ids.
func (i *ids) check(ctx context.Context, topic string) error {
	key := luascripts.PushedKey(luascripts.Qualify(i.namespace, topic), 0)
	if err := i.rdb.HDel(ctx, key, "-").Err(); err != nil {
		return fmt.Errorf("ids of topic %s: %w; see docs/DEPLOYMENT.md", topic, err)
	}
	return nil
}

// text is how Redis keeps it: ID ATTEMPT, and a word if it went back.
func (k kept) text() string {
	text := k.id + " " + strconv.Itoa(k.attempt)
	if k.back {
		text += " back"
	}
	return text
}

func keptOf(text string) (k kept) {
	words := strings.Fields(text)
	if len(words) < 2 {
		return k
	}
	k.id, k.back = words[0], len(words) > 2
	k.attempt, _ = strconv.Atoi(words[1]) // it was written here
	return k
}
