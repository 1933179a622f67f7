package rights

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

var ctx = context.Background()

const (
	sender = "~orders_* ~rmq:def{orders} ~rmq:topics &rmq:wake{orders} +evalsha +eval +time +publish " +
		"+zadd +zcard +zmscore +hdel +hmget +hset +sadd +sismember"
	worker = sender + " ~prepare{orders_*} ~retry{orders_*} ~dead{orders_*} ~meta{orders_*} ~why{orders_*} ~rmq:workers{orders} ~rmq:gone{orders} ~rmq:policy{orders} ~rmq:probing{orders} ~rmq:running{orders} ~rmq:plans{orders} ~plan{orders_*} ~rule{orders_*} " +
		"+smembers +subscribe +ping +pexpire +del +exists +hget +hlen +zcount +zrange +zrangebyscore +zrem +zremrangebyrank +zrevrange +zscore"
)

// grant makes user u be what the line says, and nothing else.
func grant(t *testing.T, admin redis.UniversalClient, line string) {
	t.Helper()
	args := []any{"acl", "setuser", "u", "reset", "on", ">p"}
	for _, word := range strings.Fields(line) {
		args = append(args, word)
	}
	if err := admin.Do(ctx, args...).Err(); err != nil {
		t.Fatal(line, err)
	}
}

func as(o *redis.Options) { o.Username, o.Password = "u", "p" }

// without takes rights away from a line.
func without(line string, rights ...string) string {
	kept := strings.Fields(line)
	for _, r := range rights {
		for i := range kept {
			if kept[i] == r {
				kept[i] = ""
			}
		}
	}
	return strings.Join(kept, " ")
}

