// Package proctest runs workers as processes of their own, so that tests can
// kill, freeze and stop them as an operating system would, and judges them by
// what they wrote down.
//
//	func TestMain(m *testing.M) {
//		var job Job
//		if proctest.Child(&job) { // this is a worker, not the test
//			os.Exit(work(job))
//		}
//		…
//	}
//
//	dir := proctest.New(t)
//	w := dir.Start("w1", Job{…}) // the test's own binary once more
//	dir.Await("a handler runs", func() bool { return dir.Open("w1") > 0 })
//	w.Kill()
//	report := proctest.Check(dir.Events(), sent, rules)
//
// Each process appends to a log file of its own, one write for each line, with
// the machine's clock; what it had written before it was killed stays. The test
// logs its kills in the same way. [Check] reads these events and the list of
// what was sent, and nothing else: neither Redis nor the library under test.
//
// Every process dies with the test, however that ends. The package knows
// nothing of RMQ: what a worker does is up to the test.
package proctest
