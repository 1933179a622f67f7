// Package databases opens the database of a journal from a URL, with the settings a journal needs.
//
//	sqlite:/var/lib/rmq/journal.db     a file; sqlite:journal.db is one in the present folder
//	postgres://user:password@host:5432/database
//	mysql://user:password@host:3306/database       MySQL, or MariaDB
//
// It brings the drivers, which package journal does without.
package databases

import _ "github.com/slotmq/go-rmq/server/internal/same" // version of all modules
