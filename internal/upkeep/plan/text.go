package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/message"
)

// stored is a rule as it is stored, with its times in ms. The name is not in it: it is the field of
// the hash.
type stored struct {
	Content   words.Text `json:"content"`
	SlotBasis words.Text `json:"slot_basis,omitempty"`
	Priority  int64      `json:"priority,omitempty"`
	Cron      string     `json:"cron,omitempty"`
	Zone      string     `json:"zone,omitempty"`
	Delay     int64      `json:"delay,omitempty"`
	Period    int64      `json:"period,omitempty"`
	Repeat    int        `json:"repeat,omitempty"`
	From      int64      `json:"from,omitempty"`
	Until     int64      `json:"until,omitempty"`
	Missed    string     `json:"missed,omitempty"` // left out for MissedOnce
}

// Text is the rule as it is stored: JSON in one line. The same rule has the same text each time, so
// it tells whether a rule was changed.
func (r *Rule) Text() string {
	m := r.message
	s := stored{
		Content: words.Text(m.Content), SlotBasis: words.Text(m.SlotBasis), Priority: m.Priority,
		Cron: m.Cron, Zone: m.Zone, Delay: r.delay, Period: r.period, Repeat: m.Repeat,
		From: r.from,
	}
	if !m.Until.IsZero() {
		s.Until = r.until
	}
	if m.Missed != message.MissedOnce {
		s.Missed = m.Missed.String()
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic("plan: " + err.Error()) // never: texts and numbers can always be written
	}
	return string(text)
}

// Read reads the rule of a plan from its text. A field that it does not know is an error: a newer
// program has written it, and to send at a wrong time would be worse than to send nothing.
func Read(name, text string) (*Rule, error) {
	s, err := decode(text)
	var r *Rule
	if err == nil {
		r, err = s.open(name)
	}
	if err != nil {
		return nil, fmt.Errorf("read the rule of plan %q: %w", name, err)
	}
	return r, nil
}

func decode(text string) (s stored, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return s, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return s, errors.New("something follows its JSON")
	}
	return s, nil
}

func (s *stored) open(name string) (*Rule, error) {
	if s.Content == "" {
		return nil, checked.Invalid("Content", "empty", "what is to be sent")
	}
	m := message.Recurring{
		Name: name, Content: string(s.Content), SlotBasis: string(s.SlotBasis), Priority: s.Priority,
		Cron: s.Cron, Zone: s.Zone, Repeat: s.Repeat,
		Delay: time.Duration(s.Delay) * time.Millisecond, Period: time.Duration(s.Period) * time.Millisecond,
	}
	if s.From != 0 {
		m.From = time.UnixMilli(s.From)
	}
	if s.Until != 0 {
		m.Until = time.UnixMilli(s.Until)
	}
	if s.Missed != "" {
		var known bool
		if m.Missed, known = message.ParseMissed(s.Missed); !known {
			return nil, checked.Invalid("Missed", checked.Quote(s.Missed), "once or skip")
		}
	}
	return open(m)
}
