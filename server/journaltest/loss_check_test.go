package journaltest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
)

// What the processes have written down is held against what the journal promises.

// lossMessage is a content of a topic.
type lossMessage struct{ topic, content string }

// lossSend is a send that has returned nil.
type lossSend struct {
	by         string
	begin, end int64 // ns
}

// handling is a handler that has returned.
type handling struct {
	proctest.Event // its start
	end            int64
	told           int64 // when an observer got the end of the message; 0: never
}

// verdict is what a run amounts to.
type verdict struct {
	*losing
	sends    map[lossMessage][]lossSend
	begun    map[lossMessage]int // sends, also those that have returned an error
	handled  map[lossMessage][]*handling
	inSlot   map[string][]*handling // in order
	faults   map[string][]int64     // by worker; of all of them: by ""
	restores []restoreRun
	overtook map[string]bool // batches
	workers  map[string]string

	count   map[string]int
	longest time.Duration // before its kill a process has reported something that is lost
}

// restoreRun is when a restore began and ended, and the ID of the newest row before.
type restoreRun struct{ begin, end, newest int64 }

func (h *handling) batch() string { return fmt.Sprint(h.Topic, "/", h.Slot, " ", h.Fence) }

func (x *losing) check() {
	x.Helper()
	v := &verdict{
		losing: x, sends: map[lossMessage][]lossSend{}, begun: map[lossMessage]int{}, handled: map[lossMessage][]*handling{}, inSlot: map[string][]*handling{},
		faults: map[string][]int64{}, overtook: map[string]bool{}, workers: map[string]string{}, count: map[string]int{},
	}
	v.collect(x.dir.Events())
	v.missing()
	v.dead()
	v.twice()
	perhaps := 0
	for _, r := range x.restored {
		perhaps += r.Twice
		v.count["restored"] += r.Waiting + r.Dead
	}
	if twice := v.count["handled twice"]; twice > perhaps+v.count["by a kill"]+v.count["taken over"] {
		x.Errorf("%d came twice, and the restores have said %d", twice, perhaps)
	}
	var line []string
	for _, what := range slices.Sorted(maps.Keys(v.count)) {
		line = append(line, fmt.Sprintf("%s: %d", what, v.count[what]))
	}
	x.Logf("%s; lost was told up to %v before a kill; last restore: %v", strings.Join(line, ", "), v.longest, x.restored[len(x.restored)-1])
}

func (v *verdict) collect(events []proctest.Event) {
	v.Helper()
	open := map[string][]int64{} // sends
	runs := map[string]*handling{}
	ended := map[string]*handling{}
	for _, e := range events {
		m := lossMessage{e.Topic, e.Content}
		key := fmt.Sprint(e.Worker, e.Topic, e.Content)
		at := fmt.Sprint(e.Topic, "/", e.Slot, " ", e.Fence)
		switch e.Kind {
		case sending:
			open[key] = append(open[key], e.At)
			v.begun[m]++
			v.count["sends"]++
		case stored:
			begin := open[key][0] // or that of another send under way, which was earlier
			open[key] = open[key][1:]
			if e.Note != "duplicate" {
				v.sends[m] = append(v.sends[m], lossSend{e.Worker, begin, e.At})
			}
		case proctest.Start:
			runs[key] = &handling{Event: e}
			if strings.HasPrefix(e.Note, "has the headers of") {
				v.Errorf("%q %s", e.Content, e.Note)
			} else if e.Note != "" {
				v.count["without headers"]++
			}
		case proctest.Done:
			h := runs[key]
			h.end = e.At
			v.handled[m] = append(v.handled[m], h)
			slot := fmt.Sprint(e.Topic, "/", e.Slot)
			v.inSlot[slot] = append(v.inSlot[slot], h)
			ended[at+e.Content] = h
			v.count["handled"]++
		case told:
			for content := range strings.SplitSeq(e.Content, "\n") {
				if h := ended[at+content]; h != nil {
					h.told = e.At
				}
			}
		case robbed:
			v.overtook[at] = true
		case proctest.Ready:
			v.workers[e.Worker] = e.Note
		case proctest.Kill:
			v.faults[e.Note] = append(v.faults[e.Note], e.At)
		case emptied:
			v.faults[""] = append(v.faults[""], e.At)
		case restoring:
			newest, err := strconv.ParseInt(e.Note, 10, 64)
			must.Do(v, err)
			v.restores = append(v.restores, restoreRun{e.At, 0, newest})
		case restored:
			v.restores[len(v.restores)-1].end = e.At
		}
	}
}

