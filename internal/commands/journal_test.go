package commands

import (
	"database/sql"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/journal"
)

// withJournal is a program that knows journals. Those that are really opened are in the tests of rmqd.
var withJournal = Program{Name: "rmqd", Databases: func(string) (*sql.DB, journal.Dialect, error) {
	return nil, journal.Dialect{}, errors.New("no database here")
}}

func callWithJournal(args ...string) result { return run(withJournal, args...) }

// The help of another program with these commands is a page, too, and names that program.
func TestHelpOfAnotherProgram(t *testing.T) {
	t.Parallel()
	var all [][]string
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		all = append(all, strings.Fields(cmd.CommandPath())[1:])
		for _, sub := range cmd.Commands() {
			if sub.Name() != "help" && sub.Name() != "completion" {
				walk(sub)
			}
		}
	}
	walk(rootOf(withJournal))
	if !slices.ContainsFunc(all, func(path []string) bool { return slices.Equal(path, []string{"journal", "restore"}) }) {
		t.Fatal(all)
	}
	other := regexp.MustCompile(`(^|[^/])\brmq [a-z-]`)
	for _, path := range all {
		r := callWithJournal(append(path, "-h")...)
		fitsHelp(t, r)
		for line := range strings.Lines(r.out) {
			if other.MatchString(line) {
				t.Errorf("%v: %s", path, line)
			}
		}
	}
	if r := call("-h"); strings.Contains(r.out, "journal") || strings.Contains(r.out, "RMQ_JOURNAL") {
		t.Errorf("rmq speaks of what it does not know:\n%s", r.out)
	}
	if r := callWithJournal("--version"); !strings.HasPrefix(r.out, "rmqd ") {
		t.Error(r)
	}
}

// What a program without databases changes would be missing in the journal, so it changes nothing.
func TestJournalOfAnotherProgram(t *testing.T) {
	t.Setenv("RMQ_JOURNAL", "sqlite:journal.db")
	s := servertest.Redis(t)
	redis := []string{"--redis", "redis://" + s.Addr()}
	for _, args := range [][]string{
		{"send", "orders", "x", "--priority", "500", "--kind", "priority"}, {"cancel", "orders", "x"}, {"reschedule", "orders", "x", "--now"},
		{"dead", "requeue", "orders", "x"}, {"dead", "delete", "orders", "x"}, {"every", "run", "orders", "x"},
	} {
		wantFailure(t, append(redis, args...), 1, "RMQ_JOURNAL is set, and rmq writes no journal: use rmqd, which has the same commands")
	}
	t.Setenv("RMQ_JOURNAL", "")
	if r := call(append(redis, "send", "orders", "x", "--priority", "500", "--kind", "priority")...); r.code != 0 {
		t.Error(r)
	}
	t.Setenv("RMQ_JOURNAL", "sqlite:journal.db")
	r := call(append(redis, "explain", "orders", "x")...)
	if r.code != 0 || !strings.Contains(flat(r.out), "journal RMQ_JOURNAL is set: rmqd explain shows what it knows, too ") {
		t.Error(r)
	}
}
