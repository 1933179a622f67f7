package journal

import (
	"context"
	"strings"

	"github.com/slotmq/go-rmq/internal/ledger"
)

// insertion is rows of one table by columns: first all integers, then bytes, then texts.
type insertion struct {
	table string
	names []string
	ints  [][]int64
	bytes [][][]byte
	texts [][]string
}

func newInsertion(table string, ints, bytes, texts []string) *insertion {
	names := append(append(append([]string{}, ints...), bytes...), texts...)
	return &insertion{
		table: table, names: names,
		ints: make([][]int64, len(ints)), bytes: make([][][]byte, len(bytes)), texts: make([][]string, len(texts)),
	}
}

func newSentRows() *insertion {
	return newInsertion("rmq_sent", []string{"id", "topic", "slot", "number", "at", "score", "keeps", "writer"}, []string{"hash", "content"}, []string{"note"})
}

func newEndedRows() *insertion {
	return newInsertion("rmq_ended", []string{"id", "topic", "slot", "number", "at", "attempt"}, []string{"hash"}, []string{"what", "worker", "host", "reason"})
}

func (in *insertion) reset() {
	for c := range in.ints {
		in.ints[c] = in.ints[c][:0]
	}
	for c := range in.bytes {
		clear(in.bytes[c])
		in.bytes[c] = in.bytes[c][:0]
	}
	for c := range in.texts {
		clear(in.texts[c])
		in.texts[c] = in.texts[c][:0]
	}
}

func (in *insertion) rows() int { return len(in.ints[0]) }

func (in *insertion) addInts(values ...int64) {
	for c, v := range values {
		in.ints[c] = append(in.ints[c], v)
	}
}

func (in *insertion) addTexts(values ...string) {
	for c, v := range values {
		in.texts[c] = append(in.texts[c], v)
	}
}

// insert writes the rows of a batch, with ids in the order in which they were told.
func (j *Journal) insert(ctx context.Context, s *session, b *batch, first int64, topics []int64) error {
	sent, ended := j.sentRows, j.endedRows
	sent.reset()
	ended.reset()
	hashes := make([]ledger.Hash, b.rows())
	contents := make([]byte, 0, b.bytes)
	for i := range b.sent {
		r, h := &b.sent[i], &hashes[i]
		start := len(contents)
		contents = append(contents, r.content...)
		content := contents[start:len(contents):len(contents)]
		*h = ledger.HashOf(content)
		keeps := int64(0)
		if r.keeps {
			keeps = 1
		}
		sent.addInts(first+r.seq-b.first, topics[r.topic], int64(r.slot), r.number, r.at, r.score, keeps, j.writer)
		sent.bytes[0] = append(sent.bytes[0], h[:])
		sent.bytes[1] = append(sent.bytes[1], content)
		sent.texts[0] = append(sent.texts[0], plain(r.note))
	}
	for i := range b.ended {
		r, h := &b.ended[i], &hashes[len(b.sent)+i]
		*h = ledger.HashOf(r.content)
		ended.addInts(first+r.seq-b.first, topics[r.topic], int64(r.slot), r.number, r.at, int64(r.attempt))
		ended.bytes[0] = append(ended.bytes[0], h[:])
		ended.addTexts(r.what, plain(r.worker), j.host, plain(r.reason))
	}
	if err := s.insert(ctx, sent); err != nil {
		return err
	}
	return s.insert(ctx, ended)
}

func (s *session) insert(ctx context.Context, in *insertion) error {
	if in.rows() == 0 {
		return nil
	}
	if s.dialect.arrays {
		return s.insertArrays(ctx, in)
	}
	return s.insertGroups(ctx, in)
}

// insertArrays passes each column as one array: one statement for any number of rows.
func (s *session) insertArrays(ctx context.Context, in *insertion) error {
	args := make([]any, 0, len(in.names))
	types := make([]string, 0, len(in.names))
	for c := range in.ints {
		args, types = append(args, in.ints[c]), append(types, "?::bigint[]")
	}
	for c := range in.bytes {
		args, types = append(args, in.bytes[c]), append(types, "?::bytea[]")
	}
	for c := range in.texts {
		args, types = append(args, in.texts[c]), append(types, "?::text[]")
	}
	return s.exec(ctx, "INSERT INTO "+in.table+" ("+strings.Join(in.names, ", ")+") SELECT * FROM unnest("+strings.Join(types, ", ")+")", args...)
}

// insertGroups writes rows by statements for a group of them, of half a group and so on, so that few
// statements have to be prepared.
func (s *session) insertGroups(ctx context.Context, in *insertion) error {
	args := make([]any, 0, s.dialect.group*len(in.names))
	group := s.dialect.group
	for done, rows := 0, in.rows(); done < rows; {
		for group > rows-done {
			group /= 2
		}
		args = args[:0]
		for r := done; r < done+group; r++ {
			args = in.appendRow(args, r)
		}
		if err := s.exec(ctx, in.text(group), args...); err != nil {
			return err
		}
		done += group
	}
	return nil
}

func (in *insertion) appendRow(args []any, r int) []any {
	for c := range in.ints {
		args = append(args, in.ints[c][r])
	}
	for c := range in.bytes {
		args = append(args, in.bytes[c][r])
	}
	for c := range in.texts {
		args = append(args, in.texts[c][r])
	}
	return args
}

// text is the statement that inserts so many rows.
func (in *insertion) text(rows int) string {
	row := "(?" + strings.Repeat(", ?", len(in.names)-1) + ")"
	return "INSERT INTO " + in.table + " (" + strings.Join(in.names, ", ") + ") VALUES " + row + strings.Repeat(", "+row, rows-1)
}
