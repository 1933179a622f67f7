package servertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// jars is where Debian keeps Java libraries.
const jars = "/usr/share/java"

// zookeeperJava finds what starts a ZooKeeper: the path of java, and the class path.
// The jar names most of what it needs; some of Netty, for TLS, and a backend for the
// log it does not.
func zookeeperJava(t testing.TB, dir string) (java, classPath string) {
	t.Helper()
	const install = "apt-get install libzookeeper-java default-jre-headless"
	java, err := exec.LookPath("java")
	if err != nil {
		missing(t, "Java, for ZooKeeper", install)
	}
	var path []string
	for _, name := range []string{
		"zookeeper", "slf4j-simple",
		"netty-codec", "netty-resolver", "netty-transport-native-unix-common",
	} {
		jar := filepath.Join(dir, name+".jar")
		if _, err := os.Stat(jar); err != nil {
			missing(t, "ZooKeeper ("+jar+")", install)
		}
		path = append(path, jar)
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
