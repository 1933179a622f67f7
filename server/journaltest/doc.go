// Package journaltest tests package journal on real databases: SQLite, PostgreSQL and MariaDB. It is in
// this module because the drivers are.
package journaltest
