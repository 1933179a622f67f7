package commands

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// docs/DEPLOYMENT.md says which rights people need. These tests read the lines there and
// use exactly them.

// account is a line of ACL SETUSER.
type account struct {
	user   string
	rights []string
}

// documented reads the line that follows a marker.
func documented(t *testing.T, marker string) account {
	t.Helper()
	text, err := os.ReadFile("../../docs/DEPLOYMENT.md")
	must.Do(t, err)
	_, rest, found := strings.Cut(string(text), "<!-- acl:"+marker+" -->\n```\nACL SETUSER ")
	line, _, ended := strings.Cut(rest, "\n```\n")
	words := strings.Fields(line)
	if !found || !ended || len(words) < 4 || words[1] != "on" || words[2] != ">secret" {
		t.Fatalf("docs/DEPLOYMENT.md has no line %s: %q", marker, line)
	}
	return account{words[0], words[3:]}
}

// cluster are the rights that the client of a Cluster needs besides.
var clusterRights = strings.Fields("+cluster|slots +asking +command +spublish &rmq:wake{orders_*}")

// grant makes the user be this, without one right.
func (a account) grant(t *testing.T, admin redis.UniversalClient, without string) {
	t.Helper()
	args := []any{"acl", "setuser", a.user, "reset", "on", ">secret"}
	for _, right := range a.rights {
		if right != without {
			args = append(args, right)
		}
	}
	grant := func(ctx context.Context, server *redis.Client) error { return server.Do(ctx, args...).Err() }
	if c, many := admin.(*redis.ClusterClient); many {
		must.Do(t, c.ForEachMaster(ctx, grant))
		return
	}
	must.Do(t, grant(ctx, admin.(*redis.Client)))
}

// at is the URL of a server for that user.
func (a account) at(url string) string {
	return strings.Replace(url, "://", "://"+a.user+":secret@", 1)
}

// atRest fills a topic with something in each state, without any worker.
func atRest(t *testing.T, rdb redis.UniversalClient, kind message.Kind) {
	t.Helper()
	topic := message.Topic{Name: "orders", Kind: kind, Slots: 1}
	k := protocol.KeysOf("orders", 0)
	forget(t, rdb)
	died := time.Now().Add(-time.Hour)
	bury(t, rdb, topic, 4, func(i int) deadOne {
		return deadOne{content: fmt.Sprintf("dead %d", i), died: died, why: whyOf(died, "17", "no such shop")}
	})
	must.Do(t, rdb.ZAdd(ctx, k.Retry, redis.Z{Score: float64(time.Now().Add(time.Hour).UnixMilli()*100 + 15), Member: "flaky"}).Err())
	must.Do(t, rdb.ZAdd(ctx, k.Prepare, redis.Z{Score: float64(time.Now().Unix()*1000 + 16), Member: "busy"}).Err())
	must.Do(t, rdb.HSet(ctx, k.Why, "flaky", whyOf(died, "17", "timed out")).Err())
	must.Do(t, rdb.HSet(ctx, k.Meta, "holder", "app7-1-2", "batch", 3, "until", time.Now().Add(time.Minute).UnixMilli(), "lease", 30_000, "why", 1).Err())
	must.Do(t, rdb.HSet(ctx, protocol.DefinitionKey("orders"), "sharing", "redis").Err())
	must.Do(t, rdb.ZAdd(ctx, protocol.WorkersKey("orders"), redis.Z{Score: float64(time.Now().Add(time.Hour).UnixMilli()), Member: "app7-1-2"}).Err())
	waiting := float64(time.Now().Add(time.Hour).UnixMilli())
	if kind == message.KindPriority {
		waiting = 90
	}
	must.Do(t, rdb.ZAdd(ctx, k.Store, redis.Z{Score: waiting, Member: "sleepy"}, redis.Z{Score: waiting + 1, Member: "lazy"}).Err())
}

// dies makes the worker of the topic dead, and its lease just over: else the topic is not deleted.
func dies(t *testing.T, rdb redis.UniversalClient) {
	t.Helper()
	must.Do(t, rdb.Del(ctx, protocol.WorkersKey("orders")).Err())
	must.Do(t, rdb.HSet(ctx, protocol.KeysOf("orders", 0).Meta, "until", time.Now().Add(-time.Second).UnixMilli()).Err())
}

// forget takes the topic and the scripts away.
func forget(t *testing.T, rdb redis.UniversalClient) {
	t.Helper()
	must.Do(t, rdb.ScriptFlush(ctx).Err())
	for _, key := range append(slices.Concat(protocol.OfSlot("orders", 0), protocol.OfTopic("orders")), protocol.TopicsKey) {
		must.Do(t, rdb.Del(ctx, key).Err())
	}
}

// The lines of all commands, those that change something and the others.
func lookingLines() [][]string {
	lines := [][]string{{"dead", "list", "orders", "--newer-than", "2h"}, {"dead", "show", "orders", "dead 0"}, {"dead", "export", "orders"},
		{"topics"}, {"stats"}, {"stats", "orders", "--slots"}, {"slots", "orders"}, {"workers"}, {"limit", "orders"}, {"every", "list", "orders"}, {"verify"}, {"doctor"}}
	for _, state := range []string{"waiting", "in-flight", "retrying", "dead"} {
		lines = append(lines, []string{"peek", "orders", "--state", state})
	}
	for _, content := range []string{"sleepy", "busy", "flaky", "dead 0"} {
		lines = append(lines, []string{"explain", "orders", content})
	}
	return lines
}

