package servertest

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"
)

// Mute returns the address of a server that takes connections and never answers.
func Mute(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts; nobody reads
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}

// Swallowing returns an address at which connecting takes for ever, as with a
// firewall that drops packets: a listener whose backlog is full.
func Swallowing(t testing.TB) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
	for range 16 {
		filler, err := net.DialTimeout("tcp", addr, 200*time.Millisecond)
		var network net.Error
		if errors.As(err, &network) && network.Timeout() {
			return addr
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { filler.Close() })
	}
	t.Fatal("the backlog is never full")
	return ""
}
