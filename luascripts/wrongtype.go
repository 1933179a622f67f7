package luascripts

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// failedAt finds the line of a script in an error of Redis, and commandOnKey the
// keys in a line.
var (
	failedAt     = regexp.MustCompile(`user_script:(\d+)`)
	commandOnKey = regexp.MustCompile(`\bcall\('[A-Z]+', (\w+)`)
)

// wrongType adds to an error of a script which keys it can be about when one has a
// wrong type, put there by somebody. Redis tells the line only, which nobody should
// have to look up.
func (k SlotKeys) wrongType(source string, err error) error {
	m := failedAt.FindStringSubmatch(err.Error())
	if m == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		return err
	}
	lines := strings.Split(source, "\n")
	at, _ := strconv.Atoi(m[1])
	if at < 1 || at > len(lines) {
		return err
	}
	names := map[string]string{
		"store": k.Store, "prepare": k.Prepare, "retry": k.Retry, "dead": k.Dead, "meta": k.Meta, "why": k.Why,
	}
	var keys []string
	for _, m := range commandOnKey.FindAllStringSubmatch(lines[at-1], -1) {
		if key := names[m[1]]; key != "" {
			keys = append(keys, key)
		}
	}
	if keys == nil {
		return err
	}
	return fmt.Errorf("%s is not of the type that RMQ keeps there: %w", strings.Join(keys, " or "), err)
}
