package main

import "testing"

// What cannot be measured is refused before anything is.
func TestWorkOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []workOptions{{}, {parts: "exp,crowd", workers: "1,2,8", loads: "50,90", secs: 2.5}} {
		if err := o.check(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, o := range []workOptions{{parts: "exp,none"}, {workers: "3"}, {workers: "two"}, {loads: "0"}, {loads: "101"}, {secs: -1}, {secs: 0.5}} {
		if o.check() == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	b := &bench{options: options{work: workOptions{parts: "exp", workers: "2", loads: "50"}}}
	if !b.chose("exp") || b.chose("rare") || b.fleets()[0] != 2 || b.percents([]int{70, 90})[0] != 50 {
		t.Error("the options do not choose")
	}
}
