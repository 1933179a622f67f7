package servertest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// eachDatabase runs a test on both. What they say in SQL is tested where there are drivers.
func eachDatabase(t *testing.T, test func(t *testing.T, db *Database)) {
	for name, of := range map[string]func(testing.TB, ...string) *Database{"PostgreSQL": PostgreSQL, "MariaDB": MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, of(t))
		})
	}
}

// greets reports whether the server answers a new client.
func greets(t testing.TB, db *Database, patience time.Duration) bool {
	t.Helper()
	conn, err := net.DialTimeout("tcp", db.Addr(), patience)
	if err != nil {
		return false
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if db.scheme == "postgres" { // which waits for the client: does it speak TLS?
		if _, err := conn.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47}); err != nil {
			return false
		}
	}
	_, err = conn.Read(make([]byte, 1))
	return err == nil
}

func TestDatabasesAreKilledAndComeBack(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, db *Database) {
		if !greets(t, db, startPatience) {
			t.Fatalf("no greeting\n%s", db.Log())
		}
		family := append(db.proc.children(), db.proc.pid())
		db.Kill()
		for _, pid := range family {
			if alive(pid) {
				t.Errorf("%d of %d is alive", pid, len(family))
			}
		}
		if greets(t, db, time.Second) {
			t.Error("greets after Kill")
		}
		db.Restart(t)
		if !greets(t, db, startPatience) {
			t.Errorf("no greeting after Restart\n%s", db.Log())
		}
		db.Stop()
		db.Restart(t)
		if log := db.proc.runLog(); strings.Contains(log, "recovery in progress") || strings.Contains(log, "crash recovery") {
			t.Errorf("it was not stopped politely:\n%s", log)
		}
	})
}

func TestDatabasesArePaused(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, db *Database) {
		family := append(db.proc.children(), db.proc.pid())
		db.Pause()
		for _, pid := range family {
			if !stopped(pid) {
				t.Errorf("%d of %d runs", pid, len(family))
			}
		}
		if greets(t, db, 300*time.Millisecond) {
			t.Error("greets while it is paused")
		}
		db.Resume()
		if !greets(t, db, startPatience) {
			t.Error("no greeting after Resume")
		}
	})
}

func TestDatabasesAreNotRoot(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, db *Database) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", db.proc.pid()))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(status, []byte("Uid:\t0\t")) {
			t.Error("it runs as root")
		}
	})
}

func TestSharedDatabases(t *testing.T) {
	t.Parallel()
	for _, of := range []func(testing.TB) *Database{SharedPostgreSQL, SharedMariaDB} {
		db := of(t)
		if !greets(t, db, startPatience) {
			t.Errorf("no greeting\n%s", db.Log())
		}
		if of(t) != db {
			t.Error("another one")
		}
	}
}
