package messages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/text/story"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

// Commands are those about messages.
var Commands = []frame.Command{peek, explain, send, cancel, reschedule, purge}

var send = frame.Command{
	Use:   "send TOPIC [CONTENT]",
	Short: "Send a message, or many from a file",
	Long: `Send a message. By the kind of its topic it needs
  range-merge  --range      it is handled so long after its first send; or with
                            --extend after its last, and so long as --ceiling
                            after the first at the latest
  priority     --priority   17 or more, the larger the earlier
  fixed-time   --at or --in, which is by the clock of the Redis server
The CONTENT - is read from stdin, to its last byte. With --unique, equal ones
that are sent so within that time are duplicates, also after it was handled. In
topics with notes a message may have a --ttl and headers.

A topic that is new is defined by --kind, --slots, --literal and --notes, for
ever.

--batch sends the lines of a file, or of stdin if it is -, each a JSON object:
  {"content": "order 4711", "priority": 500, "basis": "customer 12"}
  {"content_base64": "AAEC", "range": "10m"}
  {"content": "page 12", "range": "2s", "extend": true, "ceiling": "30s"}
  {"content": "mail 12", "in": "90s"}
  {"content": "mail 13", "at": "2040-01-31T15:04:05Z"}
  {"content": "offer 7", "in": "1m", "ttl": "1h", "headers": {"shop": "Rome"}}
What a line does not say is as in the flags. Lines of rmq dead export do, too,
but go to the slots of their contents, since their basis is not known any more.
Lines are sent when 500 have come, or none for a moment.`,
	Example: `  rmq send orders "order 4711" --priority 500 --basis "customer 12"
  rmq send prices "price of 4711" --range 10m
  rmq send edits "page 12" --range 2s --extend --ceiling 30s
  rmq send mails "mail 12" --in 2h
  rmq send mails "mail 13" --in 2h --kind fixed-time
  rmq send offers "offer 7" --in 1m --ttl 1h --header shop=Rome
  rmq send orders "report 4711" --priority 100 --unique 1d
  rmq send orders --batch orders.jsonl`,
	Changes: true,
	Tells:   true,
	Flags: func(flags *frame.Flags) frame.Steps {
		s := &sending{}
		s.add(flags)
		return frame.Steps{s.check, frame.Connect, s.define, s.run}
	},
}

// sending is one call of rmq send.
type sending struct {
	Sender

	kind, basis, batch              string
	merge, ceiling, in, unique, ttl frame.Span
	at                              frame.Instant
	priority                        int64
	headers                         []string
	slots, fromLine                 int
	extend, literal, notes          bool
}

// kindNames are the kinds, as they are written.
var kindNames = func() (names []string) {
	for _, kind := range message.Kinds() {
		names = append(names, kind.String())
	}
	return names
}()

func (s *sending) add(flags *frame.Flags) {
	flags.StringVar(&s.basis, "basis", "", "`SlotBasis`: messages of equal ones are handled one at a time; the content unless it is given")
	flags.Var(&s.merge, "range", "range-merge: handled so long after the first send, as in 10m")
	flags.BoolVar(&s.extend, "extend", false, "range-merge: each send moves it to its --range after this send, up to the --ceiling")
	flags.Var(&s.ceiling, "ceiling", "range-merge: handled so long after the first send at the latest, as in 30s")
	flags.Int64Var(&s.priority, "priority", 0, "priority: `n`, 17 or more")
	flags.Var(&s.at, "at", "fixed-time: handled then, as in 2040-01-31T15:04:05Z, or now if that has passed")
	flags.Var(&s.in, "in", "fixed-time: handled in so long, as in 90s or 2d")
	flags.Var(&s.unique, "unique", "equal ones that are sent so in so long are duplicates, and nothing of them is stored, as in 1d")
	flags.Var(&s.ttl, "ttl", "topics with notes: not handled any more so long after the send, as in 1h")
	flags.StringArrayVar(&s.headers, "header", nil, "topics with notes: a header of the message, as `name=value`; may be repeated")
	flags.StringVar(&s.kind, "kind", "", "define the topic: `kind` of its messages, "+words.Alternatives(kindNames))
	flags.IntVar(&s.slots, "slots", limits.DefaultSlots, "define the topic: `n` slots, a power of two")
	flags.BoolVar(&s.literal, "literal", false, "define the topic: failures come back without waiting")
	flags.BoolVar(&s.notes, "notes", false, "define the topic: messages may have a time to live and headers")
	flags.StringVar(&s.batch, "batch", "", "send the lines of a `file`, or - for stdin")
	flags.IntVar(&s.fromLine, "from-line", 1, "begin with line `n` of the batch")
	flags.Complete("kind", kindNames)
}

