// Package definition keeps one topic from being two things: it writes a
// topic's definition where there is none and compares it where there is one.
// Producers and consumers both ask it, and do not know each other. It does not
// remember anything: when to ask again is theirs to decide.
//
// # Notes is a part of the layout
//
// Notes is a part of the layout in the definition, and has no field of its own: programs that know no notes refuse the
// topic by the comparison that they have, and no second field can contradict it.
package definition

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/diff"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/message"
)

// The ways of sharing slots among workers. Mixing them on one topic is
// unsafe: each would take the other's live workers for dead.
const (
	SharingRedis     = "redis"
	SharingZooKeeper = "zookeeper"
)

// Sharing is how a worker shares slots. The zero value is a producer's, who does
// not care.
type Sharing struct {
	Way string

	// Tree is the id of the tree in ZooKeeper. Workers of two trees would take each
	// other for dead just as if they mixed the ways. Empty while it is not known.
	Tree string
}

// Full fills in the zero fields of a topic, as they are for a new one.
func Full(t message.Topic) message.Topic {
	if t.Slots == 0 {
		t.Slots = limits.DefaultSlots
	}
	return t
}

// Listened is a topic, and how late a message may be that its listeners handle; 0: however late it is.
type Listened struct {
	message.Topic
	MaxLate time.Duration
}

// Agree writes or compares the definition of topic t under its qualified name, and
// returns t with all its fields: where it leaves Slots open, the number is the one
// the topic has. A difference is message.ErrTopicConflict and says which field
// differs.
func Agree(ctx context.Context, s *protocol.Scripts, name string, t message.Topic, by Sharing) (message.Topic, error) {
	full, err := AgreeLate(ctx, s, name, t, by)
	return full.Topic, err
}

// AgreeLate is Agree, and returns what the topic's listeners have told of themselves.
func AgreeLate(ctx context.Context, s *protocol.Scripts, name string, t message.Topic, by Sharing) (Listened, error) {
	full, errs := AgreeAll(ctx, s, []string{name}, []Listened{{Topic: t, MaxLate: -1}}, by) // nobody listens here
	return full[0], errs[0]
}

// AgreeAll is AgreeLate for several topics, in few round trips. A worker tells what its listeners do.
func AgreeAll(ctx context.Context, s *protocol.Scripts, names []string, topics []Listened, by Sharing) (full []Listened, errs []error) {
	full = make([]Listened, len(topics))
	wants := make([]protocol.Definition, len(topics))
	for i, t := range topics {
		t.Topic = Full(t.Topic)
		full[i], wants[i] = t, of(t.Topic)
		wants[i].Sharing, wants[i].Tree, wants[i].MaxLate = by.Way, by.Tree, t.MaxLate
		if !t.Kind.Timed() || t.Kind.FirstWins() { // the only one that is sent for a time that may have passed; to tell costs a write
			wants[i].MaxLate = -1
		}
		wants[i].Namespace = strings.TrimSuffix(strings.TrimSuffix(names[i], t.Name), ":")
	}
	held, errs := s.Define(ctx, names, wants)
	for i, h := range held {
		if errs[i] != nil {
			continue
		}
		if open := topics[i].Slots == 0; open && h.Slots != full[i].Slots && h.Slots > 0 {
			// The topic was defined with another number. The script fills in what a
			// definition leaves open only for who agrees with the rest, so it is asked
			// once more, with that number.
			full[i].Slots = h.Slots
			one, err := AgreeAll(ctx, s, names[i:i+1], full[i:i+1], by)
			full[i], errs[i] = one[0], err[0]
			continue
		}
		full[i].MaxLate, errs[i] = h.MaxLate, compare(names[i], wants[i], h)
	}
	return full, errs
}

func of(t message.Topic) protocol.Definition {
	return protocol.Definition{Kind: t.Kind.String(), Slots: t.Slots, Literal: t.Literal, Notes: t.Notes, Layout: protocol.Layout}
}

// Compare compares a definition that is in Redis with that of a topic whose name is qualified. Who
// asks does not know which part of the name is a namespace.
func Compare(t message.Topic, held protocol.Definition) error {
	want := of(t)
	want.Open = true
	return compare(t.Name, want, held)
}

// Leave writes the definition of a topic whose name is qualified, unless it has one, and compares. The namespace
// it leaves to the first program that knows it.
func Leave(ctx context.Context, s *protocol.Scripts, t message.Topic) error {
	want := of(t)
	want.Open = true
	held, errs := s.Define(ctx, []string{t.Name}, []protocol.Definition{want})
	if errs[0] != nil {
		return errs[0]
	}
	return compare(t.Name, want, held[0])
}

// compare returns an error that names the fields in which the wanted definition differs
// from the stored one.
func compare(name string, want, held protocol.Definition) error {
	fields := diff.Fields{In: "Redis"}
	if !want.Open {
		fields.Compare("name", split(name, want.Namespace), split(name, held.Namespace)) // else both would have one set of keys
	}
	fields.Compare("Kind", want.Kind, held.Kind)
	fields.Compare("Slots", want.Slots, held.Slots)
	fields.Compare("Literal", want.Literal, held.Literal)
	fields.Compare("Notes", want.Notes, held.Notes)
	fields.Compare("layout version", want.Layout, held.Layout)
	if want.Sharing != "" && held.Sharing != "" { // it stays open while the rest differs
		fields.Compare("sharing of slots", want.Sharing, held.Sharing)
	}
	if want.Tree != "" && held.Tree != "" && want.Sharing == held.Sharing {
		fields.Compare("tree in ZooKeeper (another ensemble, Root or Namespace)", want.Tree, held.Tree)
	}
	return fields.Err(name, message.ErrTopicConflict)
}

// split writes a qualified name by its parts.
func split(name, namespace string) string {
	if namespace == "" {
		return strconv.Quote(name) + " without a namespace"
	}
	return fmt.Sprintf("%q in namespace %q", strings.TrimPrefix(name, namespace+":"), namespace)
}
