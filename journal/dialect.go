package journal

import "strings"

// Dialect is how a database wants to be spoken to: [SQLite], [PostgreSQL] or [MySQL].
type Dialect struct {
	name string

	// The types of columns.
	id, hash, bytes, name500, text string

	options string // behind a table
	inTable bool   // an index is written in its table, because a change of tables is no transaction

	session  string // for a connection that writes: it must not hold the counter when its client is gone
	begin    string // a transaction that writes
	insert   string // the first words of it
	hasTable string // whether rmq_schema is there: 0 or 1
	lock     string // keeps others from changing tables; held until unlock, or the end of the transaction
	unlock   string

	dollar bool // parameters are $1, not ?
	arrays bool // rows are passed as one array for each column
	group  int  // rows in one INSERT otherwise

	advice []advice
}

// advice is what to do about an error with this text.
type advice struct{ text, do string }

// SQLite is a file. Open it with WAL and a busy timeout.
var SQLite = Dialect{
	name: "SQLite",
	id:   "INTEGER", hash: "BLOB", bytes: "BLOB", name500: "TEXT", text: "TEXT",
	begin:    "BEGIN IMMEDIATE",
	insert:   "INSERT OR ROLLBACK", // so that it needs no journal of the statement for what cannot be
	hasTable: "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'rmq_schema'",
	group:    128,
	advice: []advice{
		{"readonly database", "make the file and its folder writable for this user"},
		{"unable to open database file", "make its folder, and let this user write in it"},
		{"not a database", "name another file: this one is no database of SQLite"},
		{"disk is full", "make room on the disk"},
		{"database is locked", "another program holds the file locked: end it, or use PostgreSQL or MySQL for several"},
		{"disk I/O error", "look at the disk, and whether the file still is where it was"},
	},
}

// PostgreSQL speaks to PostgreSQL 12 or later, by the driver pgx.
var PostgreSQL = Dialect{
	name: "PostgreSQL",
	id:   "BIGINT", hash: "BYTEA", bytes: "BYTEA", name500: "TEXT", text: "TEXT",
	session:  "SET idle_in_transaction_session_timeout = '10s'",
	begin:    "BEGIN",
	insert:   "INSERT",
	hasTable: "SELECT COUNT(*) FROM pg_class WHERE oid = to_regclass('rmq_schema')",
	lock:     "SELECT pg_advisory_xact_lock(7254816091)",
	dollar:   true, arrays: true,
	advice: []advice{
		{"permission denied", "give this user the right to create tables in the schema once, and then SELECT, INSERT, UPDATE and DELETE on those that begin with rmq_"},
		{"password authentication failed", "correct the user or the password in the URL"},
		{"no pg_hba.conf entry", "let pg_hba.conf accept this user and host"},
		{"does not exist (SQLSTATE 3D000)", "create the database, or correct its name in the URL"},
		{"read-only transaction", "name the primary in the URL: this server is a replica, or read-only"},
		{"No space left on device", "make room on the server's disk"},
		{"connection refused", "start the server, or correct host and port in the URL"},
	},
}

// MySQL speaks to MySQL 8 and to MariaDB 10.5, or later.
var MySQL = Dialect{
	name: "MySQL",
	id:   "BIGINT", hash: "BINARY(16)", bytes: "LONGBLOB", name500: "VARBINARY(500)", text: "MEDIUMTEXT",
	options: " ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin", inTable: true,
	session:  "SET SESSION wait_timeout = 30",
	begin:    "START TRANSACTION",
	insert:   "INSERT",
	hasTable: "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'rmq_schema'",
	lock:     "SELECT GET_LOCK('rmq_schema', 60)", unlock: "SELECT RELEASE_LOCK('rmq_schema')",
	group: 256,
	advice: []advice{
		{"Error 1142", "give this user CREATE, SELECT, INSERT, UPDATE and DELETE on the database"},
		{"Error 1044", "give this user CREATE, SELECT, INSERT, UPDATE and DELETE on the database"},
		{"Error 1045", "correct the user or the password in the URL"},
		{"Error 1049", "create the database, or correct its name in the URL"},
		{"Error 1290", "name the primary in the URL: this server is read-only"},
		{"Error 1114", "make room on the server's disk"},
		{"Error 1021", "make room on the server's disk"},
		{"connection refused", "start the server, or correct host and port in the URL"},
	},
}

// String is its name.
func (d Dialect) String() string { return d.name }

// columns puts the types of this dialect into the columns of a table.
func (d Dialect) columns(text string) string {
	return strings.NewReplacer("{id}", d.id, "{hash}", d.hash, "{bytes}", d.bytes, "{name}", d.name500, "{text}", d.text).Replace(text)
}

// bind writes the parameters of a statement, which are ? here, as this dialect does.
func (d Dialect) bind(text string) string {
	if !d.dollar {
		return text
	}
	parts := strings.Split(text, "?")
	var b strings.Builder
	for i, part := range parts[:len(parts)-1] {
		b.WriteString(part)
		b.WriteString("$" + itoa(i+1))
	}
	return b.String() + parts[len(parts)-1]
}
