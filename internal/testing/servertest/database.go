package servertest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Database is a real PostgreSQL or MariaDB server. What it has committed is on disk. The user rmq
// may do everything, without a password. It knows its children, and so does who harms it: Kill and
// Pause are for all of them.
type Database struct {
	daemon
	scheme string // of its URLs
	ready  string // what its log says when it serves
}

// PostgreSQL starts a private server for this test and stops it with the test. The args are passed to
// postgres after the defaults and win over them: PostgreSQL(t, "-c", "max_connections=5").
func PostgreSQL(t testing.TB, args ...string) *Database {
	t.Helper()
	return private(t, "", newPostgreSQL, args)
}

// PostgreSQLOn is PostgreSQL with all its files on a disk.
func PostgreSQLOn(t testing.TB, d *Disk, args ...string) *Database {
	t.Helper()
	return private(t, d.Path, newPostgreSQL, args)
}

// MariaDB starts a private server for this test and stops it with the test. The args are passed to
// mariadbd after the defaults and win over them.
func MariaDB(t testing.TB, args ...string) *Database {
	t.Helper()
	return private(t, "", newMariaDB, args)
}

// MariaDBOn is MariaDB with all its files on a disk.
func MariaDBOn(t testing.TB, d *Disk, args ...string) *Database {
	t.Helper()
	return private(t, d.Path, newMariaDB, args)
}

// SharedPostgreSQL is a server which all tests of this process use at once, started by the first of
// them. A test keeps to a database of its own.
func SharedPostgreSQL(t testing.TB) *Database {
	t.Helper()
	return sharedPostgreSQL.get(t, "PostgreSQL", func(t testing.TB) (*Database, error) { return sharedDatabase(t, newPostgreSQL) })
}

// SharedMariaDB is a server which all tests of this process use at once, started by the first of
// them. A test keeps to a database of its own.
func SharedMariaDB(t testing.TB) *Database {
	t.Helper()
	return sharedMariaDB.get(t, "MariaDB", func(t testing.TB) (*Database, error) { return sharedDatabase(t, newMariaDB) })
}

// newDatabase makes a server of one kind in a folder.
type newDatabase func(t testing.TB, dir string, args []string) (*Database, error)

func private(t testing.TB, parent string, of newDatabase, args []string) *Database {
	t.Helper()
	db, err := inFolder(t, parent, of, args)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(db.Dir) })
	db.endWith(t)
	return db
}

func sharedDatabase(t testing.TB, of newDatabase) (*Database, error) {
	t.Helper()
	db, err := inFolder(t, "", of, nil)
	if err != nil {
		return nil, err
	}
	db.shared = true
	return db, nil
}

// inFolder makes a server in a folder of its own, of a parent or among all temporary ones. It is not t.TempDir,
// which only the user of the test may enter.
func inFolder(t testing.TB, parent string, of newDatabase, args []string) (*Database, error) {
	t.Helper()
	dir, err := os.MkdirTemp(parent, "rmq-database-")
	if err != nil {
		return nil, err
	}
	db, err := of(t, dir, args)
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return db, nil
}

// URL names one of its databases as a client does. There is one with the name of the user, rmq.
func (db *Database) URL(database string) string { return db.URLOf("rmq", "", database) }

// URLOf is the URL of another user.
func (db *Database) URLOf(user, password, database string) string {
	if password != "" {
		user += ":" + password
	}
	return fmt.Sprintf("%s://%s@%s/%s", db.scheme, user, db.addr, database)
}

// Restart starts the server again on its port and in its directory, stopping it first if it still
// runs, and returns when it serves.
func (db *Database) Restart(t testing.TB) {
	t.Helper()
	db.restart(t, db.serves)
}

// CPU is the processor time that the server has used since it was started.
func (db *Database) CPU() time.Duration {
	sum := cpuOf(db.proc.pid())
	for _, pid := range db.proc.children() {
		sum += cpuOf(pid)
	}
	return sum
}

