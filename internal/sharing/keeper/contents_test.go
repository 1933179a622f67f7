package keeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// The contents of the nodes are part of the protocol: other versions meet them.
func TestNodesAreWrittenLikeThis(t *testing.T) {
	t.Parallel()
	written, err := assignment{gen: 17, owners: []string{"b", "a", "", "b"}}.encode()
	if want := `{"v":1,"gen":17,"workers":["a","b"],"map":"AAEAAP//AAE="}`; string(written) != want || err != nil {
		t.Errorf("%s, %v\nwant %s", written, err, want)
	}
	for _, c := range []struct {
		node any
		want string
	}{
		{layoutNode{layout, "4xZq"}, `{"layout":1,"tree":"4xZq"}`},
		{topicNode{"priority", 16, true, false, "zookeeper", layout}, `{"kind":"priority","slots":16,"literal":true,"notes":false,"sharing":"zookeeper","layout":1}`},
		{workerNode{Topics: map[string]float64{"order": 1, "mail": 0.5}, Host: "h", PID: 7, Version: "1.0"},
			`{"topics":{"mail":0.5,"order":1},"host":"h","pid":7,"ver":"1.0"}`},
		{ownedNode{Topics: map[string]string{"order": "0-7,12"}, Since: 1700000000000}, `{"topics":{"order":"0-7,12"},"since":1700000000000}`},
	} {
		if got, err := json.Marshal(c.node); string(got) != c.want || err != nil {
			t.Errorf("%s, %v\nwant %s", got, err, c.want)
		}
	}
}

func TestAssignmentComesBack(t *testing.T) {
	t.Parallel()
	seed := sharetest.Seed(t)
	random := rand.New(rand.NewSource(seed))
	workers := night.Times(50, 300)
	for _, slots := range []int{0, 1, 16, 4096, 65536} {
		a := assignment{gen: random.Int63(), owners: make([]string, slots)}
		for slot := range a.owners {
			if who := random.Intn(workers); who > 0 {
				a.owners[slot] = fmt.Sprintf("wörker-%d", who)
			}
		}
		data, err := a.encode()
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 1<<20-1<<10 {
			t.Errorf("%d slots need %d bytes; ZooKeeper takes 1 MiB", slots, len(data))
		}
		b, err := decodeAssignment(data)
		if err != nil || b.gen != a.gen || !slices.Equal(a.owners, b.owners) {
			t.Errorf("%d slots do not come back: %v", slots, err)
		}
		all := 0
		for _, id := range append(a.workers(), "") {
			for _, slot := range b.of(id) {
				if all++; a.owners[slot] != id || id == "" {
					t.Errorf("slot %d: %q, want %q", slot, id, a.owners[slot])
				}
			}
		}
		if unowned := len(slices.DeleteFunc(slices.Clone(a.owners), func(id string) bool { return id != "" })); all != slots-unowned {
			t.Errorf("%d of %d slots have a worker, want %d", all, slots, slots-unowned)
		}
	}
}

func TestTooManyWorkersForAnAssignment(t *testing.T) {
	t.Parallel()
	a := assignment{owners: make([]string, 65536)}
	for slot := range a.owners {
		a.owners[slot] = fmt.Sprint(slot)
	}
	if _, err := a.encode(); err == nil {
		t.Error("the last of 65,536 workers stands for nobody")
	}
}

func TestNewerContentsAreRefused(t *testing.T) {
	t.Parallel()
	newer := []byte(`{"v":2,"topics":["order"],"map":{"order":[0]}}`)
	if _, err := decodeAssignment(newer); !errors.Is(err, errVersion) {
		t.Error(err)
	}
	if _, err := decodeWorker(newer); !errors.Is(err, errVersion) {
		t.Error(err)
	}
	if w, err := decodeWorker([]byte(`{"topics":{"order":2.5},"host":"h","pid":7,"ver":"1.0","more":[]}`)); err != nil || w.Topics["order"] != 2.5 {
		t.Errorf("%+v, %v", w, err)
	}
}

func TestDamagedContentsAreRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		``, `{`, `[]`, `null`, `{}`, `{"v":0,"map":""}`, `{"v":-1}`, `{"v":"1"}`, `{"v":1,"map":"AA=="}`, `{"v":1,"map":"*"}`,
		`{"v":1,"workers":["a"],"map":"AAE="}`, `{"v":1,"workers":"a"}`,
	} {
		if a, err := decodeAssignment([]byte(bad)); err == nil || errors.Is(err, errVersion) {
			t.Errorf("%s: %v, %v", bad, a, err)
		}
	}
	for _, bad := range []string{``, `x`, `{"topics":7}`} {
		if w, err := decodeWorker([]byte(bad)); err == nil || errors.Is(err, errVersion) {
			t.Errorf("%s: %v, %v", bad, w, err)
		}
	}
}

func TestSlotsForPeople(t *testing.T) {
	t.Parallel()
	for text, slots := range map[string][]int{
		"": nil, "0": {0}, "0-1": {0, 1}, "0-7,12": {0, 1, 2, 3, 4, 5, 6, 7, 12}, "3,5,7-9": {3, 5, 7, 8, 9}, "65535": {65535},
	} {
		if got := formatSlots(slots); got != text {
			t.Errorf("%v is written %q, want %q", slots, got, text)
		}
		if got, err := parseSlots(text); !slices.Equal(got, slots) || err != nil {
			t.Errorf("%q is read %v, %v", text, got, err)
		}
	}
	for _, bad := range []string{",", "1-", "-1", "2-1", "a", "1-2-3", "65536", "1,,2", strings.Repeat("9", 30)} {
		if got, err := parseSlots(bad); err == nil {
			t.Errorf("%q is read %v", bad, got)
		}
	}
}
