package gatewaytest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

// timeToRun is that of the workers in testdata: longer than a stall of the machine.
const timeToRun = 30 * time.Second

// Gateways and clients are killed again and again: nothing is lost, no two handlers run in a slot at once, and no attempt
// is spent but by a batch that was out when one of them was killed.
func TestGatewaysAndClientsKilled(t *testing.T) {
	t.Parallel()
	messages, kills := night.Times(1_000, 100_000), night.Times(6, 50)
	r := sharetest.Rand(t)
	dir, server := proctest.New(t), servertest.Redis(t)
	f := &farm{T: t, dir: dir, redis: server.Addr(), gateways: []string{servertest.Nobody(t), servertest.Nobody(t)}, workers: map[string]*proctest.Process{}}
	f.url = "http://" + balance(t, f.gateways...)
	for n, at := range f.gateways {
		f.running[n] = serving(t, dir, fmt.Sprint("gateway", n), at, f.redis)
	}
	sent := f.send(server, messages)
	for n := range 8 {
		f.work(n)
	}
	done := func() int { return len(dir.Handled) }
	ofGateways := 0
	for n := range kills {
		dir.Await("it goes on", func() bool { return done() >= messages*n/(kills+1) })
		if n == 1 || r.IntN(4) == 0 { // one at least
			ofGateways++
			f.killGateway(r.IntN(2))
		} else {
			f.killWorker(r.IntN(8))
		}
	}
	dir.Await("all are done", func() bool { return done() == messages })
	f.end()
	report := proctest.Check(dir.Events(), sent, proctest.Rules{
		MaxAttempts: 1 + message.MaxRetries, Basis: func(content string) string { return content }, Lease: timeToRun,
	})
	t.Logf("%d kills of workers and %d of gateways: %s", kills-ofGateways, ofGateways, &report)
	for _, fault := range report.Faults {
		t.Error(fault)
	}
	if n := report.Unexplained(); n > 0 {
		t.Errorf("%d messages were done again without a reason: %+v", n, report.Again)
	}
	// A worker that is killed has one batch, if any. A gateway that is killed may have had an answer for each worker.
	if most := kills - ofGateways + 8*ofGateways; report.Burnt+len(report.Again)+report.MidBatch > most || report.Dead > 0 {
		t.Errorf("more attempts were spent than kills account for: %d", most)
	}
}

// farm is two gateways behind a load balancer, and workers in two languages.
type farm struct {
	*testing.T
	dir      *proctest.Dir
	redis    string
	url      string
	gateways []string
	running  [2]*proctest.Process
	workers  map[string]*proctest.Process
	names    [8]string
	born     int
}

// send sends messages with priorities. The contents have slots of their own.
func (f *farm) send(server *servertest.Server, n int) (sent []string) {
	f.Helper()
	p, err := producer.New(server.Client(f), producer.Config{})
	must.Do(f, err)
	defer func() { must.Do(f, p.Close(ctx)) }()
	var all []message.Message
	for i := range n {
		content := fmt.Sprint("order ", i)
		sent, all = append(sent, content), append(all, message.Priority{Content: content, Priority: int64(17 + i%100)})
	}
	_, err = p.SendBatch(ctx, message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 64}, all)
	must.Do(f, err)
	return sent
}

// work starts a worker: every other one in Python, and in Node.
func (f *farm) work(n int) {
	f.Helper()
	name := fmt.Sprintf("worker%d-%d", n, f.born)
	f.born++
	script, err := filepath.Abs("testdata/worker.py")
	must.Do(f, err)
	log := filepath.Join(f.dir.Path, name+".log")
	cmd := exec.Command(interpreter(f, "python3"), script, name, log, "orders")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+clients(f), "PYTHONDONTWRITEBYTECODE=1")
	if n%2 == 1 {
		cmd = exec.Command(interpreter(f, "node"), filepath.Join(filepath.Dir(script), "worker.mjs"), filepath.Join(clients(f), "rmq.mjs"), name, log, "orders")
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, "RMQ_URL="+f.url)
	f.names[n], f.workers[name] = name, f.dir.Run(name, cmd)
}

func (f *farm) killWorker(n int) {
	f.Helper()
	f.workers[f.names[n]].Kill()
	delete(f.workers, f.names[n])
	f.work(n)
}

// killGateway kills a gateway, and starts it anew. What was on its way concerns all workers.
func (f *farm) killGateway(n int) {
	f.Helper()
	f.dir.Note(proctest.Down, "")
	f.running[n].Kill()
	f.running[n] = serving(f.T, f.dir, fmt.Sprint("gateway", n), f.gateways[n], f.redis)
	f.dir.Note(proctest.Up, "")
}

// end ends the workers. They have nothing to do.
func (f *farm) end() {
	f.Helper()
	for _, w := range f.workers {
		w.Kill()
	}
}
