package databases

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"github.com/slotmq/go-rmq/journal"
)

// ErrURL is returned for a URL that names no database.
var ErrURL = errors.New("the URL of the journal")

// dialTimeout bounds how long a server that does not answer keeps a caller.
const dialTimeout = 5 * time.Second

// connections are enough for a journal: its writer, and some who look.
const connections = 4

// Open opens the database of a URL. It does not speak to it yet: journal.Open does. The caller closes it.
func Open(from string) (*sql.DB, journal.Dialect, error) {
	scheme, rest, _ := strings.Cut(from, ":")
	var open func(from, rest string) (*sql.DB, error)
	var dialect journal.Dialect
	switch scheme {
	case "sqlite":
		open, dialect = openSQLite, journal.SQLite
	case "postgres", "postgresql":
		open, dialect = openPostgreSQL, journal.PostgreSQL
	case "mysql":
		open, dialect = openMySQL, journal.MySQL
	default:
		return nil, dialect, fmt.Errorf("%w begins with %q: write sqlite:PATH, postgres://user:password@host/database or mysql://user:password@host/database", ErrURL, scheme)
	}
	db, err := open(from, rest)
	if err != nil {
		return nil, dialect, fmt.Errorf("%w: %w", ErrURL, err)
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	db.SetConnMaxIdleTime(time.Minute)
	return db, dialect, nil
}

// Look opens the database of a URL like Open, but makes no file where none is.
func Look(from string) (*sql.DB, journal.Dialect, error) {
	db, dialect, err := Open(from)
	if path, is := strings.CutPrefix(from, "sqlite:"); is && err == nil {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			_ = db.Close() // it was not used
			return nil, dialect, fmt.Errorf("%w: there is no file %s", ErrURL, path)
		}
	}
	return db, dialect, err
}

// openSQLite opens a file. With WAL readers and writers do not wait for each other. Two writers wait for each other,
// up to the busy timeout. For that a transaction must ask for the right to write when it begins: once it has read, it
// cannot wait any more. Each commit is on disk when it returns (FULL): what a send has waited for must survive a loss
// of power. There are few commits, so that costs next to nothing.
//
// Rows are found by a hash, so a transaction touches about as many pages of the index as it has rows.
// The cache holds those of some million rows. The log may grow to 256 MiB before a commit works it off, so that a
// page that was touched often is written once; the journal works it off beside the commits.
func openSQLite(_, path string) (*sql.DB, error) {
	if path == "" || strings.HasPrefix(path, "//") {
		return nil, errors.New("write sqlite:PATH, such as sqlite:/var/lib/rmq/journal.db")
	}
	if at, err := os.Stat(path); err == nil && at.IsDir() {
		return nil, fmt.Errorf("%s is a folder: name a file in it", path)
	}
	set := url.Values{"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "wal_autocheckpoint(65536)", "cache_size(-65536)"}, "_txlock": {"immediate"}}
	name := url.URL{Path: filepath.ToSlash(path)}
	return sql.Open("sqlite", "file:"+name.EscapedPath()+"?"+set.Encode())
}

func openPostgreSQL(from, _ string) (*sql.DB, error) {
	u, err := parse(from)
	if err != nil {
		return nil, err
	}
	set := u.Query()
	if !set.Has("connect_timeout") {
		set.Set("connect_timeout", fmt.Sprint(int(dialTimeout.Seconds())))
	}
	u.RawQuery = set.Encode()
	return sql.Open("pgx", u.String())
}

func openMySQL(from, _ string) (*sql.DB, error) {
	u, err := parse(from)
	if err != nil {
		return nil, err
	}
	for name := range u.Query() {
		if name != "tls" { // one that is misspelt must not be without TLS
			return nil, fmt.Errorf("it has %q: only tls is known here, as in ?tls=true", name)
		}
	}
	cfg := mysql.NewConfig()
	cfg.Net, cfg.Addr = "tcp", u.Host
	if u.Port() == "" {
		cfg.Addr += ":3306"
	}
	cfg.User = u.User.Username()
	cfg.Passwd, _ = u.User.Password()
	cfg.DBName = strings.TrimPrefix(u.Path, "/")
	cfg.Timeout = dialTimeout
	cfg.Logger = &mysql.NopLogger{} // what it says of lost connections is in the errors, too
	cfg.TLSConfig = u.Query().Get("tls")
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("tls=%s: write true, skip-verify or preferred: %w", cfg.TLSConfig, err)
	}
	return sql.OpenDB(connector), nil
}

// parse takes a URL apart. Its errors show nothing of a password.
func parse(from string) (*url.URL, error) {
	u, err := url.Parse(from)
	switch {
	case err != nil: // it has what could not be read, which may be of the password
		return nil, errors.New("it cannot be read: the port is a number, and in a user or password write @ as %40, / as %2F, ? as %3F, # as %23, : as %3A and % as %25")
	case u.Host == "":
		return nil, fmt.Errorf("it names no host: write %s://user:password@host/database", u.Scheme)
	case strings.Trim(u.Path, "/") == "":
		return nil, fmt.Errorf("it names no database: write %s://user:password@%s/database", u.Scheme, u.Host)
	}
	return u, nil
}
