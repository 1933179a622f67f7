package commands

import (
	"testing"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
)

func TestTopicsTellWhatATopicIs(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		for name, define := range map[string][]any{
			"mails":  {"kind", "fixed-time", "literal", 1, "notes", 1, "layout", protocol.Layout},
			"orders": {"kind", "priority", "literal", 0, "notes", 0, "layout", protocol.Layout},
		} {
			must.Do(t, s.rdb.HSet(t.Context(), protocol.DefinitionKey(name), append(define, "slots", 4, "sharing", "")...).Err())
			must.Do(t, s.rdb.SAdd(t.Context(), protocol.TopicsKey, name).Err())
		}
		wantText(t, s.text(t, "topics"), `
	TOPIC  KIND  SLOTS  SHARED BY  CREATED
	mails  fixed-time, literal, notes  4  no worker yet
	orders  priority  4  no worker yet`)
		objects := s.objects(t, "topics")
		want(t, field(objects, "literal"), "[true <nil>]")
		want(t, field(objects, "notes"), "[true <nil>]")
	})
}
