// Package workers is a program that uses RMQ, and what its tests need to run it as several
// processes: a worker whose handlers write down what they do, a group of such workers on a Redis
// of its own, and a load that keeps them busy. The packages beside it kill, freeze, stop and cut
// off such processes; see package proctest for how they are judged.
//
//	func TestMain(m *testing.M) { workers.Main(m) }
//
//	g := workers.New(t, workers.Job{Topics: []rmq.Topic{orders}, Lease: 30 * time.Second})
//	w := g.Work(3)
//	g.Send(orders, …)
//	w[0].Kill()
//	g.AwaitHandled()
//	g.Check()
//
// It uses what users of RMQ can use, and no package below that.
package workers
