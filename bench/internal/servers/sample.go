package servers

import (
	"runtime"
	"syscall"
	"time"
)

// Sample is one round of one contestant.
type Sample struct {
	Messages int
	Took     time.Duration
	Client   time.Duration // CPU of this process
	Mallocs  int64         // of this process
	Redis    Counts        // of all servers together
}

// Rate is how many messages passed in a second.
func (s Sample) Rate() float64 { return float64(s.Messages) / s.Took.Seconds() }

// Busy is the share of one processor core that the servers used.
func (s Sample) Busy() float64 { return s.Redis.CPU.Seconds() / s.Took.Seconds() }

// ClientBusy is the share of one core that this process used.
func (s Sample) ClientBusy() float64 { return s.Client.Seconds() / s.Took.Seconds() }

// Measure runs one round with so many messages, and reports what it cost.
// Garbage of what went before is collected first.
func (p Place) Measure(messages int, round func() error) (Sample, error) {
	result := Sample{Messages: messages}
	runtime.GC()
	for _, s := range p.Servers {
		result.Redis.Add(s.Counts(), -1)
	}
	mallocs, cpu, begin := mallocsNow(), clientCPU(), time.Now()
	err := round()
	result.Took, result.Client = time.Since(begin), clientCPU()-cpu
	result.Mallocs = mallocsNow() - mallocs
	for _, s := range p.Servers {
		result.Redis.Add(s.Counts(), 1)
	}
	return result, err
}

// clientCPU is the CPU time this process has used.
func clientCPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// mallocsNow is how many objects this process has allocated.
func mallocsNow() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Mallocs)
}