// missing looks for sends that nothing handled.
func (v *verdict) missing() {
	v.Helper()
	for m, sends := range v.sends {
		newest := int64(0)
		for _, h := range v.handled[m] {
			newest = max(newest, h.Fence)
		}
		for _, s := range sends {
			if newest > s.begin/1000 { // a number is the time of its take, in us
				continue
			}
			v.count["missing"]++
			if why := v.mayBeMissing(m, s); why != "" {
				v.Errorf("missing: %v, sent by %s at %d: %s", m, s.by, s.begin, why)
			}
		}
	}
}

// mayBeMissing is empty if the send was lost by a sender that was killed before it wrote what it held.
func (v *verdict) mayBeMissing(m lossMessage, s lossSend) string {
	kills := v.faults[s.by]
	switch {
	case v.wait:
		return "it was waited for; " + v.history(m)
	case kills == nil:
		return "its sender lives; " + v.history(m)
	case slices.ContainsFunc(v.of(m).Sent, func(r ledger.Sent) bool { return r.At >= s.begin/1e6 && r.At <= s.end/1e6 }):
		return "the journal has it; " + v.history(m)
	}
	if flushed := v.flushed(s.by); s.end/1e6 < flushed {
		return fmt.Sprintf("its sender has flushed since, at %d", flushed)
	}
	v.longest = max(v.longest, time.Duration(kills[0]-s.end))
	return ""
}

// flushed is when a sender has flushed last, in ms; 0 if never.
func (v *verdict) flushed(sender string) int64 {
	for m, sends := range v.sends {
		if !slices.ContainsFunc(sends, func(s lossSend) bool { return s.by == sender }) || !strings.HasPrefix(m.content, sender+"-") {
			continue // of several senders
		}
		if rows := v.of(m).Sent; len(rows) > 0 {
			return v.p.number(v, fmt.Sprintf("SELECT flushed FROM rmq_writer WHERE id = %d", rows[0].Writer))
		}
	}
	return 0
}

// of is what the journal has of a message.
func (v *verdict) of(m lossMessage) ledger.History {
	v.Helper()
	all, err := v.j.History(ctx, m.topic, m.content)
	must.Do(v, err)
	if len(all) == 0 {
		return ledger.History{}
	}
	return all[0]
}

func (v *verdict) history(m lossMessage) string {
	h := v.of(m)
	text := fmt.Sprintf("%+v", h.Verdict)
	for _, s := range h.Sent {
		text += fmt.Sprintf("; sent %d number %d at %d", s.ID, s.Number, s.At)
	}
	for _, e := range h.Ended {
		text += fmt.Sprintf("; %s %d number %d at %d", e.What, e.ID, e.Number, e.At)
	}
	for _, h := range v.handled[m] {
		text += fmt.Sprintf("; handled by %s in %d until %d, told %d", h.Worker, h.Fence, h.end/1e6, h.told/1e6)
	}
	return text
}

