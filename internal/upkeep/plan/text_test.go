package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/message"
)

// What stands in Redis does not change: a program of another day has to find its rule the same.
func TestText(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 1, 1, 0, 0, 0, 1, time.FixedZone("", 3600))
	for _, c := range []struct {
		m    message.Recurring
		want string
	}{
		{message.Recurring{Content: "report", Period: time.Second}, `{"content":"report","period":1000}`},
		{
			message.Recurring{
				Content: "report", SlotBasis: "reports", Cron: "0 3 * * *", Zone: "Europe/Berlin", Delay: time.Minute, Period: 10 * time.Second, Repeat: 4,
				From: from, Until: from.AddDate(1, 0, 0), Missed: message.MissedSkip,
			},
			`{"content":"report","slot_basis":"reports","cron":"0 3 * * *","zone":"Europe/Berlin","delay":60000,"period":10000,"repeat":4,` +
				`"from":1767222000001,"until":1798758000000,"missed":"skip"}`,
		},
		{message.Recurring{Content: "Ünï <&> \n\x00\u2028\"", Delay: time.Second}, `{"content":"Ünï \u003c\u0026\u003e \n\u0000\u2028\"","delay":1000}`},
		{message.Recurring{Content: "\xff\x00", SlotBasis: "\xfe", Delay: time.Millisecond + 1}, `{"content":{"base64":"/wA="},"slot_basis":{"base64":"/g=="},"delay":2}`},
	} {
		c.m.Name = "nightly"
		r, err := New(topic, c.m, maxContent)
		if err != nil {
			t.Fatal(err)
		}
		if r.Text() != c.want {
			t.Errorf("%s, not\n%s", r.Text(), c.want)
		}
		again, err := Read("nightly", r.Text())
		if err != nil {
			t.Fatal(err)
		}
		if again.Text() != c.want || again.Message() != r.Message() || again.Message().Name != "nightly" || again.Message().Content != c.m.Content {
			t.Errorf("%+v, not\n%+v", again.Message(), r.Message())
		}
	}
}

func TestTextOfPriority(t *testing.T) {
	t.Parallel()
	m := report()
	m.Period, m.Priority = time.Second, 4711
	r, err := New(message.Topic{Name: "t", Kind: message.KindPriority}, m, maxContent)
	if err != nil || r.Text() != `{"content":"report","priority":4711,"period":1000}` {
		t.Errorf("%v, %v", r, err)
	}
	if again, err := Read("nightly", r.Text()); err != nil || again.Message() != r.Message() {
		t.Errorf("%v, %v", again, err)
	}
}

// A rule that was read sends at the same times.
func TestReadTimes(t *testing.T) {
	t.Parallel()
	r := mustNew(t, message.Recurring{Cron: "0 2 * * *", Zone: "Europe/Berlin", Delay: time.Second, Period: time.Minute, Repeat: 2, From: base.AddDate(0, 0, 2), Until: base.AddDate(0, 0, 5)})
	again, err := Read("nightly", r.Text())
	if err != nil {
		t.Fatal(err)
	}
	if times := all(r, base, 100); len(times) != 9 {
		t.Errorf("%d times", len(times))
	} else {
		wantTimes(t, "read", all(again, base, 100), times)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                                     "EOF",
		`{"content":"x","period":1000,"n":1}`:  `unknown field "n"`,
		`{"content":"x","period":1000}{}`:      "something follows",
		`{"content":"x","period":1.5}`:         "period",
		`{"period":1000}`:                      "Content is empty",
		`{"content":{"base64":"*"},"delay":1}`: "base64",
		`{"content":"x","period":0}`:           "Delay",
		`{"content":"x","period":-1000}`:       "Period",
		`{"content":"x","cron":"0 3 * * *","zone":"Mars/Base"}`:    `Zone is "Mars/Base"`,
		`{"content":"x","cron":"0 3"}`:                             "five fields",
		`{"content":"x","delay":1,"missed":"twice"}`:               `Missed is "twice"`,
		`{"content":"x","cron":"* * * * *","delay":1,"repeat":-1}`: "Repeat",
	} {
		_, err := Read("nightly", text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), `read the rule of plan "nightly": `) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
