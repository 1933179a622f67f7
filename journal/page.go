package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/slotmq/go-rmq/message"
)

const (
	pageRows  = 500 // of the outbox, at the most
	pageBytes = 4 << 20
)

// page is some rows of the outbox, all of one topic, in the order of their ids, and what has become of
// them.
type page struct {
	topic   string
	posts   []post
	bytes   int
	sent    []int64
	refused []refusal
	trouble error // why the others are not sent
}

// post is a row that can be read.
type post struct {
	id    int64
	topic message.Topic
	m     message.Message
}

// refusal is a row that is never sent.
type refusal struct {
	id  int64
	why error
}

func (p *page) rows() int { return len(p.posts) + len(p.refused) }

// page reads the next rows of a topic.
func (j *Journal) page(ctx context.Context, topic string) (*page, error) {
	p := &page{topic: topic}
	rows, err := j.db.QueryContext(ctx, j.dialect.bind("SELECT id, message FROM rmq_outbox WHERE topic = ? AND refused = '' ORDER BY id LIMIT "+itoa(pageRows)), topic)
	if err != nil {
		return p, err
	}
	defer rows.Close()
	for rows.Next() && p.bytes < pageBytes {
		var id int64
		var text sql.RawBytes
		if err := rows.Scan(&id, &text); err != nil {
			return p, err
		}
		p.bytes += len(text)
		t, m, err := unpack(topic, text)
		if err != nil {
			p.refused = append(p.refused, refusal{id, fmt.Errorf("its row cannot be read: %w", err)})
		} else {
			p.posts = append(p.posts, post{id: id, topic: t, m: m})
		}
	}
	return p, rows.Err()
}

// send sends the page by batches of one definition each, until something is in the way.
func (p *page) send(ctx context.Context, to func(context.Context, message.Topic, []message.Message) error) {
	for rest := p.posts; len(rest) > 0 && p.trouble == nil; {
		n := 1
		for n < len(rest) && rest[n].topic == rest[0].topic {
			n++
		}
		p.batch(ctx, to, rest[:n])
		rest = rest[n:]
	}
}

// batch sends one batch. If one message is refused for what it is, none was sent: so each half is
// tried for itself, until it is found.
func (p *page) batch(ctx context.Context, to func(context.Context, message.Topic, []message.Message) error, posts []post) {
	messages := make([]message.Message, len(posts))
	for i := range posts {
		messages[i] = posts[i].m
	}
	err := to(ctx, posts[0].topic, messages)
	var some *message.BatchError
	switch {
	case err == nil:
		for _, x := range posts {
			p.sent = append(p.sent, x.id)
		}
	case errors.As(err, &some):
		p.part(posts, some)
	case errors.Is(err, message.ErrTopicConflict), errors.Is(err, message.ErrInvalid) && len(posts) == 1:
		for _, x := range posts {
			p.refused = append(p.refused, refusal{x.id, err})
		}
	case errors.Is(err, message.ErrInvalid):
		half := len(posts) / 2
		p.batch(ctx, to, posts[:half])
		if p.trouble == nil {
			p.batch(ctx, to, posts[half:])
		}
	default:
		p.trouble = err
	}
}

// part notes what became of a batch of which some messages may not be stored. What was sent behind one of
// them with its content is sent again behind it, or an older send would have the last word.
func (p *page) part(posts []post, some *message.BatchError) {
	failed := map[int]bool{}
	for _, index := range some.Indexes {
		failed[index] = true
	}
	again := map[string]bool{}
	for i, x := range posts {
		switch c, _ := message.CommonOf(x.m); {
		case failed[i]:
			again[c.Content] = true
		case !again[c.Content]:
			p.sent = append(p.sent, x.id)
		}
	}
	p.trouble = some
}

// marks is "?, ?" for so many parameters.
func marks(n int) string { return "?" + strings.Repeat(", ?", n-1) }

func args(ids []int64) []any {
	all := make([]any, len(ids))
	for i, id := range ids {
		all[i] = id
	}
	return all
}
