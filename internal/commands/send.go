package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/limits"
	"github.com/slotmq/go-rmq/internal/story"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

// sending is one call of rmq send.
type sending struct {
	*app
	cmd  *cobra.Command
	args []string

	basis    string
	merge    span
	extend   bool
	ceiling  span
	in       span
	at       instant
	priority int64
	unique   span
	ttl      span
	headers  []string
	kind     string
	slots    int
	literal  bool
	notes    bool
	batch    string
	fromLine int

	inspector *inspector.Inspector
	producer  *producer.Producer
	topic     message.Topic
}

func (a *app) sendCommand() *cobra.Command {
	s := &sending{app: a}
	cmd := &cobra.Command{
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
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s.cmd, s.args = cmd, args
		if (len(args) == 2) == (s.batch != "") {
			return misused("send needs either a CONTENT or --batch FILE: %s", usageLine(cmd))
		}
		return s.run(cmd.Context())
	}
	flags := cmd.Flags()
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
	flags.IntVar(&s.slots, "slots", message.DefaultSlots, "define the topic: `n` slots, a power of two")
	flags.BoolVar(&s.literal, "literal", false, "define the topic: failures come back without waiting")
	flags.BoolVar(&s.notes, "notes", false, "define the topic: messages may have a time to live and headers")
	flags.StringVar(&s.batch, "batch", "", "send the lines of a `file`, or - for stdin")
	flags.IntVar(&s.fromLine, "from-line", 1, "begin with line `n` of the batch")
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(kindNames, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return cmd
}

func (s *sending) run(ctx context.Context) error {
	var err error
	if s.inspector, err = s.app.inspector(ctx); err != nil {
		return err
	}
	if s.topic, err = s.define(ctx); err != nil {
		return err
	}
	closed, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer closed()
	if s.batch != "" {
		return s.sendBatch(ctx)
	}
	return s.sendOne(ctx)
}

// open makes the producer. closed closes it, when all sends have been answered.
func (s *sending) open(ctx context.Context) (closed func(), err error) {
	cfg := producer.Config{Namespace: s.space(), Journal: s.toTell(), ExactReceipts: true, MaxContent: longestContent, Logger: zap.NewNop()}
	s.producer, err = producer.New(s.rdb, cfg)
	return func() { _ = s.producer.Close(context.WithoutCancel(ctx)) }, err
}

// define is the topic as it is defined, or as it is to be.
func (s *sending) define(ctx context.Context) (message.Topic, error) {
	t, err := s.inspector.Topic(ctx, s.args[0])
	switch {
	case errors.Is(err, inspector.ErrUnknownTopic) && s.kind == "":
		return message.Topic{}, failed("%w; to define it, say --kind %s", err, words.Alternatives(kindNames))
	case errors.Is(err, inspector.ErrUnknownTopic):
		t.Name = s.args[0]
	case err != nil:
		return message.Topic{}, err
	}
	topic, changed := t.Topic, s.cmd.Flags().Changed
	known := err == nil
	if s.kind != "" {
		if topic.Kind, err = parseKind(s.kind); err != nil {
			return topic, misused("--kind is %q, %w", s.kind, err)
		}
	}
	if known {
		if err := s.compare(t.Topic, topic.Kind); err != nil {
			return topic, err
		}
	}
	// The producer compares what is said here with the definition once more.
	if changed("slots") || topic.Slots == 0 {
		topic.Slots = s.slots
	}
	if changed("literal") {
		topic.Literal = s.literal
	}
	if changed("notes") {
		topic.Notes = s.notes
	}
	return topic, nil
}

// compare says which flag is not as the topic is defined. It comes before what is said of the
// message, which would be about another topic.
func (s *sending) compare(t message.Topic, kind message.Kind) error {
	name, changed := words.Legible(t.Name), s.cmd.Flags().Changed
	switch {
	case kind != t.Kind:
		return failed("%s is a %s topic, not %s; leave --kind away", name, t.Kind, kind)
	case changed("slots") && s.slots != t.Slots:
		return failed("%s has %s, not %d; leave --slots away", name, words.Count(t.Slots, "slot"), s.slots)
	case changed("literal") && s.literal != t.Literal:
		is := "is not literal"
		if t.Literal {
			is = "is literal"
		}
		return failed("%s %s; leave --literal away", name, is)
	case changed("notes") && s.notes != t.Notes:
		has := "has no notes"
		if t.Notes {
			has = "has notes"
		}
		return failed("%s %s; leave --notes away", name, has)
	}
	return nil
}

// given is what the flags say.
func (s *sending) given() (wire.Draft, error) {
	p, changed := wire.Draft{Basis: s.basis, Extend: s.extend}, s.cmd.Flags().Changed
	if changed("range") {
		p.Range = (*time.Duration)(&s.merge)
	}
	if changed("ceiling") {
		p.Ceiling = (*time.Duration)(&s.ceiling)
	}
	if changed("in") {
		p.In = (*time.Duration)(&s.in)
	}
	if changed("at") {
		p.At = &s.at.Time
	}
	if changed("priority") {
		p.Priority = &s.priority
	}
	if changed("unique") {
		p.Unique = (*time.Duration)(&s.unique)
	}
	if changed("ttl") {
		p.TTL = (*time.Duration)(&s.ttl)
	}
	for _, header := range s.headers {
		name, value, found := strings.Cut(header, "=")
		if !found {
			return p, misused("--header is %q, not name=value", header)
		}
		if p.Headers == nil {
			p.Headers = map[string]string{}
		}
		p.Headers[name] = value
	}
	return p, nil
}

func (s *sending) sendOne(ctx context.Context) error {
	p, err := s.given()
	if err != nil {
		return err
	}
	if p.Content, err = s.read(ctx, s.args[1]); err != nil {
		return err
	}
	m, err := p.Message(s.topic)
	if err != nil {
		return misused("%w", byFlag(err))
	}
	receipt, err := s.producer.Send(ctx, s.topic, m)
	if err != nil {
		return byFlag(err)
	}
	return s.report(ctx, p, receipt)
}

// longestContent is the limit of all producers. A program has a MaxContent of its own, which
// is not known here, and rmq must accept every content that a program may have sent.
const longestContent = limits.ContentBytes

// read is a CONTENT of the command line, or stdin. A read from a terminal or a pipe does not
// end with ctx by itself.
func (s *sending) read(ctx context.Context, arg string) (string, error) {
	if arg != "-" {
		return s.content(arg)
	}
	most := int64(longestContent)
	if s.base64 {
		most *= 2 // with the ends of its lines
	}
	type input struct {
		all []byte
		err error
	}
	come := make(chan input, 1)
	go func() { // ends with the process, if nothing comes
		all, err := io.ReadAll(io.LimitReader(s.app.in, most+1))
		come <- input{all, err}
	}()
	var got input
	select {
	case got = <-come:
	case <-ctx.Done():
		got.err = ctx.Err()
	}
	switch {
	case got.err != nil:
		return "", fmt.Errorf("read the content from stdin: %w", got.err)
	case s.base64:
		return s.content(strings.Join(strings.Fields(string(got.all)), "")) // as base64 breaks its lines
	}
	return string(got.all), nil
}

type receiptJSON struct {
	Topic string `json:"topic"`
	wire.Shown
	wire.Receipt
	Priority int64 `json:"priority,omitempty"`
}

// report prints the receipt.
func (s *sending) report(ctx context.Context, p wire.Draft, r producer.Receipt) error {
	j := receiptJSON{Topic: s.topic.Name, Shown: s.shown(p.Content), Receipt: wire.ReceiptOf(r)}
	duplicate := r.Outcome == producer.Duplicate // then nothing was stored
	switch k := s.topic.Kind; {
	case !k.Timed():
		if !duplicate {
			j.Priority = *p.Priority
		}
	case k.FirstWins() && r.Outcome == producer.Merged && !p.Extend: // it kept its first time
		j.Due = wire.At(s.dueOf(ctx, p, r.Slot))
	}
	if s.json {
		return s.object(j)
	}
	line := fmt.Sprintf("%s in slot %d of %s", r.Outcome, r.Slot, words.Legible(s.topic.Name))
	switch {
	case duplicate:
		line += ": an equal one was sent within its time, so this one was not"
	case j.Priority > 0:
		line += fmt.Sprintf(", priority %d", j.Priority)
	case j.Past:
		line += fmt.Sprintf(", due now, past its time (%s)", moment(j.Due.Time))
	case !j.Due.IsZero():
		in := "due" // if the time cannot be read; the message was sent all the same
		if now, err := s.now(ctx); err == nil {
			in = story.Until(j.Due.Time, now)
		}
		line += fmt.Sprintf(", %s (%s)", in, moment(j.Due.Time))
	}
	s.say("%s", line)
	return nil
}

// dueOf is when a message is due that waits, and zero if it has been taken since.
func (s *sending) dueOf(ctx context.Context, p wire.Draft, slot int) time.Time {
	found, err := s.inspector.Explain(ctx, s.topic.Name, p.Content, p.Basis)
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
