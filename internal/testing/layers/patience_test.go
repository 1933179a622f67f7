package layers

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A test that fails because the machine is busy lies. So tests wait with one patience, that of
// package await, and judge no real time by an upper bound.

// lapse is a place where a test depends on how fast the machine is.
type lapse struct{ rule, what string }

// own are names of helpers that there is one of: in await and must.
var own = []string{"eventually", "waitFor", "must"}

// impatience tells what of a test depends on how fast the machine is. Methods may be called
// anything, as they wait for what their type knows.
func impatience(f file) []lapse {
	gear := within(f.path, "internal/testing")
	if !f.goFile() || !f.test() && !gear {
		return nil
	}
	var bad []lapse
	if strings.Contains(f.text, `"RMQ_`+`SOAK"`) {
		bad = append(bad, lapse{"soak", "RMQ_" + "SOAK: take night.Times"})
	}
	for _, name := range declared(f.code) {
		for _, o := range own {
			if name == o && !within(f.path, "internal/testing/await") && !within(f.path, "internal/testing/must") {
				bad = append(bad, lapse{"helper", "func " + name + ": take those of internal/testing/await and must"})
			}
		}
	}
	for call := range calls(f.code) {
		if call == "time.After" {
			bad = append(bad, lapse{"after", "time.After: take internal/testing/await"})
		}
	}
	if !f.test() {
		return bad
	}
	for _, d := range f.code.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
			e := elapsed{names: map[string]bool{}}
			for range 3 { // what comes from one in three steps, which is further than anybody writes
				e.learn(d.Body)
			}
			bad = append(bad, e.bounds(d.Body, f)...)
			if !strings.HasPrefix(d.Name.Name, "Example") && f.path != "bench/fromasynq_test.go" { // which show what a program does
				bad = append(bad, shortContexts(d.Body, f)...)
			}
		}
	}
	return bad
}

// declared are the names of functions that a file declares, also inside others.
func declared(code *ast.File) []string {
	var names []string
	ast.Inspect(code, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil {
				names = append(names, n.Name.Name)
			}
		case *ast.AssignStmt:
			for i, x := range n.Rhs {
				if _, ok := x.(*ast.FuncLit); ok && len(n.Lhs) == len(n.Rhs) {
					if id, ok := n.Lhs[i].(*ast.Ident); ok {
						names = append(names, id.Name)
					}
				}
			}
		}
		return true
	})
	return names
}

// virtual tells a call that runs a function in virtual time, where no machine is busy.
func virtual(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	return ok && mentions(call.Fun, "synctest", "Test")
}

func mentions(x ast.Expr, pkg, name string) bool {
	sel, ok := x.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == pkg
}

// elapsed knows which variables of a function hold time that has passed.
type elapsed struct{ names map[string]bool }

// in tells whether an expression holds time that has passed: of time.Since, time.Now().Sub, or a
// variable that got it from there. What a function inside it does is its own affair.
func (e elapsed) in(x ast.Expr) bool {
	found := false
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.BinaryExpr:
			if n.Op == token.SUB || n.Op == token.QUO {
				found = found || e.in(n.X)
				return false // the more has passed, the less it is
			}
		case *ast.Ident:
			found = found || e.names[n.Name]
		case *ast.SelectorExpr:
			found = found || mentions(n, "time", "Since")
			if now, ok := n.X.(*ast.CallExpr); ok && n.Sel.Name == "Sub" {
				found = found || mentions(now.Fun, "time", "Now")
			}
			found = found || e.in(n.X)
			return false // the name of a field or method is no variable
		}
		return !found
	})
	return found
}

// learn looks for variables that get such a time.
func (e elapsed) learn(body ast.Node) {
	ast.Inspect(body, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok && len(a.Lhs) == len(a.Rhs) {
			for i, x := range a.Rhs {
				if id, ok := a.Lhs[i].(*ast.Ident); ok && e.in(x) {
					e.names[id.Name] = true
				}
			}
		}
		return !virtual(n)
	})
}

// bounds finds what fails a test when too much time has passed: a condition "more than", above a
// body that fails. Less than is no matter: what comes too early is wrong on any machine. A bound
// of a minute or more only tells nonsense, as the patience of await does.
func (e elapsed) bounds(body ast.Node, f file) []lapse {
	var bad []lapse
	judge := func(cond ast.Expr, then ast.Node) {
		if e.above(cond, false) && fails(then) {
			bad = append(bad, lapse{"bound", "line " + f.line(cond) + " fails when real time has passed: prove the bound by an order of events, in synctest or by night.AtMost"})
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			judge(n.Cond, n.Body)
		case *ast.CaseClause:
			for _, x := range n.List {
				judge(x, n)
			}
		}
		return !virtual(n)
	})
	return bad
}

