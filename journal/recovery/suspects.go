package recovery

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/score"
)

// place is a slot of a topic.
type place struct {
	topic ledger.Topic
	slot  int
}

func (p place) keys() protocol.SlotKeys { return protocol.KeysOf(p.topic.Name, p.slot) }

// suspects are contents of which the journal and Redis seem to say different things.
type suspects struct {
	in    map[place]map[string]bool
	count int
	bytes int
}

// So many are held in memory at the most.
const (
	suspectsMost  = 10_000
	suspectsBytes = 16 << 20
)

func (s *suspects) add(at place, content string) {
	if s.in == nil {
		s.in = map[place]map[string]bool{}
	}
	if s.in[at] == nil {
		s.in[at] = map[string]bool{}
	}
	if !s.in[at][content] {
		s.in[at][content] = true
		s.count++
		s.bytes += len(content)
	}
}

func (s *suspects) full() bool { return s.count >= suspectsMost || s.bytes >= suspectsBytes }

// sight is what both say of one content, the journal first.
type sight struct {
	place
	history ledger.History
	byhand.Entry
	number int64 // of the slot
	now    int64 // of the server, in ms
	note   *protocol.Note
}

// alive reports whether it waits, is in flight, or waits for its retry.
func (s *sight) alive() bool { return s.Store != "" || s.Prepare != "" || s.Retry != "" }

// A look at contents in Redis is about so many, or so many bytes, as it is one step of the server.
const lookBytes = 512 << 10

// look shows where some contents of a slot are in Redis.
func (r *Recovery) look(ctx context.Context, at place, contents []string, show func(n int, a *byhand.Audit, e *byhand.Entry)) error {
	for first := 0; first < len(contents); {
		n, bytes := 0, 0
		for first+n < len(contents) && n < pageMost && (n == 0 || bytes+len(contents[first+n]) <= lookBytes) {
			bytes += len(contents[first+n])
			n++
		}
		a, err := byhand.ReadContents(ctx, r.rdb, at.keys(), contents[first:first+n])
		if err != nil {
			return err
		}
		if len(a.Entries) != n {
			return fmt.Errorf("slot %s has keys of a wrong type: rmq verify names them", at.keys().Store)
		}
		for i := range a.Entries {
			show(first+i, a, &a.Entries[i])
		}
		first += n
	}
	return nil
}

// sights are what the journal and then Redis say of some contents of a slot.
func (r *Recovery) sights(ctx context.Context, at place, contents []string) ([]sight, error) {
	var all []sight
	for some := range slices.Chunk(contents, pageMost) {
		known, err := r.journal.Look(ctx, at.topic, at.slot, some)
		if err != nil {
			return nil, err
		}
		err = r.look(ctx, at, some, func(n int, a *byhand.Audit, e *byhand.Entry) {
			all = append(all, sight{at, known[n], *e, score.Parse(a.Meta.Batch), a.Now, nil})
		})
		if err != nil {
			return nil, err
		}
	}
	return all, r.notes(ctx, at, all)
}

// notes reads the notes of what waits.
func (r *Recovery) notes(ctx context.Context, at place, all []sight) error {
	if !at.topic.Notes {
		return nil
	}
	for i := range all {
		if !all[i].alive() || all[i].history.Verdict.What == ledger.Owed {
			continue
		}
		text, err := r.rdb.HGet(ctx, at.keys().Note(), all[i].Content).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return fmt.Errorf("read the note of a message in slot %s: %w", at.keys().Store, err)
		}
		if note, ok := protocol.ParseNote(text); ok {
			all[i].note = &note
		}
	}
	return nil
}
