package rmqotel

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// server knows which Redis server has a key.
type server struct {
	one     string // address of the only server; empty: a Cluster, or not known
	cluster *redis.ClusterClient
	mapped  atomic.Bool // the cluster client knows which server has what, so that asking it costs no round trip
}

// serverOf looks into a client. The address behind Sentinels is not known: it changes.
func serverOf(rdb redis.UniversalClient) *server {
	switch c := rdb.(type) {
	case *redis.Client:
		return &server{one: c.Options().Addr}
	case *redis.ClusterClient:
		return &server{cluster: c}
	}
	return &server{}
}

// answered notes that a command got an answer.
func (s *server) answered() {
	if s.cluster != nil && !s.mapped.Load() {
		s.mapped.Store(true)
	}
}

// of returns the address of the server that has the key; empty if it is not known.
func (s *server) of(ctx context.Context, key string) string {
	if s.cluster == nil || key == "" || !s.mapped.Load() {
		return s.one
	}
	master, err := s.cluster.MasterForKey(ctx, key)
	if err != nil {
		return ""
	}
	return master.Options().Addr
}

// named are the attributes that name a server.
func named(addr string) []attribute.KeyValue {
	host, port, ok := split(addr)
	if !ok {
		return nil
	}
	all := []attribute.KeyValue{semconv.ServerAddress(host)}
	if port > 0 {
		all = append(all, semconv.ServerPort(port))
	}
	return all
}

// peer are the attributes of who was spoken to: only an IP address or a socket is one.
func peer(addr string) []attribute.KeyValue {
	host, port, ok := split(addr)
	if !ok {
		return nil
	}
	if port == 0 {
		return []attribute.KeyValue{semconv.NetworkPeerAddress(host)}
	}
	if _, err := netip.ParseAddr(host); err != nil {
		return nil
	}
	return []attribute.KeyValue{semconv.NetworkPeerAddress(host), semconv.NetworkPeerPort(port)}
}

// split takes an address apart. A Unix socket has no port.
func split(addr string) (host string, port int, ok bool) {
	if strings.HasPrefix(addr, "/") {
		return addr, 0, true
	}
	host, text, err := net.SplitHostPort(addr)
	if err != nil { // such as FailoverClient, which go-redis calls a client behind Sentinels
		return "", 0, false
	}
	port, err = strconv.Atoi(text)
	return host, port, err == nil && port > 0
}