func (s *sending) check(_ context.Context, c *frame.Call) error {
	if (len(c.Args) == 2) == (s.batch != "") {
		return frame.Misused("send needs either a CONTENT or --batch FILE: %s", c.UsageLine())
	}
	return nil
}

func (s *sending) run(ctx context.Context, c *frame.Call) error {
	if s.batch != "" {
		return s.sendBatch(ctx)
	}
	p, err := s.draft()
	if err != nil {
		return err
	}
	if p.Content, err = s.read(ctx, c.Args[1]); err != nil {
		return err
	}
	m, err := p.Message(s.To)
	if err != nil {
		return frame.Misused("%w", frame.ByFlag(err))
	}
	return frame.ByFlag(s.Send(ctx, p, m))
}

// define finds out how the topic is defined, or is to be.
func (s *sending) define(ctx context.Context, c *frame.Call) error {
	s.Call = c
	t, err := c.Inspector.Topic(ctx, c.Args[0])
	s.To = t.Topic
	switch {
	case errors.Is(err, inspector.ErrUnknownTopic) && s.kind == "":
		return frame.Failed("%w; to define it, say --kind %s", err, words.Alternatives(kindNames))
	case errors.Is(err, inspector.ErrUnknownTopic):
		s.To.Name = c.Args[0]
	case err != nil:
		return err
	}
	if s.kind != "" {
		kind, known := message.ParseKind(s.kind)
		if !known {
			return frame.Misused("--kind is %q, not %s", s.kind, words.Alternatives(kindNames))
		}
		s.To.Kind = kind
	}
	if err == nil {
		if err := s.compare(t.Topic, s.To.Kind); err != nil {
			return err
		}
	}
	// The producer compares what is said here with the definition once more.
	if c.Changed("slots") || s.To.Slots == 0 {
		s.To.Slots = s.slots
	}
	s.To.Literal = s.To.Literal || s.literal
	s.To.Notes = s.To.Notes || s.notes
	return nil
}

// compare says which flag differs from the topic's definition. It comes before the check of
// the message, which would be about another topic.
func (s *sending) compare(t message.Topic, kind message.Kind) error {
	for _, f := range []struct {
		flag    string
		differs bool
		topic   string
	}{
		{"kind", kind != t.Kind, fmt.Sprintf("is a %s topic, not %s", t.Kind, kind)},
		{"slots", s.slots != t.Slots, fmt.Sprintf("has %s, not %d", words.Count(t.Slots, "slot"), s.slots)},
		{"literal", s.literal != t.Literal, map[bool]string{true: "is literal", false: "is not literal"}[t.Literal]},
		{"notes", s.notes != t.Notes, map[bool]string{true: "has notes", false: "has no notes"}[t.Notes]},
	} {
		if f.differs && s.Changed(f.flag) {
			return frame.Failed("%s %s; leave --%s away", words.Legible(t.Name), f.topic, f.flag)
		}
	}
	return nil
}

// draft is what the flags say.
func (s *sending) draft() (wire.Draft, error) {
	span := func(flag string, value *frame.Span) *time.Duration {
		return given(s.Call, flag, (*time.Duration)(value))
	}
	p := wire.Draft{
		Basis: s.basis, Extend: s.extend, Priority: given(s.Call, "priority", &s.priority), At: given(s.Call, "at", &s.at.Time), In: span("in", &s.in),
		Range: span("range", &s.merge), Ceiling: span("ceiling", &s.ceiling), Unique: span("unique", &s.unique), TTL: span("ttl", &s.ttl),
	}
	for _, header := range s.headers {
		name, value, found := strings.Cut(header, "=")
		if !found {
			return p, frame.Misused("--header is %q, not name=value", header)
		}
		if p.Headers == nil {
			p.Headers = map[string]string{}
		}
		p.Headers[name] = value
	}
	return p, nil
}

