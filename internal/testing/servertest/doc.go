// Package servertest gives tests the servers they talk to: real Redis and ZooKeeper
// servers started as children of the test process, an in-memory Redis, and a TCP
// proxy that breaks the connection in between in chosen ways.
//
//	func TestMain(m *testing.M) { servertest.Main(m) }
//
//	srv := servertest.SharedRedis(t)   // one per test process; keep to keys of your own
//	srv := servertest.Redis(t)         // private: may be killed, paused, restarted
//	c := servertest.Cluster(t, 3, 1)   // Redis Cluster: 3 masters, each with 1 replica
//	g := servertest.Sentinel(t)        // a master, its replica, three Sentinels
//	srv := servertest.TLS(t)           // TLS only, with a password
//	db := servertest.PostgreSQL(t)     // private; SharedPostgreSQL(t) is not
//	db := servertest.MariaDB(t)        // and the same for MariaDB
//	mini, rdb := servertest.Memory(t)  // in-process; its clock can be moved
//	proxy := servertest.NewProxy(t, srv.Addr())
//
//	zks := servertest.SharedZooKeeper(t) // one per test process; keep to a Chroot of yours
//	zks := servertest.ZooKeeper(t)       // private
//	zks := servertest.ZooKeeperTLS(t)    // TLS only
//	e := servertest.Ensemble(t, 3)       // ZooKeeper of three members
//	zks.ExpireSession(t, id)             // at once, without waiting for its timeout
//	nodes := zks.Nodes(t)                // what an operator sees, and may delete
//
// A real Redis costs about 10 ms, a ZooKeeper half a second, an ensemble one and a
// half, a cluster or a Sentinel group two seconds, a database a second and a half. Databases
// refuse to run as root: for root they are started as nobody, so the folder for temporary
// files must be one that everybody may enter. A test that harms its server takes
// a private one. Every child dies with the test process, however that ends.
//
// Environment:
//
//	RMQ_TEST_REDIS_SERVER  the redis-server binary to start
//	RMQ_TEST_ZOOKEEPER_JARS  the folder with zookeeper.jar and what it needs
//	RMQ_TEST_REDIS         host:port of a server of yours, for SharedRedis only
//	RMQ_TEST_ZK            host:port[,host:port...] of yours, for SharedZooKeeper only
//	RMQ_REQUIRE_SERVERS=1  a missing binary fails the test instead of skipping it
//	                       (CI=true means the same)
//
// The package does not isolate tests on a shared server from each other (choose
// a namespace per test and never flush), and it never installs anything.
package servertest
