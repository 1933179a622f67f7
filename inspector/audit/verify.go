package audit

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/inspector/internal/pages"
	"github.com/slotmq/go-rmq/inspector/internal/who"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// Violation is a rule that does not hold for what is stored.
type Violation struct {
	Topic   string
	Slot    int    // -1: it is about the topic as a whole
	Rule    string // one of byhand.Rules, or FIRST, SEEN, NOTE, DEFINITION, LISTED, POLICY, PLAN or STANDS
	Key     string // where it shows
	Content string // that it is about, or the name of a plan; empty: the key as a whole
	Detail  string // what is there
}

// Verify compares what is stored of topics, nil meaning all of the namespace, with the rules.
func Verify(ctx context.Context, w *who.Who, topics []string, progress func(topic string, slot, of int)) ([]Violation, error) {
	if err := ask.Given(ctx, "verify"); err != nil {
		return nil, err
	}
	v := verification{i: w, known: map[Violation]bool{}}
	err := v.run(ctx, topics, progress)
	if err != nil {
		err = fmt.Errorf("verify: %w", err)
	}
	return v.found, err
}

// verification is one run of Verify.
type verification struct {
	i     *who.Who
	found []Violation
	known map[Violation]bool // without their details, which differ from page to page
	seem  []who.Stuck        // slots that may be stuck

	withPlans []int // slots of the topic that have plans
}

func (v *verification) add(x Violation) {
	same := x
	same.Detail = ""
	if !v.known[same] {
		v.known[same] = true
		v.found = append(v.found, x)
	}
}

func (v *verification) run(ctx context.Context, topics []string, progress func(topic string, slot, of int)) error {
	listed, err := v.i.Names(ctx)
	switch {
	case redis.HasErrorPrefix(err, "WRONGTYPE"):
		v.add(Violation{Slot: -1, Rule: "LISTED", Key: protocol.TopicsKey, Detail: "it is not a set"})
	case err != nil:
		return err
	}
	if topics == nil {
		topics = listed
	}
	definitions, err := v.i.Definitions(ctx, topics)
	if err != nil {
		return err
	}
	for _, d := range definitions {
		if err := v.defined(ctx, d, listed, progress); err != nil {
			return err
		}
	}
	stuck, err := v.i.StayStuck(ctx, v.seem)
	for _, s := range stuck {
		v.add(Violation{Topic: s.Topic.Name, Slot: s.Slot, Rule: "STANDS", Key: v.i.Keys(s.Topic.Name, s.Slot).Prepare, Detail: s.Detail + "; " + s.Advice})
	}
	return err
}

// defined looks at one topic.
func (v *verification) defined(ctx context.Context, d ask.Stored, listed []string, progress func(topic string, slot, of int)) error {
	isListed := slices.Contains(listed, d.Name)
	if d.Missing && !isListed {
		return v.i.Unknown(d.Name, listed)
	}
	if d.Wrong != "" {
		v.add(Violation{Topic: d.Name, Slot: -1, Rule: "DEFINITION", Key: protocol.DefinitionKey(v.i.Qualified(d.Name)), Detail: d.Wrong})
		return nil // its slots are not known
	}
	v.withPlans = nil
	for slot := range d.Slots {
		for _, look := range []func(context.Context, ask.Topic, int) error{v.slot, v.keys, v.notes, v.plans} {
			if err := look(ctx, d.Topic, slot); err != nil {
				return err
			}
		}
		if progress != nil {
			progress(d.Name, slot, d.Slots)
		}
	}
	if err := v.topic(ctx, d.Topic, isListed); err != nil {
		return err
	}
	seen, err := v.i.Look(ctx, d.Topic)
	if err != nil && v.found == nil { // else a key of a wrong type was reported
		return err
	}
	some := v.i.SeemStuck(ctx, d.Topic, seen)
	v.seem = append(v.seem, slices.DeleteFunc(some, func(s who.Stuck) bool { return !s.Batch })...)
	return nil
}