// given is the value of a flag that was given, and else nil.
func given[T any](c *frame.Call, flag string, value *T) *T {
	if !c.Changed(flag) {
		return nil
	}
	return value
}

// read is a CONTENT of the command line, or stdin.
func (s *sending) read(ctx context.Context, arg string) (string, error) {
	if arg != "-" {
		return s.ReadContent(arg)
	}
	most := int64(longestContent)
	if s.Base64 {
		most *= 2 // with the ends of its lines
	}
	var failed error
	all, err := frame.Await(ctx, func() []byte {
		var all []byte
		all, failed = io.ReadAll(io.LimitReader(s.In, most+1))
		return all
	})
	if err == nil {
		err = failed
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("read the content from stdin: %w", err)
	case s.Base64:
		return s.ReadContent(strings.Join(strings.Fields(string(all)), "")) // as base64 breaks its lines
	}
	return string(all), nil
}

// Sender sends to a topic, and shows the receipt.
type Sender struct {
	*frame.Call
	To message.Topic
}

// Send sends a message, which is the draft in a topic of its kind.
func (s *Sender) Send(ctx context.Context, p wire.Draft, m message.Message) error {
	to, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer to.Close(context.WithoutCancel(ctx)) // when all sends have been answered
	receipt, err := to.Send(ctx, s.To, m)
	if err != nil {
		return err
	}
	return s.report(ctx, p, receipt)
}

// longestContent is the limit of all producers. A program has a MaxContent of its own, which
// is not known here, and rmq must accept every content that a program may have sent.
const longestContent = limits.ContentBytes

func (s *Sender) open(ctx context.Context) (*producer.Producer, error) {
	return s.Producer(ctx, producer.Config{ExactReceipts: true, MaxContent: longestContent, Logger: zap.NewNop()})
}

type receiptJSON struct {
	Topic string `json:"topic"`
	wire.Shown
	wire.Receipt
	Priority int64 `json:"priority,omitempty"`
}

// report prints the receipt.
func (s *Sender) report(ctx context.Context, p wire.Draft, r producer.Receipt) error {
	j := receiptJSON{Topic: s.To.Name, Shown: s.Shown(p.Content), Receipt: wire.ReceiptOf(r)}
	duplicate := r.Outcome == producer.Duplicate // then nothing was stored
	switch k := s.To.Kind; {
	case !k.Timed():
		if !duplicate {
			j.Priority = *p.Priority
		}
	case k.FirstWins() && r.Outcome == producer.Merged && !p.Extend: // it kept its first time
		j.Due = wire.At(s.dueOf(ctx, p, r.Slot))
	}
	if s.JSON {
		return s.Object(j)
	}
	line := fmt.Sprintf("%s in slot %d of %s", r.Outcome, r.Slot, words.Legible(s.To.Name))
	switch {
	case duplicate:
		line += ": an equal one was sent within its time, so this one was not"
	case j.Priority > 0:
		line += fmt.Sprintf(", priority %d", j.Priority)
	case j.Past:
		line += fmt.Sprintf(", due now, past its time (%s)", frame.Moment(j.Due.Time))
	case !j.Due.IsZero():
		in := "due" // if the time cannot be read; the message was sent all the same
		if now, err := s.Time(ctx); err == nil {
			in = story.Until(j.Due.Time, now)
		}
		line += fmt.Sprintf(", %s (%s)", in, frame.Moment(j.Due.Time))
	}
	s.Say("%s", line)
	return nil
}

// dueOf is when a message is due that waits, and zero if it has been taken since.
func (s *Sender) dueOf(ctx context.Context, p wire.Draft, slot int) time.Time {
	found, err := s.Inspector.Explain(ctx, s.To.Name, p.Content, p.Basis)
	if err != nil {
		return time.Time{} // it was sent all the same
	}
	for _, e := range found {
		if e.Slot == slot && e.Waiting != nil {
			return e.Waiting.Due
		}
	}
	return time.Time{}
}
