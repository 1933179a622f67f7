package commands

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/message"
)

// defaultJournal is the file that is the journal if none is named.
const defaultJournal = "rmq-journal.db"

// aboutJournals is in the help of a program that knows journals.
const aboutJournals = `
The journal is where --journal or RMQ_JOURNAL says, else in the file
` + defaultJournal + ` of this folder, if it is there. Forms:
  sqlite:/var/lib/rmq/journal.db
  postgres://user:password@host:5432/database
  mysql://user:password@host:3306/database       MySQL, or MariaDB
What is sent, cancelled, requeued or deleted here is written there, too. If the
database goes away meanwhile, a send waits 5 s for it, and the end of the call
5 s more; then it says what is not there.
`

func (a *app) journalCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "journal",
		Short: "Look into the journal, and bring back what Redis has lost",
		Long: `The journal: which messages were sent and what became of them, in SQL. Programs
write it (package journal). It says what is owed also when Redis is lost.`,
	}
	cmd.AddCommand(a.journalStatusCommand(), a.journalHistoryCommand(), a.journalRestoreCommand(), a.journalReconcileCommand(), a.journalRelayCommand(), a.journalCompactCommand())
	return cmd
}

// access is what a command wants of the journal.
type access int

const (
	toLook   access = iota // it must be there, and is not changed
	toChange               // it must be there
	toServe                // the same, and what is wrong goes to the log, not to who called
)

// forever is above every Retention: programs say what is kept, and journal compact.
const forever = 100 * 365 * 24 * time.Hour

// opened is the journal of a call. It is closed by finish.
type opened struct {
	*journal.Journal
	url string // without passwords
	db  *sql.DB
}

// openJournal opens the journal, or returns nil if none is named, and there is no file of that name.
func (a *app) openJournal(ctx context.Context, to access) (*opened, error) {
	from := flagOrEnv(a.journalURL, "RMQ_JOURNAL", "")
	switch {
	case a.kept != nil:
		return a.kept, nil
	case a.Databases == nil:
		return nil, nil
	case from == "":
		if _, err := os.Stat(defaultJournal); errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		from = "sqlite:" + defaultJournal
	}
	db, dialect, err := a.Databases(from)
	if err != nil {
		return nil, misused("--journal or RMQ_JOURNAL: %w", err)
	}
	var j *journal.Journal
	if to == toLook {
		j, err = journal.OpenReadOnly(ctx, db, dialect)
	} else {
		cfg := journal.Config{Wait: true, WaitAtMost: a.Patience, Full: journal.Refuse, Retention: forever}
		if to != toServe {
			cfg.Logger = zap.NewNop()
		}
		j, err = journal.Open(db, dialect, cfg)
	}
	if err != nil {
		_ = db.Close() // it was not used
		return nil, err
	}
	a.kept = &opened{j, withoutSecrets(from), db}
	return a.kept, nil
}

// needJournal opens the journal of a command that is about nothing else.
func (a *app) needJournal(ctx context.Context, to access) (*opened, error) {
	j, err := a.openJournal(ctx, to)
	if err == nil && j == nil {
		err = misused("no journal: name it by --journal or RMQ_JOURNAL, for there is no file %s in this folder", defaultJournal)
	}
	return j, err
}

// tells makes a command that changes messages open the journal, if there is one.
func (a *app) tells(cmd *cobra.Command) *cobra.Command {
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if dry, err := cmd.Flags().GetBool("dry-run"); err == nil && dry {
			return nil
		}
		if a.elsewhere() {
			return failed("RMQ_JOURNAL is set, and %s writes no journal: use rmqd, which has the same commands", a.Name)
		}
		_, err := a.openJournal(cmd.Context(), toChange)
		return err
	}
	return cmd
}

// elsewhere reports whether there is a journal that another program knows.
func (a *app) elsewhere() bool { return a.Databases == nil && os.Getenv("RMQ_JOURNAL") != "" }

// toTell is the journal that is told what changes, if it was opened.
func (a *app) toTell() message.Journal {
	if a.kept == nil {
		return nil
	}
	return a.kept
}

// closeJournal waits until SQL has what this call has changed.
func (a *app) closeJournal() error {
	if a.kept == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), a.Patience)
	defer cancel()
	return cmp.Or(a.kept.Close(ctx), a.kept.db.Close())
}

// withoutSecrets is the URL of a journal as it may be shown.
func withoutSecrets(from string) string {
	if strings.HasPrefix(from, "sqlite:") {
		return from
	}
	return urlWithoutPassword(from)
}
