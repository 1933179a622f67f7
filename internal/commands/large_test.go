package commands

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/redisinfo"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// What large contents may cost while somebody looks at them: here, and in Redis.
const (
	mostHere    = 32 << 20 // of which the program itself takes half
	mostInRedis = 8 << 20
)

// largeContents is about contents that are long each: no command takes more than some of them
// at once, so that neither it nor Redis needs much memory, and no send is refused.
func largeContents(t *testing.T, dir string) {
	server := servertest.Redis(t)
	rdb := server.Client(t)
	topic := message.Topic{Name: "orders", Kind: message.KindRangeMerge, Slots: 64}
	const n = 192
	filler := strings.Repeat("x", 256<<10)
	died := time.Now().Add(-time.Hour)
	bury(t, rdb, topic, 0, nil) // defines it
	for i := range n {
		k := protocol.KeysOf(topic.Name, i%topic.Slots)
		content := fmt.Sprint(i) + filler
		at := died.Add(time.Duration(i/3) * time.Second).UnixMilli() // three at a time
		must.Do(t, rdb.ZAdd(ctx, k.Dead, redis.Z{Member: content, Score: float64(at)}).Err())
		must.Do(t, rdb.HSet(ctx, k.Why, content, fmt.Sprintf("17 %d %d - app7-1 no such shop", at, at)).Err())
		if i < 20 { // a batch that somebody took, all in one slot
			k = protocol.KeysOf(topic.Name, 0)
			must.Do(t, rdb.ZAdd(ctx, k.Prepare, redis.Z{Member: "flying" + content, Score: float64(at/1000/1e9*1e9*1000 + 1_700_000_000_016)}).Err())
			must.Do(t, rdb.HSet(ctx, k.Meta, "holder", "w", "batch", 1, "lease", 0).Err())
		}
	}
	used := func() int64 {
		info, err := redisinfo.Ask(ctx, rdb)
		must.Do(t, err)
		return info.Number("used_memory")
	}
	// There is little room, as on a server that is nearly full.
	before := used()
	must.Do(t, rdb.ConfigSet(ctx, "maxmemory", fmt.Sprint(before+mostInRedis)).Err())
	var peak, sent atomic.Int64
	quit := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		small := message.Topic{Name: "small", Kind: message.KindRangeMerge, Slots: 1}
		send(t, rdb, small, later("x"))
		key := protocol.StoreKey(small.Name, 0)
		again := time.NewTicker(time.Millisecond)
		defer again.Stop()
		for {
			select {
			case <-quit:
				return
			case <-again.C:
			}
			if err := rdb.ZAdd(ctx, key, redis.Z{Member: "x", Score: 1.8e12}).Err(); err != nil {
				t.Errorf("a send is refused: %v", err)
				return
			}
			peak.Store(max(peak.Load(), used()))
			sent.Add(1)
		}
	})
	s := shell{t, dir, "redis://" + server.Addr()}
	for _, c := range []struct {
		args string
		want string // of stdout and stderr
	}{
		{"dead export orders", `"reason":"no such shop"`},
		{"dead list orders --limit 0", "no such shop"},
		{"dead list orders --reason nothing", "no dead message in orders that fits"},
		{"peek orders --state dead", "and more"},
		{"peek orders --state dead --limit 192 --json", `"state":"dead"`},
		{"peek orders --state in-flight --limit 5", "and more"},
		{"verify", "ok: "},
		{"slots orders", "SLOT"},
		{"dead requeue orders --reason shop --dry-run", "would requeue 192"},
		{"dead requeue orders --yes", "requeued 192 dead messages"},
		{"peek orders", "and more"},
	} {
		peak.Store(0)
		sent.Store(0)
		cmd, errs := s.command(filepath.Join(dir, "rmq"), strings.Fields(c.args)...)
		y := &finder{want: c.want}
		cmd.Stdout = y
		must.Do(t, cmd.Start())
		here, err := mostMemory(t, cmd)
		inRedis := peak.Load() - before
		t.Logf("%-45s %3d MiB here, %3d MiB more in Redis, %d sends", c.args, here>>20, inRedis>>20, sent.Load())
		if err != nil || !y.found || here > mostHere || inRedis > mostInRedis {
			t.Errorf("%s: %v, %s; found %v; %d MiB here, %d MiB more in Redis", c.args, err, errs, y.found, here>>20, inRedis>>20)
		}
	}
	close(quit)
	watching.Wait()
}

// mostMemory waits for a command and returns the most memory that it had. It looks while the
// command runs: for a process that has ended, the kernel also counts the memory of the one
// that started it.
func mostMemory(t *testing.T, cmd *exec.Cmd) (most int64, err error) {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			if most == 0 {
				t.Error("nothing is known of the command's memory")
			}
			return most, err
		case <-tick.C:
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
			if _, after, found := strings.Cut(string(status), "VmHWM:"); found {
				kilobytes, _, _ := strings.Cut(strings.TrimSpace(after), " ")
				n, err := strconv.ParseInt(kilobytes, 10, 64)
				must.Do(t, err)
				most = max(most, n<<10)
			}
		}
	}
}

// finder looks for a text in what is written, and keeps nothing of it.
type finder struct {
	want  string
	tail  string
	found bool
}

func (f *finder) Write(b []byte) (int, error) {
	text := f.tail + string(b)
	f.found = f.found || strings.Contains(text, f.want)
	f.tail = text[max(0, len(text)-len(f.want)):]
	return len(b), nil
}

var _ io.Writer = (*finder)(nil)
