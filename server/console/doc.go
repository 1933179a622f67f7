// Package console is a page for people: is anything wrong, where is a message, what is dead and why, and, where that
// is allowed, the buttons to fix it. It is an http.Handler. rmqd serves it, and so can your own program:
//
//	c, err := console.New(console.Config{Redis: rdb})
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	http.Handle("/rmq/", c)
//
// It finds its own pages below any path, also behind a proxy that takes a part of the path away: all of its links are
// relative, and only what follows the last / counts. The path must end with a / where you mount it.
//
// It only looks, unless [Config.Act] is set. Who may reach it is yours to decide: put it behind what signs your people
// in, or give it [Config.Tokens], so that they sign in themselves.
//
// Pages work without scripts. With them numbers change by themselves, over one stream for a page (server-sent
// events). What pages show is read once for all who look, and so that each Redis server spends at most a hundredth
// of its time on it.
//
// It has no users and passwords of its own, sends no alerts, and keeps nothing but the counts of the last half hour
// and the jobs that people began, in memory.
package console

import _ "github.com/slotmq/go-rmq/server/internal/same" // version of all modules