// serves asks the log and not the port, on which another test's server would answer just as well.
func (db *Database) serves() error {
	if !strings.Contains(db.proc.runLog(), db.ready) {
		return errors.New("its log does not say: " + db.ready)
	}
	return nil
}

// newPostgreSQL lays out the files of a server in dir and starts it.
func newPostgreSQL(t testing.TB, dir string, args []string) (*Database, error) {
	t.Helper()
	path := programOf(t, "postgres", "/usr/lib/postgresql/*/bin/postgres", "PostgreSQL", "apt-get install postgresql")
	err := filesOfPostgreSQL.copyTo(dir, func(dir string) error {
		init := filepath.Join(filepath.Dir(path), "initdb")
		if err := layOut(dir, "", init, "-D", "data", "-U", "rmq", "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync"); err != nil {
			return err
		}
		return layOut(dir, "CREATE DATABASE rmq\n", path, "--single", "-D", "data", "postgres")
	})
	if err != nil {
		return nil, err
	}
	db := &Database{daemon: daemon{Dir: dir, saving: syscall.SIGINT}, scheme: "postgres", ready: "database system is ready to accept connections"}
	return db, db.startAs(path, func(port int) []string {
		// Without a socket in the file system: the names of tests are longer than its path may be.
		return append([]string{"postgres", "-D", "data", "-p", fmt.Sprint(port), "-h", "127.0.0.1", "-c", "unix_socket_directories="}, args...)
	})
}

// newMariaDB lays out the files of a server in dir and starts it.
func newMariaDB(t testing.TB, dir string, args []string) (*Database, error) {
	t.Helper()
	path := programOf(t, "mariadbd", "/usr/sbin/mariadbd", "MariaDB", "apt-get install mariadb-server-core")
	common := func(dir string) []string {
		return []string{"--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--innodb-log-file-size=48M"}
	}
	err := filesOfMariaDB.copyTo(dir, func(dir string) error {
		if err := os.Mkdir(filepath.Join(dir, "data"), 0o755); err != nil {
			return err
		}
		tables, err := tablesOfMariaDB()
		if err != nil {
			return err
		}
		return layOut(dir, tables, path, append(common(dir), "--bootstrap")...)
	})
	if err != nil {
		return nil, err
	}
	db := &Database{daemon: daemon{Dir: dir}, scheme: "mysql", ready: "ready for connections"}
	return db, db.startAs(path, func(port int) []string {
		own := []string{"--port=" + fmt.Sprint(port), "--bind-address=127.0.0.1", "--socket=s", "--pid-file=pid", "--skip-name-resolve"}
		return append(append(append([]string{"mariadbd"}, common(dir)...), own...), args...)
	})
}

// tablesOfMariaDB is what mariadb-install-db does, which needs programs of other packages.
func tablesOfMariaDB() (string, error) {
	tables := "CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;\n"
	for _, name := range []string{"system_tables", "performance_tables", "system_tables_data"} {
		text, err := os.ReadFile("/usr/share/mysql/mysql_" + name + ".sql")
		if err != nil {
			return "", err
		}
		tables += string(text)
	}
	return tables + "DELETE FROM global_priv WHERE User='';\nFLUSH PRIVILEGES;\nCREATE DATABASE rmq;\n" +
		"CREATE USER rmq@'127.0.0.1';\nGRANT ALL ON *.* TO rmq@'127.0.0.1' WITH GRANT OPTION;\n", nil
}

// startAs starts the server, which refuses to run as root.
func (db *Database) startAs(path string, argv func(port int) []string) error {
	db.nobody = true
	return db.startOn(path, func(port int) ([]string, error) { return argv(port), nil }, db.serves)
}

// programOf finds a server's program: Debian keeps it where no PATH leads.
func programOf(t testing.TB, name, debian, what, install string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil { // its other programs are beside it
			return real
		}
	}
	if found, _ := filepath.Glob(debian); len(found) > 0 { // the pattern is good
		return found[len(found)-1]
	}
	Missing(t, "a "+what+" server", install+"  (or put "+name+" on the PATH)")
	return ""
}
