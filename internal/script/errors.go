package script

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// failedAt finds the line of a script in an error of Redis, and commandOnKey the keys in
// that line.
var (
	failedAt     = regexp.MustCompile(`user_script:(\d+)`)
	commandOnKey = regexp.MustCompile(`\bcall\('[A-Z]+', (\w+)`)
)

// Err is the error of a call. When a key has a wrong type, because another program stored
// something there, it names the keys it can be about. Redis only names the line of the script,
// and a slot stands still until its key is mended: the log of its worker must name it.
//
// The scripts call a key by what its name begins with, as prepare{orders_3}, and the one
// without a beginning, orders_3, store.
func Err(cmd redis.Cmder) error {
	err := cmd.Err()
	if err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		return err
	}
	m, args := failedAt.FindStringSubmatch(err.Error()), cmd.Args()
	if m == nil || len(args) < 3 {
		return err
	}
	source, _ := args[1].(string)
	if text, byHash := sources[source]; byHash {
		source = text
	}
	lines := strings.Split(source, "\n")
	at, _ := strconv.Atoi(m[1])
	if at < 1 || at > len(lines) {
		return err
	}
	var keys []string
	for _, m := range commandOnKey.FindAllStringSubmatch(lines[at-1], -1) {
		if key := keyNamed(m[1], args); key != "" {
			keys = append(keys, key)
		}
	}
	if keys == nil {
		return err
	}
	return fmt.Errorf("%s is not of the type that RMQ keeps there: %w", strings.Join(keys, " or "), err)
}

// keyNamed is the key of a call that its script calls by a name; empty: there is none.
func keyNamed(name string, args []any) string {
	count, _ := args[2].(int)
	for _, arg := range args[3 : 3+count] {
		key, _ := arg.(string)
		if p, ok := arg.(*string); ok {
			key = *p
		}
		begin, _, tagged := strings.Cut(key, "{")
		if !tagged {
			begin = "store"
		}
		if begin == name {
			return key
		}
	}
	return ""
}
