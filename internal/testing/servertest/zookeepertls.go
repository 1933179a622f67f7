package servertest

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// ZooKeeperTLS starts a private server that speaks TLS only, without asking for a
// certificate of the client's, and stops it with the test. Its Client speaks it; the
// cfg are lines of zoo.cfg and win over the defaults.
func ZooKeeperTLS(t testing.TB, cfg ...string) *ZooKeeperServer {
	t.Helper()
	java, classPath := zookeeperJava(t, jarsOfZooKeeper())
	s := &ZooKeeperServer{daemon: daemon{Dir: t.TempDir()}}
	both, err := s.certify()
	if err != nil {
		t.Fatal(err)
	}
	cfg = slices.Concat([]string{
		"serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
		"ssl.keyStore.location=" + both, "ssl.keyStore.type=PEM", "ssl.clientAuth=none",
	}, cfg)
	if err := s.start(java, classPath, cfg); err != nil {
		t.Fatal(err)
	}
	s.endWith(t)
	return s
}

// certify gives the server a certificate: ZooKeeper wants it in one file with its key.
func (s *ZooKeeperServer) certify() (file string, err error) {
	cert, key := filepath.Join(s.Dir, "cert.pem"), filepath.Join(s.Dir, "key.pem")
	roots, err := newCertificate(cert, key)
	if err != nil {
		return "", err
	}
	s.tls = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	var text []byte
	for _, name := range []string{key, cert} {
		part, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		text = append(text, part...)
	}
	file = filepath.Join(s.Dir, "both.pem")
	return file, os.WriteFile(file, text, 0o600)
}
