package luascripts

import (
	"strings"

	"github.com/redis/go-redis/v9"
)

// Edited returns scripts whose sources were edited: damaged, or with a clock
// of the test's own. The file name comes without ".lua".
func Edited(rdb redis.UniversalClient, edit func(name, source string) string) *Scripts {
	s := New(rdb)
	for name, x := range map[string]*script{
		"turn": &s.turn, "touch": &s.touch, "cancel": &s.cancel, "send": &s.send, "define": &s.define,
		"members": &s.members, "rights": &s.rights,
		"slot": &s.slot, "find": &s.find, "audit": &s.audit, "page": &s.page, "pause": &s.pause, "dead": &s.dead, "reschedule": &s.reschedule,
	} {
		*x = newScript(edit(name, x.source))
	}
	return s
}

// Sources of all scripts by the name of their file.
func Sources() map[string]string {
	return map[string]string{
		"turn": turnSource, "touch": touchSource, "cancel": cancelSource, "send": sendSource, "define": defineSource,
		"members": membersSource, "rights": rightsSource,
		"slot": slotSource, "find": findSource, "audit": auditSource, "page": pageSource, "pause": pauseSource, "dead": deadSource,
		"reschedule": rescheduleSource,
	}
}

// WithClock makes a script read its time from a key instead of the server's
// clock: milliseconds, under the name clock.
func WithClock(source, clock string) string {
	read := "(function() local ms = tonumber(redis.call('GET', '" + clock + "'))" +
		" return {tostring(math.floor(ms / 1000)), tostring(ms % 1000 * 1000)} end)()"
	return strings.ReplaceAll(source, "call('TIME')", read)
}