// topic looks at what is stored of a topic beside its slots.
func (v *verification) topic(ctx context.Context, t ask.Topic, listed bool) error {
	name := v.i.Qualified(t.Name)
	for _, k := range []struct{ key, is string }{
		{protocol.WorkersKey(name), "zset"}, {protocol.TakersKey(name), "zset"}, {protocol.EndedKey(name), "zset"}, {protocol.ProbingKey(name), "hash"},
		{protocol.RunningKey(name), "zset"}, {protocol.GoneKey(name), "zset"},
	} {
		if _, err := v.isA(k.is, k.key, v.i.Redis.Type(ctx, k.key), t, -1); err != nil {
			return err
		}
	}
	err := v.policy(ctx, t)
	if err != nil {
		return err
	}
	if err := v.noted(ctx, t); err != nil {
		return err
	}
	// A new topic is listed a moment after its definition was written.
	for end := time.Now().Add(time.Second); !listed; {
		if listed, err = v.i.Redis.SIsMember(ctx, protocol.TopicsKey, v.i.Qualified(t.Name)).Result(); redis.HasErrorPrefix(err, "WRONGTYPE") {
			return nil // reported already
		} else if err != nil {
			return ask.At(protocol.TopicsKey, v.i.Explain(err))
		}
		if time.Now().After(end) {
			v.add(Violation{Topic: t.Name, Slot: -1, Rule: "LISTED", Key: protocol.TopicsKey, Detail: "the topic is not in it"})
			return nil
		}
		if !wait.Sleep(ctx, 50*time.Millisecond) {
			return ctx.Err()
		}
	}
	return nil
}

// policy looks at the limit of a topic.
func (v *verification) policy(ctx context.Context, t ask.Topic) error {
	key := protocol.PolicyKey(v.i.Qualified(t.Name))
	fields := []string{"rate", "concurrency", "until"}
	values, err := v.i.Redis.HMGet(ctx, key, fields...).Result()
	switch {
	case redis.HasErrorPrefix(err, "WRONGTYPE"):
		v.add(Violation{Topic: t.Name, Slot: -1, Rule: "TYPES", Key: key, Detail: "is not a hash"})
	case err != nil:
		return ask.At(key, v.i.Explain(err))
	default:
		if odd := policyOdd(values); odd != "" {
			v.add(Violation{Topic: t.Name, Slot: -1, Rule: "POLICY", Key: key, Detail: odd})
		}
	}
	return nil
}

// auditPage is how many contents are looked at in one call. The server does nothing else
// meanwhile. Of why it begins with few, as it is not known how long they are.
const (
	auditPage = 100
	whyFirst  = 4
)

// slot looks at one slot.
func (v *verification) slot(ctx context.Context, t ask.Topic, slot int) error {
	keys := v.i.Keys(t.Name, slot)
	audit := func(part byhand.Part, from string, count int) (*byhand.Audit, error) {
		a, err := byhand.ReadAudit(ctx, v.i.Redis, keys, part, from, count)
		if err != nil {
			return nil, v.i.Explain(err)
		}
		a.Priority, a.Literal = !t.Kind.Timed(), t.Literal
		for _, b := range a.Violations() {
			v.add(Violation{Topic: t.Name, Slot: slot, Rule: b.Rule, Key: b.Key, Content: b.Content, Detail: b.Detail})
		}
		return a, nil
	}
	sizes := [5]int{1} // the first call returns them
	for n, part := range []struct {
		byhand.Part
		size  int // its place among the sizes
		score func(*byhand.Entry) string
	}{
		{byhand.PartStore, 0, func(e *byhand.Entry) string { return e.Store }},
		{byhand.PartRetry, 2, func(e *byhand.Entry) string { return e.Retry }},
		{byhand.PartDead, 3, func(e *byhand.Entry) string { return e.Dead }},
	} {
		w := pages.NewWalk("", math.Inf(-1), math.Inf(1), false, auditPage-1)
		w.Over = sizes[part.size] == 0
		for !w.Over {
			a, err := audit(part.Part, strconv.Itoa(w.From), auditPage)
			if err != nil {
				return err
			}
			if a.Now == 0 { // a key of a wrong type: there is no more
				return nil
			}
			if n == 0 {
				sizes = a.Sizes
			}
			page := make([]pages.Member, len(a.Entries))
			for n := range a.Entries {
				e := &a.Entries[n]
				page[n].Content = e.Content
				page[n].Score, _ = strconv.ParseFloat(part.score(e), 64)
			}
			next := "" // a score below which nothing follows
			if a.Next != "0" {
				next = part.score(&a.Entries[len(page)-1])
			}
			w.Take(page, next)
		}
	}
	if sizes[4] == 0 {
		return nil
	}
	return whys(audit)
}

// whys looks at all entries of why of a slot.
func whys(audit func(part byhand.Part, from string, count int) (*byhand.Audit, error)) error {
	for cursor, count := "0", whyFirst; ; {
		a, err := audit(byhand.PartWhy, cursor, count)
		if err != nil {
			return err
		}
		bytes := 0
		for _, e := range a.Entries {
			bytes += len(e.Content) + len(e.Why)
		}
		switch {
		case bytes > pages.PageBytes/2:
			count = max(1, count/2)
		case bytes < pages.PageBytes/8:
			count = min(auditPage, 2*count)
		}
		if cursor = a.Next; cursor == "0" {
			return nil
		}
	}
}
