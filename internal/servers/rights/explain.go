package rights

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// User returns the name of the Redis user of rdb, in quotes; "default" unless it names one.
func User(rdb redis.UniversalClient) string {
	name := ""
	switch c := rdb.(type) {
	case *redis.Client:
		name = c.Options().Username
	case *redis.ClusterClient:
		name = c.Options().Username
	}
	if name == "" {
		name = "default"
	}
	return strconv.Quote(name)
}

// refused finds the command in a refusal of Redis.
var refused = regexp.MustCompile(`run the '([^' ]+)' command`)

// denied reports whether err says that the user lacks a right. In scripts, Redis 7.2
// and newer, and Valkey, use another text.
func denied(err error) bool {
	return redis.HasErrorPrefix(err, "NOPERM") || redis.HasErrorPrefix(err, "ACL failure in script")
}

// Denied reports whether err says that the user lacks a right, in the words of any release.
func Denied(err error) bool {
	return err != nil && (denied(err) || strings.Contains(err.Error(), notInScripts))
}

// notInScripts is what Redis 7.0 says in scripts, without naming the missing right.
const notInScripts = "The user executing the script can't"

// command is the one that err says may not be run, or empty.
func command(err error) string {
	if m := refused.FindStringSubmatch(err.Error()); m != nil {
		return m[1]
	}
	return ""
}

// Explain adds what to do to an error of Redis that refuses a command, or the user
// altogether. Every other error stays as it is.
func Explain(err error, user string) error {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return err
	}
	switch name := command(err); {
	case denied(err) && name != "":
		return fmt.Errorf("grant Redis user %s +%s (%s has the whole line): %w", user, name, document, err)
	case denied(err):
		return fmt.Errorf("grant Redis user %s the keys and channels in %s: %w", user, document, err)
	case strings.Contains(err.Error(), notInScripts):
		return fmt.Errorf("grant Redis user %s the whole line in %s: %w", user, document, err)
	case redis.HasErrorPrefix(err, "WRONGPASS"):
		return fmt.Errorf("Redis does not know user %s with this password, or the user is off; "+
			"mend Username and Password of the Redis client: %w", user, err)
	case redis.HasErrorPrefix(err, "NOAUTH"), redis.HasErrorPrefix(err, "Protocol error: unauthenticated"): // the latter for long commands
		return fmt.Errorf("Redis asks for a password; set Password of the Redis client, and Username if it is not user \"default\": %w", err)
	}
	return err
}
