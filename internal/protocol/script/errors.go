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
func Err(cmd redis.Cmder) error { return ErrOn(cmd, "") }

// ErrOn is the same for a command that may be no script's, but one on a key.
func ErrOn(cmd redis.Cmder, key string) error {
	if keys := keysOf(cmd); keys != nil {
		key = strings.Join(keys, " or ")
	}
	return WrongType(cmd.Err(), key)
}

// keysOf are the keys in the line of a script that has failed at one of a wrong type; nil: it is not known.
func keysOf(cmd redis.Cmder) (keys []string) {
	err, args := cmd.Err(), cmd.Args()
	if !IsWrongType(err) || len(args) < 3 {
		return nil
	}
	m := failedAt.FindStringSubmatch(err.Error())
	if m == nil {
		return nil
	}
	source, _ := args[1].(string)
	if text, byHash := sources[source]; byHash {
		source = text
	}
	lines := strings.Split(source, "\n")
	at, _ := strconv.Atoi(m[1])
	if at < 1 || at > len(lines) {
		return nil
	}
	for _, m := range commandOnKey.FindAllStringSubmatch(lines[at-1], -1) {
		if key := keyNamed(m[1], args); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// IsWrongType reports whether a key has a wrong type, which asking again does not change.
func IsWrongType(err error) bool { return err != nil && strings.Contains(err.Error(), "WRONGTYPE") }

// WrongType is the error of a command on a key, and names it if that has a wrong type. Without a key it is the error.
func WrongType(err error, key string) error {
	if key != "" && IsWrongType(err) {
		err = fmt.Errorf("%s is not of the type that RMQ keeps there: %w", key, err)
	}
	return err
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
