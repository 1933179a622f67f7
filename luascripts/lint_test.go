package luascripts_test

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/luascripts"
)

// What the scripts may use, and what their headers owe the reader.

// commands of Redis 6.2, and of the in-memory Redis.
const commands = "DEL HDEL HEXISTS HGET HLEN HMGET HSCAN HSET TIME TYPE ZADD ZCARD ZCOUNT ZMSCORE ZRANGE ZRANGEBYSCORE ZRANK ZREM ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREVRANGE ZSCORE"

// Lua makes texts of 14 digits from numbers. Where a script does that, the
// number is a small one.
var smallNumbers = []string{
	`return redis.error_reply('' .. i)`,
	`if tostring(known) ~= ARGV[3] then changed = changed + 1 end`,
}

func TestEveryScriptIsEmbedded(t *testing.T) {
	files, err := filepath.Glob("*.lua")
	if err != nil {
		t.Fatal(err)
	}
	sources := luascripts.Sources()
	if len(files) != len(sources) {
		t.Errorf("%d files, %d scripts", len(files), len(sources))
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	methods := reflect.TypeFor[*luascripts.Scripts]()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(file, ".lua")
		if sources[name] != string(text) {
			t.Errorf("%s is not embedded", file)
		}
		told := regexp.MustCompile(`\[Scripts\.(\w+)\] \(` + regexp.QuoteMeta(file) + `\)`).FindStringSubmatch(string(doc))
		if told == nil {
			t.Errorf("%s is not told of in doc.go, behind its method", file)
		} else if _, typed := methods.MethodByName(told[1]); !typed {
			t.Errorf("%s has no method %s", file, told[1])
		}
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
	for name, source := range luascripts.Sources() {
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
	for name, source := range luascripts.Sources() {
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