// above tells whether a condition holds when time that has passed is more than a bound; not: when
// it does not hold.
func (e elapsed) above(x ast.Expr, not bool) bool {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return e.above(x.X, not)
	case *ast.UnaryExpr:
		return x.Op == token.NOT && e.above(x.X, !not)
	case *ast.BinaryExpr:
		large, bound := x.X, x.Y
		switch x.Op {
		case token.LAND, token.LOR:
			return e.above(x.X, not) || e.above(x.Y, not)
		case token.LSS, token.LEQ:
			large, bound = x.Y, x.X
		case token.GTR, token.GEQ:
		default:
			return false
		}
		if not {
			large, bound = bound, large
		}
		d, literal := duration(bound)
		return e.in(large) && !(literal && d >= time.Minute)
	}
	return false
}

// fails tells whether a body ends or fails a test, on the spot or by leaving with an error.
func fails(body ast.Node) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			switch fun := call.Fun.(type) {
			case *ast.SelectorExpr:
				switch fun.Sel.Name {
				case "Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow":
					found = true
				}
			case *ast.Ident:
				found = found || fun.Name == "panic"
			}
		}
		return !found
	})
	return found
}

// shortContexts finds contexts that last for seconds. Those which a working program must meet
// last for the patience of await; those which are meant to end do so within one, as a test waits
// for it. So a context of a second or less that must be met is not found.
func shortContexts(body ast.Node, f file) []lapse {
	var bad []lapse
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && mentions(call.Fun, "context", "WithTimeout") && len(call.Args) == 2 {
			if d, ok := duration(call.Args[1]); ok && d > time.Second && d < time.Minute {
				bad = append(bad, lapse{"context", "line " + f.line(call) + " has a context of " + d.String() + ": take await.Context, or 1s at most if it is meant to end"})
			}
		}
		return !virtual(n)
	})
	return bad
}

// duration reads time.Second, 2*time.Second, time.Second*2 and await.Patience.
func duration(x ast.Expr) (time.Duration, bool) {
	switch x := x.(type) {
	case *ast.BinaryExpr:
		a, okA := duration(x.X)
		b, okB := duration(x.Y)
		if x.Op == token.QUO && b != 0 {
			return a / b, okA && okB
		}
		return a * b, x.Op == token.MUL && okA && okB
	case *ast.BasicLit:
		n, err := strconv.ParseInt(x.Value, 0, 64)
		return time.Duration(n), err == nil
	case *ast.SelectorExpr:
		if mentions(x, "await", "Patience") {
			return time.Minute, true
		}
		for name, d := range map[string]time.Duration{"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour} {
			if mentions(x, "time", name) {
				return d, true
			}
		}
	}
	return 0, false
}

func TestPatience(t *testing.T) {
	t.Parallel()
	files := repository(t)
	if !slices.ContainsFunc(files, func(f file) bool { return f.path == "internal/testing/layers/patience_test.go" }) {
		t.Fatal("the tree was not read") // a check of nothing finds nothing
	}
	for _, bad := range unexcused(files, excused) {
		t.Error(bad)
	}
}

// unexcused tells what is found, but for the excuses: the rules that a file may still break. It
// also tells the excuses that are needed no longer, so that they only become fewer.
func unexcused(files []file, excuses map[string]string) []string {
	left := map[string][]string{}
	for name, rules := range excuses {
		left[name] = strings.Fields(rules)
	}
	var bad []string
	for _, f := range files {
		needed := map[string]bool{}
		for _, l := range impatience(f) {
			needed[l.rule] = true
			if !slices.Contains(left[f.path], l.rule) {
				bad = append(bad, f.path+": "+l.what)
			}
		}
		left[f.path] = slices.DeleteFunc(left[f.path], func(rule string) bool { return needed[rule] })
	}
	for name, rules := range left {
		for _, rule := range rules {
			bad = append(bad, fmt.Sprintf("%s needs no excuse any more for %q: take it out of the list", name, rule))
		}
	}
	slices.Sort(bad)
	return bad
}

