package commands

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/words"
)

// What tells old messages from new ones cannot be nothing: that would mean all of them.
func TestAges(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0", "0s", "0d", "999us", "0.0001s"} {
		if err := new(age).Set(text); err == nil || !strings.Contains(err.Error(), "less than 1ms") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"-1h", "", "65535d2000000h"} {
		if err := new(age).Set(text); err == nil {
			t.Errorf("%q is an age", text)
		}
	}
	if a := new(age); a.Set("1ms") != nil || a.String() != "1ms" || a.Type() != "duration" {
		t.Error(a)
	}
}

func TestInstants(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 1, 31, 15, 4, 5, 678_000_000, time.UTC)
	for _, text := range []string{
		"2026-01-31T15:04:05.678Z", "2026-01-31T16:04:05.678+01:00",
		moment(want), // as tables show it
		stampText(want),
	} {
		if got, err := humantime.ParseInstant(text); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if got, err := humantime.ParseInstant("2026-01-31"); err != nil || !got.Equal(time.Date(2026, 1, 31, 0, 0, 0, 0, time.Local)) {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{
		"", "now", "15:04", "1769871845678", "2026-13-01",
		"0001-01-01T00:00:00Z", "0001-01-01T00:00:00.0001Z", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59-01:00", "12026-01-31T00:00:00Z",
	} {
		if got, err := humantime.ParseInstant(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestPaces(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"100/s": "100/s", "100": "100/s", "5000/m": "5000/m", "30/m": "30/m", "20/h": "20/h", "0.5": "30/m", "7200/h": "2/s", "4/h": "4/h", "1000000": "1000000/s",
	} {
		var p pace
		if err := p.Set(text); err != nil || p.String() != want {
			t.Errorf("%s: %s, %v", text, &p, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "x", "100/x", "/s", "NaN", "Inf", "1e10", "1000001", "1/h", "100/s/s", "1e30/s", "-1e30/s", "1e999/s", "-0", "1e-300/h", "0/s"} {
		if err := new(pace).Set(text); err == nil {
			t.Errorf("%q is a rate", text)
		}
	}
}

func TestSlotLists(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"3": "3", "3,7": "3,7", "0-5": "0-5", "0-2,7, 9-10": "0-2,7,9-10", "65535": "65535", "4-4": "4"} {
		var l slotList
		if err := l.Set(text); err != nil || l.String() != want {
			t.Errorf("%s: %s, %v", text, &l, err)
		}
	}
	for _, text := range []string{"", "x", "-1", "3,", "5-3", "0-", "1-2-3", "0-65536", "3 7", "18446744073709551616", "-1-3", "0-18446744073709551615"} {
		if err := new(slotList).Set(text); err == nil {
			t.Errorf("%q are slots", text)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 4812: "4,812", 1_000_000: "1,000,000"} {
		if got := words.Grouped(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	if words.Count(1, "slot") != "1 slot" || words.Count(4812, "slot") != "4,812 slots" {
		t.Error(words.Count(1, "slot"), words.Count(4812, "slot"))
	}
}

// What is printed to go on with must mean the same to a shell.
func TestQuoted(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"", "orders", "order 4711", "it's", "a\nb", "*", "$HOME", "`x`", "a\\b", "\x01\xff", "--", "-x", " x ", "~", "é本", "'\n'", "\u202e", "a=b", "!x"} {
		out, err := exec.Command(bash, "-c", "printf %s "+words.Quoted(word)+"/").Output()
		if err != nil || string(out) != word+"/" {
			t.Errorf("%q as %s becomes %q, %v", word, words.Quoted(word), out, err)
		}
	}
}

func TestWithoutPassword(t *testing.T) {
	t.Parallel()
	for login, want := range map[string]string{
		"redis://host:6379/3": "redis://host:6379/3", "redis://:hush@host:6379": "redis://:***@host:6379",
		"redis-cluster://u:hu@sh@a:1,b:2": "redis-cluster://u:***@a:1,b:2", "redis://u:@hush@h": "redis://u:***@h",
		"unix://u:hush@/run/x": "unix://u:***@/run/x", "redis://[::1]:6379": "redis://[::1]:6379",
		"redis-sentinel://h1?sentinel_password=hush":                              "redis-sentinel://h1?sentinel_password=***",
		"redis-sentinel://u:hush@h1/2?master_name=m&sentinel_pass%77ord=hush&x=y": "redis-sentinel://u:***@h1/2?master_name=m&sentinel_pass%77ord=***&x=y",
		"redis://h?PASSWORD=hu=sh":                                                "redis://h?PASSWORD=***", "redis://h?%=hush": "redis://h?%=***", "u:hush@h": "***",
	} {
		if got := urlWithoutPassword(login); got != want {
			t.Errorf("%s: %s", login, got)
		}
	}
	for login, want := range map[string]string{
		"user:hush": "user:***", "me@corp:hush": "me@corp:***", "me:@hush": "me:***", "me:hu@sh": "me:***", "me:hu:sh": "me:***", "user": "user",
	} {
		if got := withoutPassword(login); got != want {
			t.Errorf("%s: %s", login, got)
		}
	}
}

func TestAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args    string
		instead map[string]string
		want    string
	}{
		{"requeue orders --rate 100/s --yes --slot 3 --slot 7 --content a*",
			map[string]string{"died-before": "T", "limit": "3"}, "rmq requeue orders --content='a*' --died-before=T --limit=3 --rate=100/s --slot=3,7 --yes"},
		{"requeue orders --older-than 1h --redis redis://:hush@h", map[string]string{"older-than": ""}, "rmq requeue orders --redis='redis://:***@h'"},
		{"requeue --yes -- -x", nil, "rmq requeue --yes -- -x"},
		{"requeue orders -", nil, "rmq requeue orders -"},
		// A content that looks like a flag stays what it is.
		{"requeue a=true --content paid=true --reason x=true --yes --limit 3", nil, "rmq requeue a=true --content=paid=true --limit=3 --reason=x=true --yes"},
		{"requeue orders --yes=false", nil, "rmq requeue orders --yes=false"},
		// What may be repeated is.
		{"requeue orders --header a=b,c --header d=e", nil, "rmq requeue orders --header=a=b,c --header=d=e"},
	} {
		a := newApp(program, strings.NewReader(""), nil, nil)
		root := &cobra.Command{Use: "rmq"}
		root.PersistentFlags().StringVar(&a.redis, "redis", "", "")
		var got string
		var rate pace
		var yes bool
		cmd := &cobra.Command{Use: "requeue", RunE: func(cmd *cobra.Command, args []string) error {
			got = strings.TrimSuffix(again(cmd, args, c.instead), " ")
			return nil
		}}
		filters(cmd, 0)
		asks(cmd, &yes)
		cmd.Flags().Var(&rate, "rate", "")
		cmd.Flags().StringArray("header", nil, "")
		root.AddCommand(cmd)
		root.SetArgs(strings.Fields(c.args))
		must.Do(t, root.Execute())
		if got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// What a person said relative to the present moment stays what it was when they go on later.
func TestFilterStaysTheSame(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 3, 0, 0, 0, time.UTC)
	for _, c := range []struct{ args, want string }{
		{"", "requeue orders --died-before=2026-01-31T03:00:00.001Z"},
		{"--older-than 1h", "requeue orders --died-before=2026-01-31T02:00:00.001Z"},
		{"--newer-than 2h", "requeue orders --died-after=2026-01-31T01:00:00.000Z --died-before=2026-01-31T03:00:00.001Z"},
		{"--older-than 1h --newer-than 2h --limit 10", "requeue orders --died-after=2026-01-31T01:00:00.000Z --died-before=2026-01-31T02:00:00.001Z --limit=8"},
		{"--died-before 2026-01-31T01:30:00Z --older-than 1h", "requeue orders --died-before=2026-01-31T01:30:00.000Z"},
		{"--died-after 2026-01-31T01:30:00Z --newer-than 2h", "requeue orders --died-after=2026-01-31T01:30:00.000Z --died-before=2026-01-31T03:00:00.001Z"},
		{"--limit 3 --reason x", "requeue orders --died-before=2026-01-31T03:00:00.001Z --limit=1 --reason=x"},
	} {
		var got string
		var f *deadFilter
		cmd := &cobra.Command{Use: "requeue", RunE: func(cmd *cobra.Command, args []string) error {
			q, err := f.query(now)
			must.Do(t, err)
			got = f.rest(cmd, args, ended(q, now), 2)
			if q.Limit > 0 && f.rest(cmd, args, ended(q, now), q.Limit) != "" {
				t.Errorf("%s: it goes on where the limit is reached", c.args)
			}
			return nil
		}}
		f = filters(cmd, 0)
		cmd.SetArgs(append([]string{"orders"}, strings.Fields(c.args)...))
		must.Do(t, cmd.Execute())
		if got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.args, got, c.want)
		}
	}
}
