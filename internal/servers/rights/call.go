package rights

import "slices"

// least is how many words a command needs, if that is more than itself and a key. Repaired servers (Redis 8.2.9, and
// Debian's 8.0.2 since deb13u3) refuse to judge a call with fewer.
var least = map[string]int{
	"hdel": 3, "hget": 3, "hmget": 3, "hscan": 3, "hset": 4, "pexpire": 3, "publish": 3, "sadd": 3, "sismember": 3, "spublish": 3, "sscan": 3,
	"zadd": 4, "zcount": 4, "zmscore": 3, "zrange": 4, "zrangebyscore": 4, "zrank": 3, "zrem": 3, "zremrangebyrank": 4,
	"zremrangebyscore": 4, "zrevrange": 4, "zscore": 3,
}

// call is a call of a command on a key or channel, complete enough to be judged.
func call(command, name string) []string {
	words := []string{command, name}
	return append(words, slices.Repeat([]string{"0"}, max(0, least[command]-len(words)))...)
}