func TestExcusesBecomeFewer(t *testing.T) {
	t.Parallel()
	files := []file{
		source(t, "slots/a_test.go", "package slots\nvar after = time.After\nfunc must() {}"),
		source(t, "slots/b_test.go", "package slots"),
	}
	for rules, want := range map[string]int{"": 2, "after": 1, "after helper": 0, "after helper bound": 1, "bound": 3} {
		if bad := unexcused(files, map[string]string{"slots/a_test.go": rules}); len(bad) != want {
			t.Errorf("with %q: %q", rules, bad)
		}
	}
	if bad := unexcused(files[1:], map[string]string{"slots/gone_test.go": "after", "slots/b_test.go": "soak"}); len(bad) != 2 {
		t.Errorf("%q", bad)
	}
}

func TestImpatienceIsFound(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		`func f() { <-time.After(time.Hour) }`,
		`var after = time.After`,
		`func eventually(t *testing.T) {}`,
		`func f() { must := func(err error) {} }`,
		`func f() string { return os.Getenv("RMQ_` + `SOAK") }`,
		`func f() { if time.Since(begun) > bound { t.Error() } }`,
		`func f() { if time.Now().Sub(begun) > bound { t.Fatal() } }`,
		`func f() { took := time.Since(begun); if took > bound { t.Errorf("") } }`,
		`func f() { if took := time.Since(begun); err != nil || took >= 59*time.Second { t.Errorf("") } }`,
		`func f() { var took time.Duration; func() { took = time.Since(begun) }(); if took.Seconds() > 3 { panic("") } }`,
		`func f() { took := time.Since(begun); each := took / 3; if bound < each { t.FailNow() } }`,
		`func f() { if !(time.Since(begun) < bound) { t.Fail() } }`,
		`func f() { switch took := time.Since(begun); { case took > bound: t.Fatalf("") } }`,
		`func f() { for { if time.Since(begun) > 5*time.Second { w.t.Fatal() } } }`,
		`func f() { synctest.Test(t, g); if time.Since(begun) > bound { t.Fatal() } }`,
		`func f() { ctx, cancel := context.WithTimeout(ctx, 5*time.Second) }`,
		`func f() { g(context.WithTimeout(ctx, time.Second*2)) }`,
	} {
		if impatience(source(t, "slots/a_test.go", "package slots\n"+bad)) == nil {
			t.Errorf("a test may contain %s", bad)
		}
	}
	if impatience(source(t, "internal/testing/servertest/a.go", "package servertest\nvar after = time.After")) == nil {
		t.Error("time.After may stand in what tests use")
	}
}

func TestPatiencePasses(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		`func f() { if time.Since(begun) < least { t.Error("too early") } }`,
		`func f() { if took := time.Since(begun); !(took >= least) { t.Error("too early") } }`,
		`func f() { if most := int(time.Since(begun) / gap); n > most { t.Error("too many") } }`,
		`func f() { for time.Since(begun) < lasts { g() } }`,
		`func f() { await.True(t, "a second is over", func() bool { return time.Since(begun) > time.Second }) }`,
		`func f() { if time.Since(status.Since) > time.Hour { t.Error("nonsense") } }`,
		`func f() { if time.Since(begun) > bound { return } }`,
		`func f() { if time.Since(status.Since) > await.Patience { t.Error("nonsense") } }`,
		`func f() { night.AtMost(t, "it", time.Since(begun), bound) }`,
		`func f() { synctest.Test(t, func(t *testing.T) { if took := time.Since(begun); took > bound { t.Error() } }) }`,
		`func f() { took := func() bool { return time.Since(begun) > 0 }; if took > 1 { t.Error() } }`,
		`func f() { if early := pause - time.Since(begun); early > 0 { t.Error() } }`,
		`func f() { if d.took > bound { t.Error() }; took := time.Since(begun) }`,
		`func f() { ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond) }`,
		`func f() { ctx, cancel := context.WithTimeout(ctx, time.Minute) }`,
		`func f() { ctx, cancel := context.WithTimeout(ctx, lease) }`,
		`func Example() { ctx, cancel := context.WithTimeout(ctx, 5*time.Second) }`,
		`func (w *world) must(err error) {}`,
	} {
		for _, bad := range impatience(source(t, "slots/a_test.go", "package slots\n"+good)) {
			t.Errorf("%s: %s", good, bad.what)
		}
	}
	for _, f := range []file{
		source(t, "slots/a.go", "package slots\nfunc must() {}\nvar after = time.After"),
		source(t, "internal/testing/must/a.go", "package must\nfunc must() {}"),
	} {
		for _, bad := range impatience(f) {
			t.Errorf("%s: %s", f.path, bad.what)
		}
	}
}
