// Package rights reports which rights a user of Redis access control (ACL) lacks. About
// a command within a script, Redis itself says only that it may not be run; about a
// key, only that one of several may not be accessed. It names one right at a time, and
// only when a message is already under way.
//
//	err := rights.Check(ctx, rdb, rights.Need{Worker: true}, rights.Topic{Name: "orders", Slots: 16})
//	// Redis user "orders" lacks rights: +zrem, ~prepare{orders_*}, &rmq:wake{orders}; see docs/DEPLOYMENT.md
//
// Workers ask when they start, producers before the first message of a topic.
// Before version 7.0 Redis cannot report rights, and nothing is checked.
//
// It grants nothing and does not know what commands are for. The needs are listed in
// needs.go, and docs/DEPLOYMENT.md says the same in lines for ACL
// SETUSER, which the tests of package rmq try.
package rights
