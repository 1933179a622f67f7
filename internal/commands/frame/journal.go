package frame

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/journal"
)

// Journals are the databases of journals: a call has one at most.
type Journals struct {
	// Databases opens the database of a journal that is there already. It need not connect yet. Without it
	// the program knows no journal.
	Databases func(url string) (*sql.DB, journal.Dialect, error)

	// Patience is for the first answer of Redis, since the client would try for minutes, and for SQL to take what a call has
	// changed.
	Patience time.Duration

	program    string   // what it is called
	journalURL string   // flag
	kept       *Journal // nil until a command opens it, if there is one
}

// DefaultJournal is the file that is the journal if none is named.
const DefaultJournal = "rmq-journal.db"

// Access is what a command wants of the journal.
type Access int

const (
	ToLook   Access = iota // it must be there, and is not changed
	ToChange               // it must be there
	ToServe                // the same, and what is wrong goes to the log, not to who called
)

// forever is above every Retention: programs say what is kept, and journal compact.
const forever = 100 * 365 * 24 * time.Hour

// Journal is that of a call. It is closed with it.
type Journal struct {
	*journal.Journal
	URL string // without passwords
	db  *sql.DB
}

// OpenJournal opens the journal, or returns nil if none is named, and there is no file of that name.
func (s *Journals) OpenJournal(ctx context.Context, to Access) (*Journal, error) {
	from := flagOrEnv(s.journalURL, "RMQ_JOURNAL", "")
	switch {
	case s.kept != nil:
		return s.kept, nil
	case s.Databases == nil:
		return nil, nil
	case from == "":
		if _, err := os.Stat(DefaultJournal); errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		from = "sqlite:" + DefaultJournal
	}
	db, dialect, err := s.Databases(from)
	if err != nil {
		return nil, Misused("--journal or RMQ_JOURNAL: %w", err)
	}
	var j *journal.Journal
	if to == ToLook {
		j, err = journal.OpenReadOnly(ctx, db, dialect)
	} else {
		cfg := journal.Config{Wait: true, WaitAtMost: s.Patience, Full: journal.Refuse, Retention: forever}
		if to != ToServe {
			cfg.Logger = zap.NewNop()
		}
		j, err = journal.Open(db, dialect, cfg)
	}
	if err != nil {
		_ = db.Close() // it was not used
		return nil, err
	}
	s.kept = &Journal{j, withoutSecrets(from), db}
	return s.kept, nil
}

// NeedJournal opens the journal of a command that is about nothing else.
func (s *Journals) NeedJournal(ctx context.Context, to Access) (*Journal, error) {
	j, err := s.OpenJournal(ctx, to)
	if err == nil && j == nil {
		err = Misused("no journal: name it by --journal or RMQ_JOURNAL, for there is no file %s in this folder", DefaultJournal)
	}
	return j, err
}

// Elsewhere reports whether there is a journal that another program knows.
func (s *Journals) Elsewhere() bool { return s.Databases == nil && os.Getenv("RMQ_JOURNAL") != "" }

// toTell is the journal that gets what changes, if it was opened.
func (s *Journals) toTell() record.Journal {
	if s.kept == nil {
		return nil
	}
	return s.kept.Journal
}

// closeJournal waits until SQL has what this call has changed.
func (s *Journals) closeJournal() error {
	if s.kept == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.Patience)
	defer cancel()
	return cmp.Or(s.kept.Close(ctx), s.kept.db.Close())
}

// withoutSecrets is the URL of a journal as it may be shown.
func withoutSecrets(from string) string {
	if strings.HasPrefix(from, "sqlite:") {
		return from
	}
	return urlWithoutPassword(from)
}

// Journal is that of a service; nil if there is none.
func (s *Journals) Journal(ctx context.Context) (*journal.Journal, error) {
	j, err := s.OpenJournal(ctx, ToServe)
	if err != nil || j == nil {
		return nil, err
	}
	return j.Journal, nil
}
