package main

import (
	"context"
	"errors"
	"fmt"
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
	members []*exec.Cmd
}

var errMissing = errors.New("ZooKeeper is not installed here. On Debian: apt-get install -y libzookeeper-java default-jre-headless")

func startEnsemble(ctx context.Context) (_ *ensemble, err error) {
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
	for n := 1; n <= 3; n++ {
		ports, err := freePorts(3)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&members, "server.%d=127.0.0.1:%d:%d;127.0.0.1:%d\n", n, ports[0], ports[1], ports[2])
		e.servers = append(e.servers, fmt.Sprintf("127.0.0.1:%d", ports[2]))
	}
	for n := 1; n <= 3; n++ {
		dir := filepath.Join(e.dir, fmt.Sprint(n))
		cfg := fmt.Sprintf("tickTime=200\ninitLimit=50\nsyncLimit=10\nadmin.enableServer=false\ndataDir=%s\n%s", dir, members.String())
		err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(dir+"/myid", fmt.Append(nil, n), 0o600), os.WriteFile(dir+"/zoo.cfg", []byte(cfg), 0o600))
		if err != nil {
			return nil, err
		}
		member := exec.CommandContext(ctx, java, "-Xmx96m", "-XX:TieredStopAtLevel=1", "-cp", strings.Join(classPath, ":"),
			"org.apache.zookeeper.server.quorum.QuorumPeerMain", dir+"/zoo.cfg")
		if err := member.Start(); err != nil {
			return nil, fmt.Errorf("start ZooKeeper: %w", err)
		}
		e.members = append(e.members, member)
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
		_ = m.Process.Kill() // the only error is that it has ended
		_ = m.Wait()
	}
	_ = os.RemoveAll(e.dir)
}

// freePorts are ports that nobody listens at.
func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
