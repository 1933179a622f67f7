// Package journal keeps in SQL which messages were sent and what became of them, so that it is known
// what is owed also when Redis is lost.
//
//	db, dialect, err := databases.Open("sqlite:/var/lib/rmq/journal.db") // of module server; or your own *sql.DB
//	j, err := journal.Open(db, dialect, journal.Config{})
//	client, err := rmq.New(rmq.Config{Redis: rdb, Journal: j})
//	...
//	client.Close(ctx)
//	j.Close(ctx) // behind the client, which still tells what has ended
//
// It writes behind: rows gather in memory, and one goroutine writes them, each Lag in one
// transaction. A process that is killed takes the rows of its last Lag with it.
//
// With Wait a send returns when its row is committed, or with message.ErrNotJournaled. So the journal owes
// the message of each send that returned nil, until it knows the end. That holds for
// whatever merged, too; only the receipt Duplicate says nothing, since nothing was stored. Sends of plans wait for
// nobody.
//
// While SQL is away rows gather up to Buffer. Then Full decides: with Drop sends go on, and when SQL is
// back a row of rmq_gap says how many were not kept, and of which time; with Refuse they fail.
//
// # Tables
//
// A row is written once and never changed. rmq_sent has one for each send that changed something,
// rmq_ended one for each end of a message, and with Flow: All also for what happens on its way. A
// message is its topic, its slot and its content, found by a hash of the content. One counter in
// rmq_state numbers the rows of both tables, and whoever takes numbers holds it until the commit: so the
// order of the ids is that of the commits, and who has read up to an id has missed nothing below. Rows that
// are not needed to tell what is owed or dead are deleted behind the Retention.
//
// # What is owed
//
// It is decided for each content by itself, by the slot's numbers: the end of a batch settles exactly the
// sends whose number is below the batch's. The order in which rows come does not matter to that, nor
// how often they are told.
//
// # The outbox
//
// A message that must be sent if a transaction of yours commits, and only then:
//
//	tx, err := db.BeginTx(ctx, nil)
//	...
//	err = j.SendTx(ctx, tx, orders, message.FixedTime{Content: "order 4711", In: time.Minute})
//	err = tx.Commit()
//
//	go journal.Relay(ctx, j, client) // in each process; one at a time works
//
// SendTx writes a row of rmq_outbox, and [Relay] sends what has committed: each message once or, when
// something fails in between, again. It keeps no cursor but deletes what it has sent: so a
// transaction that commits late is not passed over, though its rows have smaller ids.
//
// # Effects that happen once
//
// [Journal.Once], in the transaction of a handler, tells whether one for the same copy of the message has
// committed before, by another delivery: so what the handler changes in this database happens once.
//
// # What it does not do
//
// It opens no database and brings no driver, and it does not speak to Redis.
package journal