func TestCheckNamesAllThatIsMissing(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	admin, rdb := server.Client(t), server.Client(t, as)
	orders, bills := Topic{Name: "orders", Slots: 16}, Topic{Name: "bills", Slots: 1}
	noted := orders
	noted.Notes = true
	const allKeys = "~dead{orders_*}, ~meta{orders_*}, ~orders_*, ~plan{orders_*}, ~prepare{orders_*}, ~retry{orders_*}, ~rmq:def{orders}, ~rmq:gone{orders}, ~rmq:plans{orders}, ~rmq:policy{orders}, ~rmq:probing{orders}, ~rmq:running{orders}, ~rmq:topics, ~rmq:workers{orders}, ~rule{orders_*}, ~why{orders_*}"
	for _, c := range []struct {
		what   string
		need   Need
		topics []Topic
		line   string
		lacks  string
	}{
		{"a sender", Need{}, []Topic{orders}, sender, ""},
		{"a worker", Need{Worker: true}, []Topic{orders}, worker, ""},
		{"a sender with plans", Need{Plans: true}, []Topic{orders}, sender + " ~rmq:plans{orders} ~rmq:ended{orders} ~plan{orders_*} ~rule{orders_*} +hget +hscan +pexpire +sscan +zrem +zremrangebyscore +zscore", ""},
		{"a sender who sets plans", Need{Plans: true}, []Topic{orders}, sender, "+hget, +hscan, +pexpire, +sscan, +zrem, +zremrangebyscore, +zscore, ~plan{orders_*}, ~rmq:ended{orders}, ~rmq:plans{orders}, ~rule{orders_*}"},
		{"everything", Need{Worker: true, Durable: true}, []Topic{orders, bills}, "~* &* +@all", ""},
		{"a sender who works", Need{Worker: true}, []Topic{orders}, sender,
			"+del, +exists, +hget, +hlen, +pexpire, +ping, +smembers, +subscribe, +zcount, +zrange, +zrangebyscore, +zrem, +zremrangebyrank, +zrevrange, +zscore, " +
				"~dead{orders_*}, ~meta{orders_*}, ~plan{orders_*}, ~prepare{orders_*}, ~retry{orders_*}, ~rmq:gone{orders}, ~rmq:plans{orders}, ~rmq:policy{orders}, ~rmq:probing{orders}, ~rmq:running{orders}, ~rmq:workers{orders}, ~rule{orders_*}, ~why{orders_*}"},
		{"some of each", Need{Worker: true}, []Topic{orders}, without(worker, "+zrem", "~prepare{orders_*}", "&rmq:wake{orders}"),
			"+zrem, ~prepare{orders_*}, &rmq:wake{orders}"},
		{"no keys", Need{Worker: true}, []Topic{orders}, "+@all &*", allKeys},
		{"no channels", Need{Worker: true}, []Topic{orders}, "+@all ~*", "&rmq:wake{orders}"},
		{"no channel for a sender", Need{}, []Topic{orders}, "+@all ~*", "&rmq:wake{orders}"},
		{"no commands on channels", Need{Worker: true}, []Topic{orders}, "~* &* +@all -publish -subscribe", "+publish, +subscribe, &rmq:wake{orders}"},
		{"no publish", Need{}, []Topic{orders}, without(sender, "+publish"), "+publish"},
		{"no subscribe", Need{Worker: true}, []Topic{orders}, without(worker, "+subscribe"), "+subscribe"},
		{"keys to read only", Need{}, []Topic{orders}, without(sender, "~orders_*") + " %R~orders_*", "+zadd on ~orders_*"},
		{"no replicas", Need{Durable: true}, []Topic{orders}, sender, "+wait"},
		{"a second topic", Need{Worker: true}, []Topic{orders, bills}, without(worker, "+hlen"),
			"+hlen, ~bills_*, ~dead{bills_*}, ~meta{bills_*}, ~plan{bills_*}, ~prepare{bills_*}, ~retry{bills_*}, ~rmq:def{bills}, ~rmq:gone{bills}, ~rmq:plans{bills}, ~rmq:policy{bills}, ~rmq:probing{bills}, ~rmq:running{bills}, ~rmq:workers{bills}, ~rule{bills_*}, ~why{bills_*}, &rmq:wake{bills}"},
		{"a sender who extends", Need{Extends: true}, []Topic{orders}, sender, "+zrange, +zrem, ~first{orders_*}, ~prepare{orders_*}"},
		{"granted", Need{Extends: true}, []Topic{orders}, sender + " ~first{orders_*} ~prepare{orders_*} +zrange +zrem", ""},
		{"a sender of unique ones", Need{Unique: true}, []Topic{orders}, sender, "+zrangebyscore, +zrem, ~seen{orders_*}"},
		{"who may", Need{Unique: true}, []Topic{orders}, sender + " ~seen{orders_*} +zrangebyscore +zrem", ""},
		{"a sender to a topic with notes", Need{}, []Topic{noted}, sender, "+hget, ~meta{orders_*}, ~note{orders_*}"},
		{"a sender with a journal", Need{Journal: true}, []Topic{orders}, sender, "+hget, ~meta{orders_*}"},
		{"who may journal", Need{Journal: true}, []Topic{orders}, sender + " ~meta{orders_*} +hget", ""},
		{"a sender with notes", Need{}, []Topic{noted}, sender + " ~note{orders_*} ~meta{orders_*} +hget", ""},
		{"odd names", Need{}, []Topic{{Name: "to do[1]*", Slots: 2}}, sender, `~rmq:def{to?do\[1\]\*}, ~to?do\[1\]\*_*, &rmq:wake{to?do\[1\]\*}`},
		{"odd names granted", Need{}, []Topic{{Name: "to do[1]*", Slots: 2}}, sender + ` ~rmq:def{to?do\[1\]\*} ~to?do\[1\]\*_* &rmq:wake{to?do\[1\]\*}`, ""},
		{"no scripts", Need{}, []Topic{orders}, without(sender, "+evalsha"), "grant Redis user \"u\" +evalsha (docs/DEPLOYMENT.md has the whole line)"},
		{"no eval", Need{}, []Topic{orders}, without(sender, "+eval"), "+eval"},
	} {
		grant(t, admin, c.line)
		err := Check(ctx, rdb, c.need, c.topics...)
		switch {
		case c.lacks == "":
			if err != nil {
				t.Errorf("%s: %v", c.what, err)
			}
		case strings.HasPrefix(c.lacks, "grant"):
			if err == nil || !strings.Contains(err.Error(), c.lacks) {
				t.Errorf("%s: %v", c.what, err)
			}
		default:
			want := fmt.Sprintf("Redis user \"u\" lacks rights: %s; see docs/DEPLOYMENT.md", c.lacks)
			if err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s: %v\nwant %s", c.what, err, want)
			}
		}
	}
}

// Each server of a Cluster has its own users, and a worker needs them all.
func TestCheckAsksEachServer(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 3, 0)
	const ofCluster = " +cluster|slots +command +asking +spublish +ssubscribe &rmq:wake{orders_*}"
	all := func(line string) {
		for _, node := range cluster.Nodes() {
			grant(t, node.Client(t), line)
		}
	}
	all(worker + ofCluster)
	rdb := cluster.Client(t, func(o *redis.ClusterOptions) { o.Username, o.Password = "u", "p" })
	orders := Topic{Name: "orders", Slots: 16}
	if err := Check(ctx, rdb, Need{Worker: true}, orders); err != nil {
		t.Error(err)
	}
	odd := cluster.Nodes()[1]
	grant(t, odd.Client(t), without(worker+ofCluster, "+hlen", "+asking"))
	err := Check(ctx, rdb, Need{Worker: true}, orders)
	if want := "server " + odd.Addr() + `: Redis user "u" lacks rights: +asking, +hlen; see`; err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
	all("~* &rmq:wake{orders} +@all -spublish -ssubscribe") // who restores publishes to all masters
	if err := Check(ctx, rdb, Need{Restores: true}, orders); err != nil {
		t.Error(err)
	}
	all(without(sender+ofCluster, "+command"))
	err = Check(ctx, rdb, Need{}, orders)
	if err == nil || !strings.Contains(err.Error(), "lacks rights: +command; see") {
		t.Error(err)
	}
}

