package proctest

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

type childJob struct{ Dir, Name string }

// work is a worker that handles one content a millisecond until it is to stop.
func (j childJob) work() int {
	log, err := OpenLog(j.Dir, j.Name)
	if err != nil {
		panic(err)
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	log.WatchStalls(200 * time.Millisecond)
	log.Write(Event{Kind: Warm})
	if !AwaitGo() {
		return 1
	}
	log.Write(Event{Kind: Ready})
	tick := time.NewTicker(time.Millisecond)
	for i := 0; ; i++ {
		e := Event{Kind: Start, Topic: "t", Attempt: 1, Fence: 1, Content: fmt.Sprintf("a/%d", i)}
		log.Write(e)
		select {
		case <-tick.C:
			e.Kind = Done
			log.Write(e)
		case <-term:
			e.Kind = Fail
			log.Write(e)
			log.Write(Event{Kind: Closed})
			return 0
		}
	}
}

func TestMain(m *testing.M) {
	var j childJob
	if Child(&j) {
		os.Exit(j.work())
	}
	servertest.Main(m)
}

func TestProcess(t *testing.T) {
	t.Parallel()
	d := New(t)
	start := func(name string) *Process { return d.Start(name, childJob{d.Path, name}) }
	killed, stopped, frozen := start("w1"), start("w2"), start("w3")
	start("idle") // never told to go
	for _, p := range []*Process{killed, stopped, frozen} {
		d.AwaitKind(p.Name, Warm)
		p.Go()
	}
	d.Await("all work", func() bool { return d.By["w1"] > 5 && d.By["w2"] > 5 && d.By["w3"] > 5 })
	if !d.Saw("w1", Ready) || d.Saw("w1", Closed) || d.Handled["a/3"] != 3 {
		t.Errorf("the logs were not followed: %v %v", d.By, d.Handled)
	}

	killed.Kill()
	if gone, err := killed.Gone(); !gone || err == nil {
		t.Errorf("after a kill: gone is %v, how: %v", gone, err)
	}
	stopped.Term()
	d.AwaitKind("w2", Closed)
	d.Await("the stopped process is gone", func() bool { gone, _ := stopped.Gone(); return gone })
	if _, err := stopped.Gone(); err != nil {
		t.Errorf("a polite stop: %v", err)
	}

	frozen.Freeze()
	at := d.AwaitKind("test", Freeze).At
	timer := time.NewTimer(500 * time.Millisecond)
	defer timer.Stop()
	<-timer.C
	frozen.Thaw()
	stall := d.AwaitKind("w3", Stall)
	if late, err := time.ParseDuration(stall.Note); err != nil || late < 400*time.Millisecond || stall.At < at {
		t.Errorf("a freeze of 500ms shows as %+v", stall)
	}
	if gone, _ := frozen.Gone(); gone {
		t.Error("the frozen process is gone")
	}
}

func TestTornLinesWait(t *testing.T) {
	t.Parallel()
	d := New(t)
	e := Event{At: 1, Worker: "w1", Kind: Start, Topic: "t", Attempt: 1, Content: "a/1"}
	line := e.line()
	file, err := os.Create(filepath.Join(d.Path, "w1"+logSuffix))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for i, part := range [][]byte{line[:10], line[10:]} {
		if _, err := file.Write(part); err != nil {
			t.Fatal(err)
		}
		if got := len(d.Events()); got != i {
			t.Errorf("%d events after part %d of a line, want %d", got, i+1, i)
		}
	}
}
