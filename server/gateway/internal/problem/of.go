package problem

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/poll"
	"github.com/slotmq/go-rmq/producer"
)

// Soon is when to ask again while Redis is away, for an unknown time.
const Soon = time.Second

// Of says what an error means to who asks a gateway, which may be stopping.
func Of(err error, stopping bool) *Problem {
	var p *Problem
	var wrong *message.InvalidError
	var field *wire.FieldError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &wrong):
		return Invalid(fieldName(wrong.Field), wrong.Value, inJSON(wrong.Limit))
	case errors.As(err, &field):
		return about(Shorten(field.Field), field.Value, field.Limit, New("invalid", "%s", Plain(field)))
	case is(err, poll.ErrReceipt):
		return Invalid("receipt", "another text", "the receipt of a take, whole and unchanged")
	case is(err, inspector.ErrUnknownTopic, poll.ErrUnknownTopic):
		return UnknownTopic(Plain(err))
	case is(err, message.ErrTopicConflict, poll.ErrZooKeeper, inspector.ErrNotWaiting, inspector.ErrSeveral):
		return New("conflict", "%s", Plain(err))
	case is(err, producer.ErrUncertain, poll.ErrUncertain):
		p = NotNow("unavailable", Soon, "%s", Plain(err))
		p.Uncertain = true
		return p
	case is(err, producer.ErrQueueFull):
		return NotNow("queue-full", Soon, "%s", Plain(err))
	case is(err, poll.ErrTooMany):
		return NotNow("too-many", Soon, "%s", Plain(err))
	}
	return unavailable(err, stopping)
}

// unavailable says why something cannot be done now.
func unavailable(err error, stopping bool) *Problem {
	text, after := Plain(err), Soon
	switch {
	case stopping, is(err, message.ErrClosed):
		text = "this gateway is being stopped, and another one answers"
	case redis.HasErrorPrefix(err, "OOM"):
		text, after = "Redis is full: it needs more memory, or fewer messages: "+text, 10*time.Second
	case redis.HasErrorPrefix(err, "NOPERM"):
		after = 0
	case (cluster.Unanswered(err) || is(err, context.DeadlineExceeded)) && !strings.Contains(text, "Redis does not answer"):
		text = "Redis does not answer: " + text
	}
	return NotNow("unavailable", after, "%s", text)
}

func is(err error, some ...error) bool {
	return slices.ContainsFunc(some, func(one error) bool { return errors.Is(err, one) })
}

// UnknownTopic is a topic that there is not.
func UnknownTopic(what string) *Problem {
	return New("unknown-topic", `%s; a new topic needs a kind, once: {"kind": "priority"}, "range-merge" or "fixed-time", beside the content or the messages of a send, or by PUT /v1/topics/TOPIC`, what)
}

// Plain is the text of an error, of bounded length. It does not say where servers are: that is in the log.
func Plain(err error) string {
	text := lookup.ReplaceAllString(address.ReplaceAllString(err.Error(), "$1: "), "lookup: ")
	return Shorten(server.ReplaceAllString(text, "does not answer$1"))
}

// Addresses in errors of package net, and of internal/servers/silence.
var (
	server  = regexp.MustCompile(`\bdoes not answer at .+?(: | within )`)
	address = regexp.MustCompile(`\b(dial|read|write) (?:tcp|unix)(?: [^ ]+)?: `)
	lookup  = regexp.MustCompile(`\blookup [^ ]+(?: on [^ ]+)?: `)
)

// fieldNames are those of JSON, where they are not those of Go in small letters.
var fieldNames = map[string]string{
	"SlotBasis":  "basis",
	"Topic.Name": "topic",
	"MaxLate":    "max_late",
	"slot":       "slots",
	"OlderThan":  "died_before",
	"FixedTime":  "fixed-time message",

	"the time of Later":                "in",
	"the time until the next delivery": "in",
}

// fieldName is the name in JSON of a field that an error of the library names.
func fieldName(field string) string {
	if is, known := fieldNames[field]; known {
		return is
	}
	name := field[strings.LastIndexAny(field, ".")+1:]
	if is, known := fieldNames[name]; known {
		return is
	}
	return strings.ToLower(strings.TrimPrefix(name, "the "))
}

// goNames are those of fields of messages and topics, as errors of the library write them.
var goNames = regexp.MustCompile(`\b(Topic\.Notes|Notes|SlotBasis|Range|Extend|Ceiling|Priority|At|In|Unique|TTL|Headers|FixedTime)\b`)

// inJSON is a text of the library with the names that fields have in JSON.
func inJSON(text string) string { return goNames.ReplaceAllStringFunc(text, fieldName) }

// Inside is an error about a field of a part of what was asked.
func Inside(err error, part string) error {
	var p *Problem
	if !errors.As(err, &p) || p.Field == "" {
		return err
	}
	full := *p
	full.Field = part + "." + p.Field
	full.Detail = part + "." + p.Detail
	return &full
}