// A Redis that knows no rights has nothing to say.
func TestInMemoryNothingIsChecked(t *testing.T) {
	t.Parallel()
	_, rdb := servertest.Memory(t)
	if err := Check(ctx, rdb, Need{Worker: true, Durable: true}, Topic{Name: "orders", Slots: 16}); err != nil {
		t.Error(err)
	}
}

// answer is an error that Redis answered.
type answer string

func (a answer) Error() string { return string(a) }
func (answer) RedisError()     {}

// Releases have words of their own for what a script may not do, which differ between
// the releases. These are those of Redis 7.0, of 8.0 and of Valkey 8.1.
func TestExplainWithinScripts(t *testing.T) {
	t.Parallel()
	const within = " script: 3c6d58e5, on @user_script:10."
	for _, c := range []struct{ said, want string }{
		{"ERR The user executing the script can't run this command or subcommand" + within, "the whole line in docs/DEPLOYMENT.md"},
		{"ERR The user executing the script can't access at least one of the keys mentioned in the command arguments" + within, "the whole line in docs/DEPLOYMENT.md"},
		{"ERR ACL failure in script: User u has no permissions to run the 'hget' command" + within, "+hget (docs/DEPLOYMENT.md has the whole line)"},
		{"ERR ACL failure in script: No permissions to access a key" + within, "the keys and channels in docs/DEPLOYMENT.md"},
		{"ERR ACL failure in script: No permissions to access a channel" + within, "the keys and channels in docs/DEPLOYMENT.md"},
		{"ERR Error running script: they run the 'x' command", ""},
	} {
		err := fmt.Errorf("count slot a_0: %w", answer(c.said))
		want := err.Error()
		if c.want != "" {
			want = `grant Redis user "u" ` + c.want + ": " + want
		}
		if got := Explain(err, `"u"`); got.Error() != want || !errors.Is(got, answer(c.said)) {
			t.Errorf("%v\nwant %s", got, want)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t, "--requirepass", "secret")
	grant(t, server.Client(t), "+select")
	for _, c := range []struct {
		adjust func(*redis.Options)
		says   string
	}{
		{as, `grant Redis user "u" +ping (docs/DEPLOYMENT.md has the whole line): NOPERM`},
		{func(o *redis.Options) { o.Username = "x" }, `Redis does not know user "x" with this password, or the user is off; mend Username and Password of the Redis client: `},
		{func(o *redis.Options) { o.Password = "" }, `Redis asks for a password; set Password of the Redis client`},
	} {
		rdb := server.Client(t, c.adjust)
		plain := rdb.Ping(ctx).Err()
		err := Explain(plain, User(rdb))
		if err == nil || !errors.Is(err, plain) || !strings.HasPrefix(err.Error(), c.says) {
			t.Errorf("%v, want %s", err, c.says)
		}
	}
	grant(t, server.Client(t), "+get")
	rdb := server.Client(t, as)
	if err := Explain(rdb.Get(ctx, "k").Err(), User(rdb)); err == nil || !strings.HasPrefix(err.Error(), `grant Redis user "u" the keys and channels in docs/DEPLOYMENT.md: NOPERM`) {
		t.Error(err)
	}
	grant(t, server.Client(t), "+eval ~k")
	rdb = server.Client(t, as)
	refused := rdb.Eval(ctx, "return redis.call('GET', KEYS[1])", []string{"k"}).Err()
	if err := Explain(refused, User(rdb)); !errors.Is(err, refused) || !strings.HasPrefix(err.Error(), `grant Redis user "u" `) || !strings.Contains(err.Error(), "the whole line") {
		t.Error(err)
	}
	grant(t, server.Client(t), "+@all")
	rdb = server.Client(t, as, func(o *redis.Options) { o.DB = 3 })
	for _, other := range []error{nil, redis.Nil, context.Canceled, rdb.Do(ctx, "nonsense").Err()} {
		if err := Explain(other, `"u"`); err != other {
			t.Errorf("%v became %v", other, err)
		}
	}
}