func changingLines(kind message.Kind, batch string) [][]string {
	when, moved := "--at="+frame.Stamp(time.Now().Add(time.Hour)), "--in=1h"
	if kind == message.KindRangeMerge {
		when = "--range=1h"
	}
	if kind == message.KindPriority {
		when, moved = "--priority=20", "--priority=30"
	}
	set := []string{"every", "set", "orders", "hourly", "--content", "planned", "--cron", "@hourly"}
	if kind == message.KindPriority {
		set = append(set, when)
	}
	return [][]string{
		set, {"every", "run", "orders", "hourly"}, {"every", "stop", "orders", "hourly"}, {"cancel", "orders", "planned"},
		{"pause", "orders", "--yes"}, {"resume", "orders"}, {"limit", "orders", "--rate", "1000/s", "--for", "1s"}, {"limit", "orders", "--off"}, {"send", "orders", "new", when}, {"send", "orders", "--batch", batch, when},
		{"reschedule", "orders", "new", moved}, {"cancel", "orders", "new"}, {"cancel", "orders", "flaky"},
		{"dead", "requeue", "orders", "dead 0"}, {"dead", "requeue", "orders", "--limit=1", "--yes"}, {"dead", "delete", "orders", "dead 2", "--yes"},
		{"dead", "delete", "orders", "--yes"}, {"purge", "orders", "--yes"},
		{"topic", "delete", "orders", "--yes"},
	}
}

// Whatever there is, is tried.
func TestRightsOfAllCommands(t *testing.T) {
	t.Parallel()
	lines := append(lookingLines(), changingLines(message.KindPriority, "batch")...)
	for _, c := range connecting() {
		if !slices.ContainsFunc(lines, func(line []string) bool { return slices.Equal(c.path, line[:min(len(c.path), len(line))]) }) {
			t.Errorf("%s is not tried", c)
		}
	}
}

// trouble is what went wrong in a row of calls, for want of rights. Those who only look
// are told by the doctor what a worker would lack, which is no trouble.
func trouble(url string, lines [][]string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, line := range lines {
			r := call(append([]string{"--redis", url, "--wide"}, line...)...)
			if line[0] == "doctor" {
				r.errs = ""
				for told := range strings.Lines(r.out) {
					if doctorLacks.MatchString(told) {
						r.errs += told
					}
				}
				r.code = len(r.errs)
			}
			if r.code != 0 && !yield(fmt.Sprintf("rmq %q: %s%s", line, r.out, r.errs)) {
				return
			}
		}
	}
}

// doctorLacks finds what the doctor could not look at.
var doctorLacks = regexp.MustCompile(`NOPERM|grant the Redis user|can't run|ACL failure`)

// batchFile is a file for rmq send --batch.
func batchFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "batch.jsonl")
	must.Do(t, os.WriteFile(path, []byte(`{"content":"one"}`+"\n"+`{"content":"two"}`+"\n"), 0o600))
	return path
}

func TestPeopleWithDocumentedRights(t *testing.T) {
	onOwn(t, func(t *testing.T, s at) {
		batch := batchFile(t)
		for _, kind := range []message.Kind{message.KindRangeMerge, message.KindPriority, message.KindFixedTime} {
			for _, line := range []string{"inspector", "operator"} {
				user := documented(t, line)
				if _, many := s.rdb.(*redis.ClusterClient); many {
					user.rights = slices.Concat(user.rights, clusterRights)
				}
				user.grant(t, s.rdb, "")
				atRest(t, s.rdb, kind)
				dies(t, s.rdb)
				lines := lookingLines()
				if line == "operator" {
					lines = append(lines, changingLines(kind, batch)...)
				}
				for wrong := range trouble(user.at(s.url), lines) {
					t.Errorf("%s, %v: %s", line, kind, wrong)
				}
			}
		}
	})
}

// Each right that is documented is needed by some command, on topics of some kind.
func TestEachRightOfPeopleIsNeeded(t *testing.T) {
	t.Parallel()
	server, batch := servertest.Redis(t), batchFile(t)
	admin := server.Client(t)
	for _, line := range []string{"inspector", "operator"} {
		user := documented(t, line)
		for _, right := range user.rights {
			user.grant(t, admin, right)
			needed := false
			for _, kind := range []message.Kind{message.KindRangeMerge, message.KindPriority, message.KindFixedTime} {
				if needed {
					break
				}
				atRest(t, admin, kind)
				dies(t, admin)
				lines := lookingLines()
				if line == "operator" {
					lines = append(lines, changingLines(kind, batch)...)
				}
				// What comes after a line that failed may fail for want of what that should have done.
				for wrong := range trouble(user.at("redis://"+server.Addr()), lines) {
					if needed = strings.Contains(wrong, "grant ") || strings.Contains(wrong, "lacks rights"); needed {
						break
					}
				}
			}
			if !needed {
				t.Errorf("%s: nothing needs %s", line, right)
			}
		}
	}
}
