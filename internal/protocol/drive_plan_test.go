package protocol_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// Plans in a run of the driver. What workers know of them may be old: they try to send an
// occurrence again, or late, or after its rule was changed or ended.

// planNames are those of the plans.
var planNames = []string{"p", "q"}

// planRule is a rule of the driver's own: all that the script needs to know of one is its text.
func (d *driver) planRule() (rule string, period int64) {
	period = []int64{100, 700, 2500}[d.IntN(3)]
	return fmt.Sprintf("each %d ms %s", period, d.contents[d.IntN(min(2, len(d.contents)))]), period
}

// plan does something about a plan.
func (d *driver) plan() {
	d.at(d.now)
	name := planNames[d.IntN(len(planNames))]
	switch z := d.IntN(20); {
	case len(d.state.rules) == 0 || z == 0:
		d.setPlan(name)
	case z == 1:
		d.stopPlan(name)
	case len(d.planned) > 0 && z < 12:
		i := d.IntN(len(d.planned))
		d.firePlan(d.planned[i])
		if d.IntN(3) > 0 {
			d.planned = slices.Delete(d.planned, i, i+1)
		}
	default:
		d.duePlans()
	}
}

func (d *driver) setPlan(name string) {
	rule, period := d.planRule()
	if held := d.state.rules[name]; held != "" && d.IntN(2) == 0 {
		_, rule, _ = strings.Cut(held, " ")
	}
	next := d.now + period
	if at, stands := d.state.plans[name]; stands && d.IntN(3) == 0 { // another rule with the same next time
		next = at
	} else if d.IntN(8) == 0 {
		next = 0
	}
	stands := d.state.stands(name)
	switch d.IntN(8) { // what was read before is old
	case 0:
		stands.Stored = "1 another"
	case 1:
		stands.At = []string{"", "1"}[d.IntN(2)]
	}
	before, expected := d.state, d.state.clone()
	since := []string{fmt.Sprint(d.now), fmt.Sprint(d.now, "+3")}[d.IntN(2)]
	want := expected.setPlan(name, rule, since, next, stands, d.now)
	got, err := d.s.SetPlan(ctx, d.plans, name, rule, since, next, stands)
	d.expects(expected, err, "set plan %s to %s, next %d, before %+v: %s", name, rule, next, stands, got)
	need(got == want, "PLAN", "%s is %s, not %s", name, got, want)
	if got == protocol.PlanAdded || got == protocol.PlanChanged {
		delete(d.sent, name)
	}
	d.count["plan "+string(got)]++
	switch at, stands := before.plans[name]; {
	case got == protocol.PlanKept && !stands:
		d.count["plan KEPT at its end"]++
	case got == protocol.PlanChanged && stands && at <= d.now:
		d.count["plan CHANGED and owes"]++
	}
}

func (d *driver) stopPlan(name string) {
	rule := []string{"", d.state.rules[name], "1 another"}[d.IntN(3)]
	expected := d.state.clone()
	want := expected.stopPlan(name, rule)
	got, err := d.s.StopPlan(ctx, d.plans, name, rule)
	d.expects(expected, err, "stop plan %s if it is %q: %v", name, rule, got)
	need(got == want, "PLAN", "%s was stopped: %v, not %v", name, got, want)
	d.count[map[bool]string{true: "plan stopped", false: "plan not stopped"}[got]]++
}

func (d *driver) duePlans() {
	most := 1 + d.IntN(2)
	want, next := d.state.duePlans(most, d.now)
	got, err := d.s.DuePlans(ctx, d.plans, most)
	d.expects(d.state.clone(), err, "%d plans that are due: %+v", most, got)
	need(got.Now.UnixMilli() == d.now && got.Next.Equal(next) && len(got.List) == len(want), "PLANS DUE", "%+v, not %v and %v", got, want, next)
	for i, o := range got.List {
		need(o.Name == want[i].content && o.At.UnixMilli() == want[i].score && o.Rule == d.state.rules[o.Name], "PLANS DUE", "%+v, not %v", o, want[i])
		d.count["plan due"]++
	}
	if d.planned = append(d.planned, got.List...); len(d.planned) > 20 {
		d.planned = d.planned[10:]
	}
}

func (d *driver) firePlan(o protocol.Occurrence) {
	var since, x string
	var period int64
	if _, err := fmt.Sscanf(o.Rule, "%s each %d ms %s", &since, &period, &x); err != nil {
		panic(err)
	}
	next := o.At.UnixMilli() + period
	for next <= d.now {
		next += period
	}
	if d.IntN(8) == 0 {
		next = 0
	}
	if d.IntN(8) == 0 {
		x = ""
	}
	score := o.At.UnixMilli()
	if d.kind == priorityKind {
		score = []int64{17, 40, 1<<53 - 1}[d.IntN(3)]
	}
	before, expected := d.state, d.state.clone()
	want := expected.firePlan(o, next, x, score)
	got, err := d.s.FirePlan(ctx, d.plans, o, next, x, score)
	e := &effect{what: fmt.Sprintf("send %s by plan %+v, next %d: %s", x, o, next, got), before: before, after: d.slot(), sends: x}
	d.note("%s", e.what)
	need(err == nil, "ERROR: an occurrence is answered", "%v", err)
	expected.same(e.after)
	need(got == want, "PLAN", "%+v: %s, not %s", o, got, want)
	switch got {
	case protocol.PlanFired:
		d.ledger.send(x, score)
		d.ledger[x].noted = nil
	case protocol.PlanWaits:
		if n := d.ledger[x].noted; n != nil && n.Expires > 0 {
			endless := *n
			endless.Expires = 0
			d.ledger[x].noted = &endless
			d.count["plan WAITS: its end is lifted"]++
		}
	}
	d.check(e)
	d.count["plan "+string(got)]++
	if got == protocol.PlanStale {
		if held := before.rules[o.Name]; held != "" && held != o.Rule {
			d.count["plan STALE by another rule"]++
		}
		return
	}
	what := fmt.Sprint(o.At.UnixMilli(), " ", o.Rule)
	need(d.sent[o.Name] != what, "TWICE: an occurrence is sent once", "%s: %s", o.Name, what)
	d.sent[o.Name] = what
	if next == 0 {
		d.count["plan ended"]++
	}
	if _, flying := before.prepare[x]; flying && got == protocol.PlanFired {
		d.count["plan FIRED beside a copy in flight"]++
	}
}
