package producer

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/hash"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// noteOf reads the note of a content.
func noteOf(t *testing.T, rdb redis.UniversalClient, topic message.Topic, content string) protocol.Note {
	t.Helper()
	text := rdb.HGet(ctx, protocol.NoteKey(topic.Name, hash.Slot(content, topic.Slots)), content).Val()
	n, ok := protocol.ParseNote(text)
	if !ok {
		t.Errorf("the note of %s is %q", content, text)
	}
	return n
}

// A message that expires before it is due would never be handled.
func TestTimeToLiveBeforeItsTime(t *testing.T) {
	t.Parallel()
	rdb := servertest.SharedRedis(t).Client(t)
	p, topic := newProducer(t, rdb, Config{}), topicOf(t, message.KindFixedTime)
	topic.Notes = true
	in := func(wait, ttl time.Duration) message.Message {
		return message.FixedTime{Content: "x", At: rdb.Time(ctx).Val().Add(wait), TTL: ttl}
	}
	for _, m := range []message.Message{in(time.Hour, time.Hour-time.Minute), in(24*time.Hour, time.Millisecond)} {
		_, err := p.Send(ctx, topic, m)
		wantInvalid(t, err, "TTL")
	}
	for _, m := range []message.Message{in(time.Hour, time.Hour+time.Minute), in(-time.Hour, time.Minute), in(time.Hour, 0)} {
		mustSend(t, p, topic, m)
	}
}

// In a topic with notes each send leaves one, whatever its kind, and however its messages are written.
func TestNotes(t *testing.T) {
	t.Parallel()
	headers := map[string]string{"trace": "00-1-2-01", "from": "ü & <b>"}
	of := map[message.Kind]func(content string, ttl time.Duration, headers map[string]string) message.Message{
		message.KindRangeMerge: func(content string, ttl time.Duration, headers map[string]string) message.Message {
			return message.RangeMerge{Content: content, Range: time.Hour, TTL: ttl, Headers: headers}
		},
		message.KindPriority: func(content string, ttl time.Duration, headers map[string]string) message.Message {
			return message.Priority{Content: content, Priority: 20, TTL: ttl, Headers: headers}
		},
		message.KindFixedTime: func(content string, ttl time.Duration, headers map[string]string) message.Message {
			return message.FixedTime{Content: content, In: time.Hour, TTL: ttl, Headers: headers}
		},
	}
	onEachServer(t, func(t *testing.T, rdb *redis.Client) {
		for kind, m := range of {
			for _, cfg := range []Config{{}, {ExactReceipts: true}, {MaxWaiting: 2}} {
				for _, literal := range []bool{false, true} {
					p, topic := newProducer(t, rdb, cfg), topicOf(t, kind)
					topic.Slots, topic.Notes, topic.Literal = 1, true, literal
					before := rdb.Time(ctx).Val()
					ours := maps.Clone(headers)
					receipts, err := p.SendBatch(ctx, topic, []message.Message{m("x", 2*time.Hour, ours), m("x", 0, nil), m("plain", 0, nil), m("z", 3*time.Hour, nil)})
					clear(ours) // the sender's own
					after := rdb.Time(ctx).Val()
					var failed *message.BatchError
					if full := cfg.MaxWaiting > 0; full != errors.As(err, &failed) || full && (len(failed.Indexes) != 1 || failed.Indexes[0] != 3) {
						t.Fatalf("%v, %+v: %v", kind, cfg, err)
					}
					for i, want := range []Outcome{Stored, Merged, Stored} {
						if receipts[i].Outcome != want {
							t.Errorf("%v, %+v, message %d: %+v", kind, cfg, i, receipts[i])
						}
					}
					during := func(ms int64) bool { return ms >= before.UnixMilli() && ms <= after.UnixMilli() }
					x := noteOf(t, rdb, topic, "x")
					if x.Sends != 2 || !during(x.First) || !during(x.Last) || x.Expires != 0 || !maps.Equal(x.Headers, headers) {
						t.Errorf("%v, %+v: %+v", kind, cfg, x)
					}
					if n := noteOf(t, rdb, topic, "plain"); n.Sends != 1 || n.Expires != 0 || n.Headers != nil {
						t.Errorf("%v, %+v: %+v", kind, cfg, n)
					}
					if cfg.MaxWaiting > 0 {
						if rdb.HExists(ctx, protocol.NoteKey(topic.Name, 0), "z").Val() {
							t.Errorf("%v: refused, and has a note", kind)
						}
					} else if n := noteOf(t, rdb, topic, "z"); !during(n.Expires - (3 * time.Hour).Milliseconds()) {
						t.Errorf("%v, %+v: %+v", kind, cfg, n)
					}
				}
			}
		}
	})
}

// In one command with messages that have a ceiling, each has what is its own.
func TestNotesBesideCeilings(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, rdb *redis.Client) {
		p, topic := newProducer(t, rdb, Config{}), topicOf(t, message.KindRangeMerge)
		topic.Slots, topic.Notes = 1, true
		receipts, err := p.SendBatch(ctx, topic, []message.Message{
			message.RangeMerge{Content: "a", Range: time.Hour},
			message.RangeMerge{Content: "b", Range: time.Hour, Extend: true, Ceiling: 2 * time.Hour, Headers: map[string]string{"k": "b"}},
			message.RangeMerge{Content: "c", Range: time.Hour, TTL: 2 * time.Hour},
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, content := range []string{"a", "b", "c"} {
			n := noteOf(t, rdb, topic, content)
			if n.Sends != 1 || (n.Expires > 0) != (content == "c") || (n.Headers["k"] == "b") != (content == "b") || receipts[i].Outcome != Stored {
				t.Errorf("%s: %+v, %+v", content, n, receipts[i])
			}
		}
		if since := rdb.ZRange(ctx, protocol.FirstKey(topic.Name, 0), 0, -1).Val(); len(since) != 1 || since[0] != "b" {
			t.Errorf("%q have a ceiling", since)
		}
	})
}

// What only a note can keep is refused without one, before anything is sent.
func TestNotesAreAskedFor(t *testing.T) {
	t.Parallel()
	rdb := servertest.SharedRedis(t).Client(t)
	p, topic := newProducer(t, rdb, Config{}), topicOf(t, message.KindPriority)
	for field, m := range map[string]message.Message{
		"TTL":     message.Priority{Content: "x", Priority: 17, TTL: time.Second},
		"Headers": message.Priority{Content: "x", Priority: 17, Headers: map[string]string{"a": "b"}},
	} {
		_, err := p.Send(ctx, topic, m)
		wantInvalid(t, err, field)
	}
	if got := waiting(t, rdb, topic); len(got) > 0 {
		t.Errorf("waiting: %v", got)
	}
}
