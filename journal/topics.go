package journal

import (
	"context"
	"database/sql"
	"errors"
)

// topicRow is a topic that this process has met. Its id in rmq_topic is 0 until it is known.
type topicRow struct {
	name, definition string
	id               int64
}

// topicIDs are the ids of the topics of a batch, by their index. Those not known yet are looked up, or
// written, in a transaction of its own.
func (j *Journal) topicIDs(ctx context.Context, s *session, b *batch) ([]int64, error) {
	need := map[int]bool{}
	for i := range b.sent {
		if t := b.sent[i].topic; t >= len(j.ids) || j.ids[t] == 0 {
			need[t] = true
		}
	}
	for i := range b.ended {
		if t := b.ended[i].topic; t >= len(j.ids) || j.ids[t] == 0 {
			need[t] = true
		}
	}
	if len(need) == 0 {
		return j.ids, nil
	}
	j.mu.Lock()
	topics := j.topics[:len(j.topics):len(j.topics)]
	j.mu.Unlock()
	ids := append(append([]int64{}, j.ids...), make([]int64, len(topics)-len(j.ids))...)
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	for t := range need {
		id, err := s.topicID(ctx, topics[t])
		if err != nil {
			return nil, err
		}
		ids[t] = id
	}
	if err := s.exec(ctx, "COMMIT"); err != nil {
		return nil, err
	}
	j.ids = ids
	return ids, nil
}

// topicID looks a topic up, or writes it. Who has the counter is alone.
func (s *session) topicID(ctx context.Context, t topicRow) (id int64, err error) {
	if _, _, err := s.takeIDs(ctx, 1, 0); err != nil {
		return 0, err
	}
	find, err := s.prepare(ctx, "SELECT id FROM rmq_topic WHERE name = ?")
	if err != nil {
		return 0, err
	}
	if err = find.QueryRowContext(ctx, t.name).Scan(&id); !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	if err := s.conn.QueryRowContext(ctx, "SELECT COALESCE(MAX(id), 0) FROM rmq_topic").Scan(&id); err != nil {
		return 0, err
	}
	id++
	return id, s.exec(ctx, "INSERT INTO rmq_topic (id, name, definition) VALUES (?, ?, ?)", id, t.name, t.definition)
}
