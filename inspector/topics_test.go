package inspector

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/doctor"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

func namesOf(topics []Topic) []string {
	names := make([]string, len(topics))
	for n, t := range topics {
		names[n] = t.Name
	}
	return names
}

func TestTopics(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		if none, err := i.Topics(ctx); err != nil || len(none) != 0 {
			t.Errorf("%v, %v", none, err)
		}
		_, err := i.Topic(ctx, "orders")
		wantError(t, err, ErrUnknownTopic, `"orders"`, "there is none in this Redis")

		before := time.Now().Add(-time.Minute)
		prices := define(t, rdb, message.Topic{Name: "prices", Kind: message.KindRangeMerge, Slots: 4, Literal: true, Notes: true})
		orders := define(t, rdb, message.Topic{Name: "or ders: 订单", Kind: message.KindPriority})
		topics, err := i.Topics(ctx)
		must.Do(t, err)
		if len(topics) != 2 || topics[0].Topic != orders || topics[1].Topic != prices {
			t.Fatalf("%+v", topics)
		}
		got, err := i.Topic(ctx, prices.Name)
		if err != nil || got != topics[1] || got.Sharing != "" || got.Created.Before(before) || got.Created.After(time.Now().Add(time.Minute)) {
			t.Errorf("%+v, %v", got, err)
		}
		must.Do(t, rdb.HSet(ctx, protocol.DefinitionKey(prices.Name), "sharing", "zookeeper").Err())
		if got, err = i.Topic(ctx, prices.Name); err != nil || got.Sharing != "zookeeper" {
			t.Errorf("%+v, %v", got, err)
		}
		for n := range 7 {
			define(t, rdb, message.Topic{Name: fmt.Sprintf("mails-%d", n), Kind: message.KindFixedTime})
		}
		_, err = i.Topic(ctx, "mail-3")
		wantError(t, err, ErrUnknownTopic, `"mail-3"; in this Redis there are mails-3, mails-`, " and 4 more")
		_, err = i.Topic(ctx, "")
		wantError(t, err, ErrUnknownTopic)
	})
}

// A topic that cannot be read hides no other.
func TestTopicsThatCannotBeRead(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		sound := define(t, rdb, message.Topic{Name: "sound", Kind: message.KindPriority})
		broken := map[string]string{"missing": "rmq:def{missing} is missing", "text": "rmq:def{text} is not a hash"}
		must.Do(t, rdb.SAdd(ctx, protocol.TopicsKey, "missing", "text").Err())
		must.Do(t, rdb.Set(ctx, protocol.DefinitionKey("text"), "x", 0).Err())
		for field, value := range map[string]string{"kind": "stack", "slots": "3", "literal": "", "notes": "2", "layout": "3", "sharing": "paper", "namespace": "paper"} {
			define(t, rdb, message.Topic{Name: field, Kind: message.KindPriority})
			must.Do(t, rdb.HSet(ctx, protocol.DefinitionKey(field), field, value).Err())
			broken[field] = fmt.Sprintf("rmq:def{%s} has %s %q", field, field, value)
		}
		topics, err := i.Topics(ctx)
		must.Do(t, err)
		if len(topics) != len(broken)+1 {
			t.Errorf("%v", namesOf(topics))
		}
		for _, topic := range topics {
			want := message.Topic{Name: topic.Name}
			if topic.Name == sound.Name {
				want = sound
			}
			if topic.Topic != want {
				t.Errorf("%+v, want %+v", topic, want)
			}
		}
		for name, says := range broken {
			_, err := i.Topic(ctx, name)
			wantError(t, err, nil, "look up topic "+name+": ", says)
		}
		must.Do(t, rdb.Del(ctx, protocol.TopicsKey).Err())
		must.Do(t, rdb.Set(ctx, protocol.TopicsKey, "x", 0).Err())
		_, err = i.Topics(ctx)
		wantError(t, err, nil, protocol.TopicsKey, "WRONGTYPE")
	})
}

func TestTopicsOfANamespace(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	rdb := server.Client(t)
	for _, name := range []string{"orders", "shop:orders", "shop:a:b", "shopping:orders", "other:x"} {
		define(t, rdb, message.Topic{Name: name, Kind: message.KindPriority})
	}
	for ns, want := range map[string][]string{
		"":      {"orders", "other:x", "shop:a:b", "shop:orders", "shopping:orders"},
		"shop":  {"a:b", "orders"},
		"empty": {},
	} {
		i := newInspector(t, bounded(t, server.Client(t)), Config{Namespace: ns})
		topics, err := i.Topics(ctx)
		must.Do(t, err)
		if got := namesOf(topics); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", ns, got, want)
		}
	}
	_, err := newInspector(t, rdb, Config{Namespace: "empty"}).Topic(ctx, "orders")
	wantError(t, err, ErrUnknownTopic, "there is none in namespace empty")
	got, err := newInspector(t, rdb, Config{Namespace: "shop"}).Topic(ctx, "orders")
	if err != nil || got.Name != "orders" || got.Slots != 64 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Whose a topic is says its definition, and not its name alone.
func TestForeignTopics(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	rdb := server.Client(t)
	for name, namespace := range map[string]string{"orders": "", "a:orders": "a", "a:b:orders": "a:b", "a:plain": ""} {
		_, errs := protocol.New(rdb).Define(ctx, []string{name}, []protocol.Definition{{
			Kind: "priority", Slots: 1, Layout: protocol.Layout, Sharing: "zookeeper", Tree: "T", Namespace: namespace,
		}})
		must.Do(t, errs[0])
	}
	for ours, foreign := range map[string]map[string]string{ // theirs by name
		"":    {"a:orders": "a", "a:b:orders": "a:b"},
		"a":   {"b:orders": "a:b", "plain": ""},
		"a:b": {},
	} {
		i := newInspector(t, server.Client(t), Config{Namespace: ours})
		topics, err := i.Topics(ctx)
		must.Do(t, err)
		for _, topic := range topics {
			theirs, is := foreign[topic.Name]
			if !is {
				theirs = ours
			}
			if topic.Foreign != is || topic.Namespace != theirs {
				t.Errorf("in %q: %+v, want that it is of %q", ours, topic, theirs)
			}
		}
	}
	wantCheck(t, newInspector(t, rdb, Config{}).Doctor(ctx), "zookeeper", doctor.Warn, "not asked, and 2 topics are shared by it",
		"topic a:orders is of namespace a, and not looked at in ZooKeeper", "topic a:b:orders is of namespace a:b, and")
	wantCheck(t, newInspector(t, rdb, Config{Namespace: "a"}).Doctor(ctx), "zookeeper", doctor.Warn, "topic plain is of no namespace, and")
}

func TestManyTopics(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		const n = 1500
		var want []string
		pipe := rdb.Pipeline()
		for k := range n {
			name := fmt.Sprintf("topic-%04d", k)
			want = append(want, name)
			pipe.SAdd(ctx, protocol.TopicsKey, name)
			pipe.HSet(ctx, protocol.DefinitionKey(name), "kind", "priority", "slots", 1, "literal", 0, "notes", 0, "sharing", "", "layout", 1, "created", 1)
		}
		_, err := pipe.Exec(ctx)
		must.Do(t, err)
		topics, err := i.Topics(ctx)
		must.Do(t, err)
		if !slices.Equal(namesOf(topics), want) {
			t.Errorf("%d topics", len(topics))
		}
		if _, err := i.Workers(ctx); err != nil {
			t.Error(err)
		}
	})
}
