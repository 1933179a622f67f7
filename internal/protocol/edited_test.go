package protocol_test

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/luascripts"
)

// luaFolder has the scripts.
const luaFolder = "../../luascripts"

// sources are all scripts, those for programs and those for people, by the name of their file
// without ".lua".
var sources = func() map[string]string {
	all := map[string]string{}
	for _, pattern := range []string{"*.lua", "byhand/*.lua"} {
		files, err := filepath.Glob(filepath.Join(luaFolder, pattern))
		if err != nil || len(files) == 0 {
			panic("no scripts in " + pattern)
		}
		for _, file := range files {
			all[strings.TrimSuffix(filepath.Base(file), ".lua")] = luascripts.Source(strings.TrimPrefix(filepath.ToSlash(file), luaFolder+"/"))
		}
	}
	return all
}()

// withClock makes a script read its time from a key instead of the server's
// clock: milliseconds, under the name clock.
func withClock(source, clock string) string {
	read := "(function() local ms = tonumber(redis.call('GET', '" + clock + "'))" +
		" return {tostring(math.floor(ms / 1000)), tostring(ms % 1000 * 1000)} end)()"
	return strings.ReplaceAll(source, "call('TIME')", read)
}

// scripts are all scripts on one Redis, with a method for each. Those of the product make a
// command or take several things at once where it needs that; these do one thing and wait.
type scripts struct {
	*protocol.Scripts
	rdb redis.UniversalClient
}

func scriptsOn(rdb redis.UniversalClient) *scripts { return &scripts{protocol.New(rdb), rdb} }

// edited are scripts whose sources were edited: damaged, or with a clock of the test's own.
func edited(rdb redis.UniversalClient, edit func(name, source string) string) *scripts {
	e := editing{rdb, map[string]string{}}
	for name, source := range sources {
		text := edit(name, source)
		e.instead[source] = text
		e.instead[hashOf(source)] = hashOf(text)
	}
	return scriptsOn(e)
}

func hashOf(source string) string { return redis.NewScript(source).Hash() }

// editing is a client that has the server run edited scripts. So the product needs no way to
// change one. A script that is not known here as it is shipped must not be called at all.
type editing struct {
	redis.UniversalClient
	instead map[string]string // by the hash, and by the source, of the shipped one
}

func (e editing) Process(ctx context.Context, cmd redis.Cmder) error {
	defer e.swap(cmd)()
	return e.UniversalClient.Process(ctx, cmd)
}

func (e editing) Do(ctx context.Context, args ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx, args...)
	_ = e.Process(ctx, cmd)
	return cmd
}

func (e editing) Pipeline() redis.Pipeliner {
	return &editingPipe{Pipeliner: e.UniversalClient.Pipeline(), e: e}
}

// swap puts the edited script into a call. Afterwards the shipped one must stand there
// again, since the product knows that it was the one that was called.
func (e editing) swap(cmd redis.Cmder) (back func()) {
	args := cmd.Args()
	if args[0] != "evalsha" && args[0] != "eval" {
		return func() {}
	}
	shipped := args[1].(string)
	instead, known := e.instead[shipped]
	if !known {
		panic("a script that stands in no file: " + shipped)
	}
	args[1] = instead
	return func() { args[1] = shipped }
}

type editingPipe struct {
	redis.Pipeliner
	e    editing
	back []func()
}

func (p *editingPipe) BatchProcess(ctx context.Context, cmds ...redis.Cmder) error {
	for _, cmd := range cmds {
		p.back = append(p.back, p.e.swap(cmd))
	}
	return p.Pipeliner.BatchProcess(ctx, cmds...)
}

func (p *editingPipe) Exec(ctx context.Context) ([]redis.Cmder, error) {
	defer func() {
		for _, back := range p.back {
			back()
		}
	}()
	return p.Pipeliner.Exec(ctx)
}

// Turn takes one turn.
func (s *scripts) Turn(ctx context.Context, t *protocol.Turn) (protocol.Answer, error) {
	cmd := s.TurnCmd(ctx, t)
	s.Exec(ctx, cmd)
	return protocol.TurnAnswer(t, cmd)
}

