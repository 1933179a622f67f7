package servertest

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// jars is where Debian keeps Java libraries.
const jars = "/usr/share/java"

// jarsOfZooKeeper are in the folder that RMQ_TEST_ZOOKEEPER_JARS names.
func jarsOfZooKeeper() string { return cmp.Or(os.Getenv("RMQ_TEST_ZOOKEEPER_JARS"), jars) }

// zookeeperJava finds what starts a ZooKeeper: the path of java, and the class path.
// The jar names what it needs by paths of the system, where another release may be; so
// what is beside it comes first. Some of Netty, for TLS, and a backend for the log it
// does not name at all.
func zookeeperJava(t testing.TB, dir string) (java, classPath string) {
	t.Helper()
	const install = "apt-get install libzookeeper-java default-jre-headless"
	java, err := exec.LookPath("java")
	if err != nil {
		Missing(t, "Java, for ZooKeeper", install)
	}
	needed := []string{"zookeeper", "slf4j-simple"}
	var path []string
	for _, name := range slices.Concat([]string{
		"zookeeper-jute", "slf4j-api", "log4j-1.2", "commons-cli", "commons-io", "metrics-core", "snappy-java", // not all of each release
		"jackson-annotations", "jackson-core", "jackson-databind", "jetty9-io", "jetty9-server", "jetty9-servlet", "jetty9-util",
		"netty-buffer", "netty-codec", "netty-common", "netty-handler", "netty-resolver", "netty-transport",
		"netty-transport-native-epoll", "netty-transport-native-unix-common",
	}, needed) {
		jar := filepath.Join(dir, name+".jar")
		if _, err := os.Stat(jar); err == nil {
			path = append(path, jar)
		} else if slices.Contains(needed, name) {
			Missing(t, "ZooKeeper ("+jar+")", install)
		}
	}
	return java, strings.Join(path, string(os.PathListSeparator))
}

// zookeeperArgs is the argv of a ZooKeeper: a small one that starts soon and is not
// meant to become fast.
func zookeeperArgs(classPath, conf string) []string {
	return []string{
		"java", "-Xmx96m", "-Xshare:auto", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-XX:-UsePerfData", // a file in /tmp that would outlive a killed server
		"-Dzookeeper.jmx.log4j.disable=true",
		"-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
		"-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper.server.NIOServerCnxn=warn",   // each question
		"-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper.server.NettyServerCnxn=warn", // of ours
		"-cp", classPath, "org.apache.zookeeper.server.quorum.QuorumPeerMain", conf,
	}
}
