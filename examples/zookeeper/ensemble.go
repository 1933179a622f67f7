package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ensemble is three servers of ZooKeeper on this machine.
type ensemble struct {
	servers []string
	dir     string
	members []server
}

// server ends when its stdin is closed.
type server struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

var errMissing = errors.New("ZooKeeper is not installed here. On Debian: apt-get install -y libzookeeper-java default-jre-headless")

func startEnsemble() (_ *ensemble, err error) {
	classPath := []string{"/usr/share/java/zookeeper.jar", "/usr/share/java/slf4j-simple.jar"}
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, errMissing
	}
	for _, jar := range classPath {
		if _, err := os.Stat(jar); err != nil {
			return nil, errMissing
		}
	}
	e := &ensemble{}
	if e.dir, err = os.MkdirTemp("", "rmq-zookeeper-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			e.end()
		}
	}()
	var members strings.Builder
	host := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254)) // where nobody else listens
	ports, err := freePorts(host, 9)
	if err != nil {
		return nil, err
	}
	for n := 1; n <= 3; n++ {
		at := ports[3*n-3:]
		fmt.Fprintf(&members, "server.%d=%s:%d:%d;%s:%d\n", n, host, at[0], at[1], host, at[2])
		e.servers = append(e.servers, fmt.Sprintf("%s:%d", host, at[2]))
	}
	for n := 1; n <= 3; n++ {
		dir := filepath.Join(e.dir, fmt.Sprint(n))
		cfg := fmt.Sprintf("tickTime=200\ninitLimit=50\nsyncLimit=10\nadmin.enableServer=false\ndataDir=%s\n%s", dir, members.String())
		err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(dir+"/myid", fmt.Append(nil, n), 0o600), os.WriteFile(dir+"/zoo.cfg", []byte(cfg), 0o600))
		if err != nil {
			return nil, err
		}
		// The shell ends it when this program ends, however it does. Ctrl-C is for this program, and must not end the shell first.
		member := exec.Command("sh", "-c", `trap "" INT TERM; "$@" & cat; kill -9 $!`, "sh", java, "-Xmx96m", "-XX:TieredStopAtLevel=1",
			"-cp", strings.Join(classPath, ":"), "org.apache.zookeeper.server.quorum.QuorumPeerMain", dir+"/zoo.cfg")
		stdin, err := member.StdinPipe()
		if err != nil {
			return nil, err
		}
		if err := member.Start(); err != nil {
			return nil, fmt.Errorf("start ZooKeeper: %w", err)
		}
		e.members = append(e.members, server{member, stdin})
	}
	fmt.Println("ZooKeeper: an ensemble of three starts at", strings.Join(e.servers, ","))
	conn, err := connect(e.servers)
	if err != nil {
		return nil, err
	}
	conn.Close()
	return e, nil
}

func (e *ensemble) end() {
	for _, m := range e.members {
		_ = m.stdin.Close() // the only error is that it has ended
		_ = m.cmd.Wait()
	}
	_ = os.RemoveAll(e.dir)
}

// freePorts are ports of an address that nobody listens at.
func freePorts(host string, n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", host+":0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
