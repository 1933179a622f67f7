package keeper

import (
	"encoding/json"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// The nodes that docs/PROTOCOL.md shows are read and written as they stand there.
func TestDocumentedNodes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/PROTOCOL.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "<!-- nodes -->\n```\n")
	block, _, _ = strings.Cut(block, "\n```")
	shown := map[string]string{}
	lines := strings.Split(block, "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		shown[strings.TrimPrefix(lines[i], "> get ")] = lines[i+1]
	}
	tr := newTree("/rmq", "")
	const first, second = "app7-4711-100015b69aa008a-ca4a907a", "app8-3920-100015b69aa008b-df70d127"

	same := func(at string, node any) {
		t.Helper()
		if err := json.Unmarshal([]byte(shown[at]), node); err != nil {
			t.Errorf("%s: %v", at, err)
		}
		if data, _ := json.Marshal(node); string(data) != shown[at] {
			t.Errorf("%s is written %s, not %s", at, data, shown[at])
		}
	}
	same(tr.meta(), new(layoutNode))
	same(tr.topic("orders"), new(topicNode))
	same(tr.worker(first), new(workerNode))
	same(tr.owned(second), new(ownedNode))
	if shown[tr.coordinator()] != first {
		t.Errorf("%s = %s", tr.coordinator(), shown[tr.coordinator()])
	}
	a, err := decodeAssignment([]byte(shown[tr.assign("orders")]))
	if err != nil {
		t.Fatal(err)
	}
	if data, _ := a.encode(); string(data) != shown[tr.assign("orders")] {
		t.Errorf("the assignment is written %s", data)
	}
	if !slices.Equal(a.of(first), []int{0, 1, 2, 3}) || !slices.Equal(a.of(second), []int{4, 5, 6, 7}) {
		t.Errorf("%+v", a)
	}
	for at := range shown {
		if !strings.HasPrefix(at, "/rmq/") || path.Clean(at) != at {
			t.Errorf("%q is no node", at)
		}
	}
}
