package protocol_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
)

// What the scripts may use, and what their headers owe the reader.

// commands of Redis 6.2, and of the in-memory Redis.
const commands = "DEL HDEL HGET HLEN HMGET HSCAN HSET PEXPIRE TIME TYPE ZADD ZCARD ZCOUNT ZMSCORE ZRANGE ZRANGEBYSCORE ZRANK ZREM ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREVRANGE ZSCORE"

// Lua makes texts of 14 digits from numbers. Where a script does that, the
// number is a small one.
var smallNumbers = []string{
	`return redis.error_reply('' .. i)`,
	`if tostring(known) ~= ARGV[3] then changed = changed + 1 end`,
}

// called is a client that notes which script is called, and answers nothing.
type called struct {
	redis.UniversalClient
	hash any
}

func (c *called) Process(_ context.Context, cmd redis.Cmder) error {
	c.hash = cmd.Args()[1]
	cmd.SetErr(errors.New("no answer"))
	return cmd.Err()
}

func (c *called) Pipeline() redis.Pipeliner { return calledPipe{nil, c} }

// calledPipe is a pipeline whose first command calls a script.
type calledPipe struct {
	redis.Pipeliner
	c *called
}

func (p calledPipe) BatchProcess(ctx context.Context, cmds ...redis.Cmder) error {
	for _, cmd := range cmds[1:] {
		cmd.SetErr(errors.New("no answer"))
	}
	return p.c.Process(ctx, cmds[0])
}

func (p calledPipe) Exec(context.Context) ([]redis.Cmder, error) { return nil, nil }

// documented calls each script by the function that doc.go names beside its file.
var documented = map[string]func(s *scripts){
	"Scripts.TurnCmd":     func(s *scripts) { _, _ = s.Turn(ctx, &protocol.Turn{}) },
	"Scripts.Keep":        func(s *scripts) { _, _ = s.Touch(ctx, protocol.SlotKeys{}, "a", 1) },
	"Scripts.FirePlanCmd": func(s *scripts) { _, _ = s.FirePlan(ctx, protocol.PlanKeys{}, protocol.Occurrence{}, 0, "x", 1) },
	"Scripts.Cancel":      func(s *scripts) { _, _, _ = s.Cancel(ctx, protocol.SlotKeys{}, false, "x") },
	"Scripts.Deaths":      func(s *scripts) { _, _ = s.Deaths(ctx, protocol.SlotKeys{}, "", 1) },
	"Scripts.AddArgs":     func(s *scripts) { s.Exec(ctx, redis.NewCmd(ctx, s.AddArgs("s", false, 1)...)) },
	"Scripts.SendArgs":    func(s *scripts) { s.Exec(ctx, redis.NewCmd(ctx, s.SendArgs("s", protocol.SendNote, false, 1)...)) },
	"Scripts.ForgetCmd":   func(s *scripts) { s.Exec(ctx, s.ForgetCmd(ctx, protocol.SlotKeys{}, nil)) },
	"Scripts.Define":      func(s *scripts) { _, _ = s.Define(ctx, "t", protocol.Definition{}) },
	"Scripts.MembersCmd":  func(s *scripts) { _, _, _ = s.Members(ctx, "t", "a", time.Second, true) },
	"Scripts.Rights":      func(s *scripts) { _, _ = s.Rights(ctx, [][]string{{"ping"}}) },
	"Scripts.PolicyCmd":   func(s *scripts) { s.Exec(ctx, s.PolicyCmd(ctx, "t")) },
	"CountCmd":            func(s *scripts) { _, _ = s.Count(ctx, protocol.SlotKeys{}, true) },
	"FindCmd":             func(s *scripts) { _, _ = s.Find(ctx, protocol.SlotKeys{}, true, "x") },
	"PageCmd":             func(s *scripts) { s.Exec(ctx, byhand.PageCmd(ctx, byhand.PageAsk{})) },
	"ReadAudit":           func(s *scripts) { _, _ = s.Audit(ctx, protocol.SlotKeys{}, byhand.PartWhy, "0", 1) },
	"PauseCmd":            func(s *scripts) { _, _, _ = s.Pause(ctx, protocol.SlotKeys{}, true) },
	"Reschedule":          func(s *scripts) { _, _, _, _ = s.Reschedule(ctx, protocol.SlotKeys{}, "x", byhand.Move{}) },
	"Limit":               func(s *scripts) { _, _ = byhand.Limit(ctx, s.rdb, "t", protocol.Policy{}) },
	"RestoreCmd":          func(s *scripts) { s.Exec(ctx, byhand.RestoreCmd(ctx, protocol.SlotKeys{}, true, 0, nil)) },
	"PurgeCmd":            func(s *scripts) { s.Exec(ctx, byhand.PurgeCmd(ctx, protocol.SlotKeys{}, true, byhand.Purge{})) },
	"RequeueCmd":          func(s *scripts) { _, _ = s.Requeue(ctx, protocol.SlotKeys{}, true, 0, nil) },
}

