package consumer

import (
	"time"

	"github.com/slotmq/go-rmq/luascripts"
)

// result is what became of one message of a batch. A batch begins with all of
// them not started, so that nothing is taken for done by mistake.
type result struct {
	fate   fate
	delay  time.Duration
	reason string
}

type fate uint8

const (
	notStarted fate = iota
	done
	failed
	dead
)

// verdict is what the next turn reports of message i of an answer, unless it is done.
func (r result) verdict(a *luascripts.Answer, i int) luascripts.Verdict {
	v := luascripts.Verdict{Content: a.Contents[i], Priority: a.Priority(i), Delay: r.delay, Reason: r.reason}
	switch r.fate {
	case notStarted:
		v.Fate = luascripts.NotStarted
	case failed:
		v.Fate = luascripts.Failed
	case dead:
		v.Fate = luascripts.Dead
	}
	return v
}