// dead looks whether what died is dead, unless its sender has lost it.
func (v *verdict) dead() {
	v.Helper()
	for m, sends := range v.sends {
		if !strings.HasSuffix(m.content, " "+deadly) || len(v.handled[m]) == 0 {
			continue
		}
		slot := v.handled[m][0].Slot
		if v.rdb.ZScore(ctx, protocol.KeysOf(m.topic, slot).Dead, m.content).Err() == nil {
			v.count["dead"]++
		} else if why := v.mayBeMissing(m, sends[0]); why != "" {
			v.Errorf("%v, sent by %s at %d, is not dead: %s", m, sends[0].by, sends[0].begin, why)
		} else {
			v.count["dead, and lost by a killed sender"]++
		}
	}
}

// twice looks for messages that were sent once and handled more than once.
func (v *verdict) twice() {
	v.Helper()
	lost := map[string]string{} // of each fault and slot: the batch that was in flight
	for m, all := range v.handled {
		if v.begun[m] != 1 || strings.HasPrefix(m.content, "hot ") {
			continue
		}
		for _, h := range all[:len(all)-1] {
			v.count["handled twice"]++
			if h.told != 0 {
				v.toldTwice(m, h)
				continue
			}
			fault, at := v.cause(h)
			switch {
			case fault == "" && v.overtook[h.batch()]:
				v.count["taken over"]++
			case fault == "":
				v.Errorf("twice: %v was handled in %s, and not told, without a fault; %s", m, h.batch(), v.history(m))
			default:
				v.count[fault]++
				key := fmt.Sprint(at, h.Topic, h.Slot)
				if lost[key] == "" {
					lost[key] = h.batch()
				}
				if lost[key] != h.batch() {
					v.Errorf("%s has cost two batches: %s and %s", fault, lost[key], h.batch())
				}
			}
		}
	}
}

// cause is the fault that kept the batch of h from being finished.
func (v *verdict) cause(h *handling) (what string, at int64) {
	next := int64(0) // begin of the next batch
	for _, other := range v.inSlot[fmt.Sprint(h.Topic, "/", h.Slot)] {
		if other.Fence > h.Fence && (next == 0 || other.At < next) {
			next = other.At
		}
	}
	for _, f := range []struct{ of, what string }{{"", "by a loss"}, {h.Worker, "by a kill"}} {
		for _, at := range v.faults[f.of] {
			if at >= h.At && (next == 0 || next >= at) {
				return f.what, at
			}
		}
	}
	return "", 0
}

// between the time of an event and its row in the buffer, in ms; those of two slots may pass each other.
const between = 100

// toldTwice explains why a message came again after its end was reported.
func (v *verdict) toldTwice(m lossMessage, h *handling) {
	v.Helper()
	of := v.of(m)
	i := slices.IndexFunc(of.Ended, func(e ledger.Ended) bool {
		return e.Number == h.Fence && (e.What == ledger.Done || e.What == ledger.Dead)
	})
	kills := v.faults[h.Worker]
	switch {
	case i < 0 && kills == nil:
		v.Errorf("twice: the end of %v is not in the journal, and its worker lives; %s", m, v.history(m))
	case i < 0:
		newest := v.p.number(v, fmt.Sprintf("SELECT COALESCE(MAX(at), 0) FROM rmq_ended WHERE worker = '%s'", v.workers[h.Worker]))
		if h.told/1e6+between < newest {
			v.Errorf("twice: the end of %v is not in the journal, and later ones of its worker are; %s", m, v.history(m))
		}
		v.count["told by a killed worker"]++
		v.longest = max(v.longest, time.Duration(kills[0]-h.told))
	case len(of.Sent) > 0 && of.Sent[0].Number >= h.Fence:
		v.count["taken before its number was read"]++
	case !slices.ContainsFunc(v.restores, func(r restoreRun) bool { return of.Ended[i].ID > r.newest && h.told < r.end }):
		v.Errorf("twice: %v had ended, and the journal had it; %s", m, v.history(m))
	case slices.ContainsFunc(v.restores, func(r restoreRun) bool { return h.told >= r.begin && h.told <= r.end }):
		v.count["while restoring"]++
	default:
		v.count["told before, and late in SQL"]++
	}
}
