package zxid_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/slotmq/go-rmq/internal/sharing/keeper/zxid"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// packet has its length before it.
func packet(fields ...any) []byte {
	var b []byte
	for _, f := range fields {
		b, _ = binary.Append(b, binary.BigEndian, f)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

func connect(last, session int64) []byte {
	return packet(int32(0), last, int32(10_000), session, make([]byte, 16))
}

func watches(last int64) []byte { return packet(int32(-8), int32(zxid.OpSetWatches), last, int32(0)) }

// pair is a connection: a test reads what its other end has sent, and it notes what is
// written.
type pair struct {
	net.Conn
	said    io.Reader
	written bytes.Buffer
}

func (p *pair) Read(b []byte) (int, error)  { return p.said.Read(b) }
func (p *pair) Write(b []byte) (int, error) { return p.written.Write(b) }

// Answers lose their zxid, in pieces of any size; nothing else is changed.
func TestAnswersComeWithoutTheirNumber(t *testing.T) {
	t.Parallel()
	welcome := packet(int32(0), int32(10_000), int64(77), make([]byte, 16), false)
	answer := func(zxid int64) []byte { return packet(int32(5), zxid, int32(0), []byte("the data")) }
	event := func(zxid int64) []byte { return packet(int32(-1), zxid, int32(0), []byte("/path")) }
	ping := func(zxid int64) []byte { return packet(int32(-2), zxid, int32(0)) }
	short := packet(int32(9), int64(0))
	said := bytes.Join([][]byte{welcome, answer(41), event(-1), ping(43), answer(42), event(44), short}, nil)
	want := bytes.Join([][]byte{welcome, answer(0), event(0), ping(0), answer(0), event(0), short}, nil)

	seen := new(zxid.Seen)
	for name, reader := range map[string]io.Reader{
		"all at once":   bytes.NewReader(said),
		"byte by byte":  iotest.OneByteReader(bytes.NewReader(said)),
		"half the rest": iotest.HalfReader(bytes.NewReader(said)),
	} {
		seen.Note(1)
		got, err := io.ReadAll(seen.Conn(&pair{said: reader}))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if seen.Known() != 42 {
			t.Errorf("%s: heard of %d", name, seen.Known())
		}
	}
}

// With its watches a client says what it had heard of before the connection broke,
// whatever has been answered since; a new session has heard of nothing.
func TestWhatWasHeardBefore(t *testing.T) {
	t.Parallel()
	seen := new(zxid.Seen)
	dial := func(answers ...int64) (*pair, net.Conn) {
		said := packet(int32(0), int32(10_000), int64(77))
		for _, zxid := range answers {
			said = append(said, packet(int32(5), zxid, int32(0))...)
		}
		p := &pair{said: bytes.NewReader(said)}
		return p, seen.Conn(p)
	}
	wants := func(what string, p *pair, want ...[]byte) {
		t.Helper()
		if all := bytes.Join(want, nil); !bytes.Equal(p.written.Bytes(), all) {
			t.Errorf("%s: %v, want %v", what, p.written.Bytes(), all)
		}
	}
	say := func(c net.Conn, b []byte) {
		t.Helper()
		kept := bytes.Clone(b)
		if n, err := c.Write(b); n != len(b) || err != nil || !bytes.Equal(b, kept) {
			t.Errorf("wrote %d, %v", n, err)
		}
	}
	request := packet(int32(3), int32(101101), int64(5), []byte("another kind"))

	p, c := dial(30, 31)
	say(c, connect(0, 0))
	say(c, request)
	io.ReadAll(c)
	wants("the first connection", p, connect(0, 0), request)

	p, c = dial(50)
	say(c, connect(0, 77))
	io.ReadAll(c) // an answer that comes before the watches are sent
	say(c, request)
	say(c, watches(0))
	wants("the second", p, connect(31, 77), request, watches(31))

	p, c = dial()
	say(c, connect(0, 77))
	say(c, watches(0))
	wants("the third", p, connect(50, 77), watches(50))

	p, c = dial()
	say(c, connect(0, 0))
	wants("another session", p, connect(0, 0))
	p, c = dial()
	say(c, connect(0, 78))
	wants("after that", p, connect(0, 78))
}

// Under the race detector this is the library's own: a client with a watch is asked all
// the time while its connection breaks. Nothing that happens in that time is missed.
func TestBusyClientReconnects(t *testing.T) {
	t.Parallel()
	srv := servertest.SharedZooKeeper(t)
	proxy := servertest.NewProxy(t, srv.Addr())
	root, witness := srv.Chroot(t), srv.Client(t, 30*time.Second)
	seen := new(zxid.Seen)
	conn, events, err := zk.Connect([]string{proxy.Addr()}, 30*time.Second, zk.WithLogInfo(false), zk.WithLogger(silent{}),
		zk.WithDialer(func(network, addr string, timeout time.Duration) (net.Conn, error) {
			c, err := net.DialTimeout(network, addr, timeout)
			if err != nil {
				return nil, err
			}
			return seen.Conn(c), nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	// So many that the library takes a while to collect them, and looks at the number of
	// its last answer more than once.
	const many, rounds = 4000, 2
	long := root + "/" + strings.Repeat("x", 200)
	var setting sync.WaitGroup
	for i := range many {
		setting.Go(func() {
			if _, _, _, err := conn.ExistsW(long + strconv.Itoa(i)); err != nil {
				t.Error(err)
			}
		})
	}
	setting.Wait()
	done := make(chan struct{})
	var busy sync.WaitGroup
	for range 4 {
		busy.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					conn.Exists(root)
				}
			}
		})
	}
	for i := range rounds {
		path := root + "/" + strconv.Itoa(i)
		_, _, watch, err := conn.ExistsW(path)
		if err != nil {
			t.Fatal(err)
		}
		proxy.Cut()
		if _, err := witness.Create(path, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		proxy.Mend()
		await.Signal(t, "the watch", watch)
	}
	close(done)
	conn.Close()
	busy.Wait()
	for range events {
		continue
	}
}

type silent struct{}

func (silent) Printf(string, ...any) {}
