package frame

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/journal"
)

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
		call := New("rmq", Journals{}, nil, nil, nil)
		root := &cobra.Command{Use: "rmq"}
		call.Flags(root.PersistentFlags())
		var got string
		root.AddCommand(Command{Use: "requeue", Flags: func(flags *Flags) Steps {
			var rate Pace
			var slots Slots
			flags.Rate(&rate)
			flags.Slots(&slots)
			flags.Yes(new(bool))
			for _, name := range []string{"content", "reason", "older-than", "died-before", "limit"} {
				flags.String(name, "", "")
			}
			flags.StringArray("header", nil, "")
			return Steps{func(context.Context, *Call) error {
				got = strings.TrimSuffix(call.Again(c.instead), " ")
				return nil
			}}
		}}.Cobra(call))
		root.SetArgs(strings.Fields(c.args))
		must.Do(t, root.Execute())
		if got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// The password of a journal is not in what is printed to be pasted.
func TestJournalURLIsShownWithoutPassword(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"mysql://rmq:hush@db1/journal": "mysql://rmq:***@db1/journal", "postgres://rmq:hush@db1/journal": "postgres://rmq:***@db1/journal",
		"sqlite:/var/lib/rmq/journal.db": "sqlite:/var/lib/rmq/journal.db",
	} {
		if got := withoutSecrets(url); got != want {
			t.Error(got)
		}
		call := New("rmqd", Journals{Databases: func(string) (*sql.DB, journal.Dialect, error) { panic("nobody opens it") }}, nil, nil, nil)
		root := &cobra.Command{Use: "rmqd"}
		call.Flags(root.PersistentFlags())
		root.AddCommand(Command{Use: "requeue TOPIC", Steps: Steps{func(context.Context, *Call) error {
			if line := call.Again(nil); !strings.Contains(line, want) || strings.Contains(line, "hush") {
				t.Error(line)
			}
			return nil
		}}}.Cobra(call))
		root.SetArgs([]string{"requeue", "orders", "--journal", url})
		must.Do(t, root.Execute())
	}
}