func TestEveryScriptIsEmbedded(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, folder := range []string{".", "byhand"} {
		files, err := filepath.Glob(filepath.Join(luaFolder, folder, "*.lua"))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := os.ReadFile(filepath.Join(folder, "doc.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			seen++
			base := filepath.Base(file)
			told := regexp.MustCompile(`\[([\w.]+)\] \(` + regexp.QuoteMeta(base) + `\)`).FindStringSubmatch(string(doc))
			if told == nil {
				t.Errorf("doc.go does not name %s behind its function", file)
				continue
			}
			call, known := documented[told[1]]
			if !known {
				t.Errorf("doc.go names %s for %s, which this test does not know", told[1], file)
				continue
			}
			c := &called{}
			call(scriptsOn(c))
			if source := sources[strings.TrimSuffix(base, ".lua")]; c.hash != hashOf(source) {
				t.Errorf("%s does not call %s as it stands in the file", told[1], file)
			}
		}
	}
	if seen != len(sources) || seen != len(documented) {
		t.Errorf("%d files, %d scripts, %d functions", seen, len(sources), len(documented))
	}
}

var (
	commandCall  = regexp.MustCompile(`\bcall\(('([A-Z]*)')?`)
	foreignWords = regexp.MustCompile(`\b(cjson|cmsgpack|struct|bit|os|io|debug|loadstring|dofile|print|pcall|setresp|replicate_commands|math\.random)\b`)
	indexed      = regexp.MustCompile(`\b(KEYS|ARGV)\[(\d+)\]`)
	literals     = regexp.MustCompile(`'[^']*'`)
	answered     = regexp.MustCompile(`(?:\{|\bword = )'([A-Z]+)'`)
	theRest      = regexp.MustCompile(`\b\d+\.\. `)
)

// parts splits a script into its header and its code without comments.
func parts(source string) (header, code string) {
	lines := strings.Split(source, "\n")
	n := slices.IndexFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "--") })
	for i, line := range lines[n:] {
		if before, _, comment := strings.Cut(line, "--"); comment {
			lines[n+i] = before
		}
	}
	return strings.Join(lines[:n], "\n"), strings.Join(lines[n:], "\n")
}

func TestScriptsUseLittle(t *testing.T) {
	t.Parallel()
	for name, source := range sources {
		_, code := parts(source)
		for _, m := range commandCall.FindAllStringSubmatch(code, -1) {
			if !contains(commands, m[2]) {
				t.Errorf("%s: command %q: not of Redis 6.2, or not written out", name, m[2])
			}
		}
		bare := literals.ReplaceAllString(code, "''")
		if m := foreignWords.FindString(bare); m != "" {
			t.Errorf("%s uses %s", name, m)
		}
		for line := range strings.Lines(bare) {
			line = strings.TrimSpace(line)
			if (strings.Contains(line, "..") || strings.Contains(line, "tostring")) && !slices.Contains(smallNumbers, line) {
				t.Errorf("%s makes a text of a number: %s", name, line)
			}
		}
	}
}

func TestHeadersTellKeysArgumentsAndAnswers(t *testing.T) {
	t.Parallel()
	for name, source := range sources {
		header, code := parts(source)
		if !strings.HasPrefix(header, "-- "+name+": ") {
			t.Errorf("%s: the header does not begin with the name", name)
		}
		for _, part := range []string{"GUARANTEE", "KEYS", "ARGV", "ANSWERS"} {
			if !strings.Contains(header, part) {
				t.Errorf("%s: no %s in the header", name, part)
			}
		}
		_, rest, _ := strings.Cut(header, "KEYS")
		keys, rest, _ := strings.Cut(rest, "ARGV")
		arguments, answers, _ := strings.Cut(rest, "ANSWERS")

		used := map[string]int{}
		for _, m := range indexed.FindAllStringSubmatch(code, -1) {
			n, _ := strconv.Atoi(m[2])
			used[m[1]] = max(used[m[1]], n)
		}
		for what, n := range used {
			for i := 1; i <= n; i++ {
				if !strings.Contains(code, what+"["+strconv.Itoa(i)+"]") {
					t.Errorf("%s does not use %s[%d]", name, what, i)
				}
			}
		}
		if n := numbered(keys); n != used["KEYS"] {
			t.Errorf("%s: the header tells of %d keys, %d are used", name, n, used["KEYS"])
		}
		want := used["ARGV"]
		if strings.Contains(code, "#ARGV") && theRest.MatchString(arguments) {
			want++
		}
		if n := numbered(arguments); n != want {
			t.Errorf("%s: the header tells of %d arguments, %d are used", name, n, want)
		}

		told, given := map[string]bool{}, map[string]bool{}
		for _, word := range regexp.MustCompile(`\b[A-Z]{4,}\b`).FindAllString(answers, -1) {
			told[word] = true
		}
		for _, m := range answered.FindAllStringSubmatch(code, -1) {
			given[m[1]] = true
		}
		if !maps.Equal(told, given) {
			t.Errorf("%s: the header tells of the answers %v, but the script gives %v", name, told, given)
		}
	}
}

// numbered is the last number of a list "1 this  2 that  3.. the rest".
func numbered(list string) int {
	n := 0
	for _, word := range strings.Fields(list) {
		if number, err := strconv.Atoi(strings.TrimSuffix(word, "..")); err == nil && number == n+1 {
			n = number
		}
	}
	return n
}
