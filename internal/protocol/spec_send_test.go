package protocol_test

import (
	"fmt"
	"strings"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// message is one of a call of send.lua with fields.
type message struct {
	content string
	score   int64 // with a ceiling its range
	ceiling int64 // 0: none
	unique  int64 // for so many ms; 0: it is not
	ttl     int64 // 0: none
	headers map[string]string
}

// args are those of the message, as the fields of its call want them.
func (m *message) args(fields protocol.SendFields) []any {
	args := []any{m.score, m.content}
	if fields&protocol.SendCeiling != 0 {
		args = append(args, unlessZero(m.ceiling))
	}
	if fields&protocol.SendUnique != 0 {
		args = append(args, unlessZero(m.unique))
	}
	if fields&protocol.SendNote != 0 {
		args = append(args, protocol.NoteArg(m.ttl, m.headers))
	}
	return args
}

func unlessZero(n int64) any {
	if n == 0 {
		return ""
	}
	return n
}

// send expects what send.lua does with a message, and returns what it answers.
func (s *slot) send(m *message, fields protocol.SendFields, last bool, now int64) (outcome protocol.SendOutcome, score int64) {
	longest := ordered(s.seen)
	if m.unique > 0 && s.seen[m.content] > now {
		outcome = protocol.SendDuplicate
		if score = s.store[m.content]; score <= retries {
			score = 0
		}
	} else {
		outcome, score = s.accept(m, fields, last, now)
	}
	if fields&protocol.SendCeiling != 0 {
		for x := range s.firsts { // of a driver's few contents it looks at all
			if _, flies := s.prepare[x]; !flies && s.store[x] <= retries {
				delete(s.firsts, x)
			}
		}
	}
	if fields&protocol.SendUnique != 0 {
		for _, old := range longest[:min(11, len(longest))] {
			if s.seen[old.content] <= now {
				delete(s.seen, old.content)
			}
		}
	}
	return outcome, score
}

// accept expects what becomes of one that is no duplicate.
func (s *slot) accept(m *message, fields protocol.SendFields, last bool, now int64) (outcome protocol.SendOutcome, score int64) {
	old, there := s.store[m.content]
	waits := old > retries
	switch score = m.score; {
	case m.ceiling > 0 && waits && old <= now, m.ceiling == 0 && !last && waits:
		score = old
	case m.ceiling > 0:
		score = s.extend(m, waits, now)
	}
	s.store[m.content] = score
	if !there || !last && !waits {
		outcome = protocol.SendStored
	}
	if m.unique > 0 {
		s.seen[m.content] = now + m.unique
	}
	if fields&protocol.SendNote != 0 {
		s.notes[m.content] = s.noted(m, waits, now)
	}
	return outcome, score
}

// extend returns when a message with a ceiling is due.
func (s *slot) extend(m *message, waits bool, now int64) int64 {
	since := s.firsts[m.content]
	if !waits || since+m.ceiling <= now {
		since = now
		s.firsts[m.content] = now
	}
	return min(now+m.score, since+m.ceiling)
}

// noted returns the note after a send.
func (s *slot) noted(m *message, waits bool, now int64) string {
	stamp, sends, since, ends := max(s.number, now*1000-1), int64(1), now, int64(0)
	if m.ttl > 0 {
		ends = now + m.ttl
	}
	_, headers, _ := strings.Cut(protocol.NoteArg(1, m.headers), " ")
	if old, ok := protocol.ParseNote(s.notes[m.content]); ok && waits {
		sends, since = old.Sends+1, old.First
		if old.Expires == 0 || ends > 0 && old.Expires > ends {
			ends = old.Expires
		}
		if headers == "" {
			_, headers, _ = strings.Cut(protocol.NoteArg(1, old.Headers), " ")
		}
	}
	return strings.TrimSuffix(fmt.Sprintf("%d %d %d %d %d %s", stamp, sends, since, now, ends, headers), " ")
}
