package protocol_test

import (
	"context"
	_ "embed"
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// The script the protocol was first proved with. It neither stores leases nor
// explains failures; what the shipped one does beyond it must cost next to
// nothing.
//
//go:embed testdata/baseline_turn.lua
var baselineSource string

// BenchmarkTurnCost compares what a turn of 64 contents, take and finish,
// costs Redis with the shipped script and with the baseline, on 16 slots and a
// backlog of 300,000. The cells are interleaved in one run; "ratio" is the
// median of the shipped script's rounds over the baseline's. Due times are told by
// the shipped one only.
//
//	go test ./internal/protocol -run - -bench TurnCost -benchtime 1x
func BenchmarkTurnCost(b *testing.B) {
	const slots, backlog, rounds, batch = 16, 300_000, 9, 64
	server := servertest.Redis(b)
	rdb := server.Client(b)
	ctx := context.Background()
	baseline := redis.NewScript(baselineSource)
	shipped := redis.NewScript(sources["turn"])
	for _, s := range []*redis.Script{baseline, shipped} {
		if err := s.Load(ctx, rdb).Err(); err != nil {
			b.Fatal(err)
		}
	}
	keys := make([]protocol.SlotKeys, slots)
	for i := range keys {
		keys[i] = protocol.KeysOf("cost", i)
	}
	random := rand.New(rand.NewSource(1))
	fill := func(order string, kind string) {
		if err := rdb.FlushAll(ctx).Err(); err != nil {
			b.Fatal(err)
		}
		pipe := rdb.Pipeline()
		for i := range backlog {
			score := float64(1e12 + i)
			switch {
			case kind == "P" && order == "random":
				score = float64(17 + random.Intn(1<<40))
			case kind == "P":
				score = float64(17 + i%4)
			case order == "random":
				score = float64(1e12 + random.Intn(1<<38))
			}
			content := fmt.Sprintf("%0100d", i)
			pipe.ZAdd(ctx, keys[i%slots].Store, redis.Z{Score: score, Member: content})
			if pipe.Len() == 1000 {
				if _, err := pipe.Exec(ctx); err != nil {
					b.Fatal(err)
				}
			}
		}
		if _, err := pipe.Exec(ctx); err != nil {
			b.Fatal(err)
		}
	}
	// drain takes the whole backlog, four slots in a write, and returns the µs
	// of Redis CPU per message.
	drain := func(hash, kind string, keyCount int) float64 {
		numbers := make([]string, slots)
		letters := kind
		if kind == "D" && hash == shipped.Hash() {
			letters = "TD"
		}
		for i := range numbers {
			numbers[i] = "0"
		}
		taken := 0
		before := server.CPU(b)
		for at := 0; taken < backlog; at = (at + 4) % slots {
			cmds := make([]redis.Cmder, 4)
			for j := range cmds {
				k := keys[at+j]
				names := []any{"evalsha", hash, keyCount, k.Store, k.Prepare, k.Retry, k.Dead, k.Meta, k.Why}
				cmds[j] = redis.NewStringSliceCmd(ctx, append(names[:3+keyCount],
					letters, "bench", numbers[at+j], "", 30_000, batch, random.Intn(1<<30), 1000)...)
			}
			pipe := rdb.Pipeline()
			_ = pipe.BatchProcess(ctx, cmds...)
			if _, err := pipe.Exec(ctx); err != nil {
				b.Fatal(err)
			}
			for j, cmd := range cmds {
				reply := cmd.(*redis.StringSliceCmd).Val()
				numbers[at+j] = reply[1]
				if reply[0] == "BATCH" {
					k, _ := strconv.Atoi(reply[3])
					taken += k
				}
			}
		}
		return float64((server.CPU(b) - before).Nanoseconds()) / 1000 / backlog
	}
	for _, cell := range []struct{ name, kind, order string }{
		{"time/rising", "T", "rising"},
		{"time/random", "T", "random"},
		{"time/due-told", "D", "rising"},
		{"priority/4-levels", "P", "levels"},
		{"priority/random", "P", "random"},
	} {
		b.Run(cell.name, func(b *testing.B) {
			for range b.N {
				var ours, theirs []float64
				for range rounds {
					fill(cell.order, cell.kind)
					theirs = append(theirs, drain(baseline.Hash(), cell.kind, 5))
					fill(cell.order, cell.kind)
					ours = append(ours, drain(shipped.Hash(), cell.kind, 6))
				}
				slices.Sort(ours)
				slices.Sort(theirs)
				b.ReportMetric(ours[rounds/2], "redis-µs/msg")
				b.ReportMetric(theirs[rounds/2], "baseline-µs/msg")
				b.ReportMetric(ours[rounds/2]/theirs[rounds/2], "ratio")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}
