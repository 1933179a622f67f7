package luascripts

import (
	"context"
	_ "embed"
	"strings"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed turn.lua
	turnSource string
	//go:embed touch.lua
	touchSource string
	//go:embed cancel.lua
	cancelSource string
	//go:embed send.lua
	sendSource string
	//go:embed define.lua
	defineSource string
	//go:embed members.lua
	membersSource string
	//go:embed rights.lua
	rightsSource string
	//go:embed slot.lua
	slotSource string
	//go:embed find.lua
	findSource string
	//go:embed audit.lua
	auditSource string
	//go:embed page.lua
	pageSource string
	//go:embed pause.lua
	pauseSource string
	//go:embed dead.lua
	deadSource string
	//go:embed reschedule.lua
	rescheduleSource string
)

// script is a source and the hash Redis knows it by.
type script struct {
	source, hash string
}

func newScript(source string) script {
	return script{source: source, hash: redis.NewScript(source).Hash()}
}

var shipped = Scripts{
	turn:    newScript(turnSource),
	touch:   newScript(touchSource),
	cancel:  newScript(cancelSource),
	send:    newScript(sendSource),
	define:  newScript(defineSource),
	members: newScript(membersSource),
	rights:  newScript(rightsSource),

	slot: newScript(slotSource), find: newScript(findSource), audit: newScript(auditSource), page: newScript(pageSource),
	pause: newScript(pauseSource), dead: newScript(deadSource), reschedule: newScript(rescheduleSource),
}

// Scripts runs the scripts on one Redis, Sentinel group or Cluster.
type Scripts struct {
	rdb redis.UniversalClient

	turn, touch, cancel, send, define, members, rights script // for programs
	slot, find, audit, page, pause, dead, reschedule   script // for people
}

// New returns the scripts for rdb. It does no I/O and costs little.
func New(rdb redis.UniversalClient) *Scripts {
	s := shipped
	s.rdb = rdb
	return &s
}

// Exec sends the commands in one pipeline (one per node of a Cluster). A
// script that a server does not know, because it was restarted, failed over or
// told to forget, is sent again in full; other commands are not repeated.
// Each command holds its own error; Exec returns none.
func (s *Scripts) Exec(ctx context.Context, cmds ...redis.Cmder) {
	s.ExecOnce(ctx, cmds...)
	var unknown []redis.Cmder
	for _, cmd := range cmds {
		if s.Unknown(cmd) {
			unknown = append(unknown, cmd)
		}
	}
	if len(unknown) > 0 {
		s.ExecOnce(ctx, unknown...)
	}
}

// ExecOnce is Exec without sending anything again.
func (s *Scripts) ExecOnce(ctx context.Context, cmds ...redis.Cmder) {
	switch len(cmds) {
	case 0:
		return
	case 1:
		_ = s.rdb.Process(ctx, cmds[0])
		return
	}
	pipe := s.rdb.Pipeline()
	_ = pipe.BatchProcess(ctx, cmds...)
	_, _ = pipe.Exec(ctx)
}

// Unknown reports whether the server did not know the script of a command. Then
// the command holds the source from now on, and may be sent again.
func (s *Scripts) Unknown(cmd redis.Cmder) bool {
	err := cmd.Err()
	return err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") && s.inFull(cmd)
}

// begin starts the arguments of a call of x: as many keys as told come next,
// then the rest. size is how many there will be of both.
func (x *script) begin(size, keys int) []any {
	return append(make([]any, 0, 3+size), "evalsha", x.hash, keys)
}

// inFull turns a call by hash into the same call with the source.
func (s *Scripts) inFull(cmd redis.Cmder) bool {
	args := cmd.Args()
	for _, x := range []*script{
		&s.turn, &s.touch, &s.cancel, &s.send, &s.define, &s.members, &s.rights,
		&s.slot, &s.find, &s.audit, &s.page, &s.pause, &s.dead, &s.reschedule,
	} {
		if args[0] == "evalsha" && args[1] == x.hash {
			args[0], args[1] = "eval", x.source
			cmd.SetErr(nil)
			return true
		}
	}
	return false
}
