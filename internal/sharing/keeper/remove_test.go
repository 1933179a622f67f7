package keeper

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

func TestRemoveLeavesNothingOfANamespace(t *testing.T) {
	t.Parallel()
	ctx := await.Context(t)
	zoo := servertest.SharedZooKeeper(t)
	root := zoo.Chroot(t)
	k := New(Config{Servers: zoo.Servers(), Root: root})
	for _, namespace := range []string{"one", "one more"} {
		w := Worker{Name: "a", Namespace: namespace, Topics: []Topic{{Name: "orders", Kind: "priority", Slots: 8}}, Own: func(string, []int) {}}
		m, err := k.Join(ctx, w)
		if err != nil {
			t.Fatal(err)
		}
		m.Close()
	}
	for range 2 { // the second time there is nothing
		if err := k.Remove(ctx, "one"); err != nil {
			t.Error(err)
		}
	}
	if err := k.Remove(ctx, ""); err == nil {
		t.Error("everything may be removed")
	}
	left, _, err := zoo.Client(t, 10*time.Second).Children(root)
	if !slices.Equal(left, []string{"one%20more"}) || err != nil {
		t.Errorf("left: %q, %v", left, err)
	}
}

func TestRemoveWithoutAServer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeoutCause(context.Background(), time.Second, errors.New("long enough"))
	defer cancel()
	err := New(Config{Servers: []string{"127.0.0.1:1"}}).Remove(ctx, "one")
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1: ") || !strings.Contains(err.Error(), "long enough") {
		t.Errorf("err = %v", err)
	}
	if err := New(Config{}).Remove(ctx, "one"); !errors.As(err, new(*message.InvalidError)) {
		t.Errorf("err = %v", err)
	}
}
