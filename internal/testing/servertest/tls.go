package servertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TLS starts a private server that speaks TLS only and asks for a password, and
// stops it with the test. Its Client brings both; the args win over the defaults.
func TLS(t testing.TB, args ...string) *Server {
	t.Helper()
	path, argv0 := redisBinary(t)
	s := &Server{daemon: daemon{Dir: t.TempDir()}}
	cert, key := filepath.Join(s.Dir, "cert.pem"), filepath.Join(s.Dir, "key.pem")
	roots, err := newCertificate(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	s.tls = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	args = slices.Concat([]string{
		"--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert,
		"--tls-auth-clients", "no", "--requirepass", "secret",
	}, args)
	s.password = valueOf(args, "--requirepass")
	err = s.startOn(path, func(port int) ([]string, error) {
		own := []string{argv0, "--port", "0", "--tls-port", fmt.Sprint(port)}
		return slices.Concat(own, defaults(s.Dir), args), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.endWith(t)
	return s
}

// TLSConfig is what a client of the server needs; nil for one without TLS.
func (s *Server) TLSConfig() *tls.Config { return s.tls.Clone() }

// Certificate writes a certificate of 127.0.0.1 and its key into files, and returns the roots that vouch for it.
func Certificate(t testing.TB) (cert, key string, roots *x509.CertPool) {
	t.Helper()
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	roots, err := newCertificate(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key, roots
}

// newCertificate writes a certificate of 127.0.0.1, signed by itself, and its key,
// and returns the roots to trust it by.
func newCertificate(certFile, keyFile string) (*x509.CertPool, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "127.0.0.1"}, // Java reads none without a name
		NotBefore:    now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		IsCA:        true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(certFile, cert, 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600); err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	return roots, nil
}