// Touch begins the lease of a batch anew.
func (s *scripts) Touch(ctx context.Context, k protocol.SlotKeys, worker string, number int64) (held bool, err error) {
	held, _, err = s.Keep(ctx, k, worker, number, true)
	return held, err
}

// Define defines one topic.
func (s *scripts) Define(ctx context.Context, topic string, d protocol.Definition) (protocol.Definition, error) {
	held, errs := s.Scripts.Define(ctx, []string{topic}, []protocol.Definition{d})
	return held[0], errs[0]
}

// Members shows one worker in the list of a topic, or takes it out.
func (s *scripts) Members(ctx context.Context, topic, worker string, ttl time.Duration, here bool) (members []string, changed bool, err error) {
	cmd := s.MembersCmd(ctx, topic, worker, ttl, here)
	s.Exec(ctx, cmd)
	return protocol.MembersAnswer(topic, worker, cmd)
}

// DuePlans asks which occurrences of a slot are due.
func (s *scripts) DuePlans(ctx context.Context, k protocol.PlanKeys, most int) (protocol.Due, error) {
	cmd := s.DuePlansCmd(ctx, k, most)
	s.Exec(ctx, cmd)
	return protocol.DuePlansAnswer(k, cmd)
}

// FirePlan sends one occurrence.
func (s *scripts) FirePlan(ctx context.Context, k protocol.PlanKeys, o protocol.Occurrence, next int64, content string, score int64) (protocol.PlanAnswer, error) {
	cmd := s.FirePlanCmd(ctx, k, o, next, content, score)
	s.Exec(ctx, cmd)
	return protocol.FirePlanAnswer(k, o, cmd)
}

// Count counts one slot.
func (s *scripts) Count(ctx context.Context, k protocol.SlotKeys, priority bool) (byhand.Counts, error) {
	cmd := byhand.CountCmd(ctx, k, priority)
	s.Exec(ctx, cmd)
	return byhand.CountAnswer(k, cmd)
}

// Find looks for a content in one slot.
func (s *scripts) Find(ctx context.Context, k protocol.SlotKeys, priority bool, content string) (byhand.Found, error) {
	cmd := byhand.FindCmd(ctx, k, true, priority, content)
	s.Exec(ctx, cmd)
	return byhand.FindAnswer(k, cmd)
}

// Audit reads a part of one slot.
func (s *scripts) Audit(ctx context.Context, k protocol.SlotKeys, part byhand.Part, from string, count int) (*byhand.Audit, error) {
	return byhand.ReadAudit(ctx, s.rdb, k, part, from, count)
}

// Pause stops one slot, or lets it go on.
func (s *scripts) Pause(ctx context.Context, k protocol.SlotKeys, pause bool) (changed bool, before time.Time, err error) {
	cmd := byhand.PauseCmd(ctx, k, pause)
	s.Exec(ctx, cmd)
	return byhand.PauseAnswer(k, cmd)
}

// Reschedule gives a content that waits another time or priority.
func (s *scripts) Reschedule(ctx context.Context, k protocol.SlotKeys, content string, m byhand.Move) (where byhand.Place, before, after int64, err error) {
	return byhand.Reschedule(ctx, s.rdb, k, content, m)
}

// Requeue delivers dead contents of one slot again.
func (s *scripts) Requeue(ctx context.Context, k protocol.SlotKeys, priority bool, give int64, dead []byhand.DeadItem) ([]byhand.DeadResult, error) {
	cmd := byhand.RequeueCmd(ctx, k, true, priority, give, dead)
	s.Exec(ctx, cmd)
	return byhand.DeadResults(k, cmd)
}

// Delete forgets dead contents of one slot.
func (s *scripts) Delete(ctx context.Context, k protocol.SlotKeys, dead []byhand.DeadItem) ([]byhand.DeadResult, error) {
	cmd := byhand.DeleteCmd(ctx, k, dead)
	s.Exec(ctx, cmd)
	return byhand.DeadResults(k, cmd)
}
