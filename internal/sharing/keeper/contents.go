package keeper

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// layout is the version of the whole tree. Programs of different layouts refuse
// to work together.
const layout = 1

// format is that of a single node's contents, its "v".
const format = 1

// noWorker stands in the map for a slot without a worker.
const noWorker = math.MaxUint16

// layoutNode is the contents of meta.
type layoutNode struct {
	Layout int    `json:"layout"`
	Tree   string `json:"tree"` // distinguishes this tree from all others
}

// madeAgain is the contents of meta after a person has made it again, since it was
// deleted. See definitions.again.
type madeAgain struct {
	layoutNode
	Again bool `json:"again"`
}

// topicNode is the contents of topics/{topic}: what Redis has under rmq:def{topic}.
type topicNode struct {
	Kind    string `json:"kind"`
	Slots   int    `json:"slots"`
	Literal bool   `json:"literal"`
	Notes   bool   `json:"notes"`
	Sharing string `json:"sharing"`
	Layout  int    `json:"layout"`
}

// workerNode is the contents of workers/{id}. They never change.
type workerNode struct {
	V       int                `json:"v,omitempty"` // none is the first version
	Topics  map[string]float64 `json:"topics"`      // and the worker's weight there
	Host    string             `json:"host"`
	PID     int                `json:"pid"`
	Version string             `json:"ver"`
}

func decodeWorker(data []byte) (w workerNode, err error) {
	if err = known(data); err == nil {
		err = json.Unmarshal(data, &w)
	}
	return w, err
}

// known is errVersion for contents of a version which this program does not know.
// It comes first: there the other fields may be anything.
func known(data []byte) error {
	var n struct{ V int }
	if err := json.Unmarshal(data, &n); err != nil {
		return err
	}
	if n.V > format {
		return fmt.Errorf("v %d: %w", n.V, errVersion)
	}
	return nil
}

// assignment is the contents of assign/{topic}.
type assignment struct {
	gen    int64
	owners []string // of each slot; empty if none has it
}

// assignmentNode is how an assignment is stored: each slot is two bytes, big
// endian, the owner's place among the workers.
type assignmentNode struct {
	V       int      `json:"v"`
	Gen     int64    `json:"gen"`
	Workers []string `json:"workers"`
	Map     []byte   `json:"map"`
}

// of returns the slots that a worker should have.
func (a assignment) of(id string) []int {
	var own []int
	for slot, owner := range a.owners {
		if owner == id && id != "" {
			own = append(own, slot)
		}
	}
	return own
}

// workers are all that have a slot, sorted.
func (a assignment) workers() []string {
	set := map[string]bool{}
	for _, owner := range a.owners {
		set[owner] = true
	}
	delete(set, "")
	return slices.Sorted(maps.Keys(set))
}

func (a assignment) encode() ([]byte, error) {
	n := assignmentNode{V: format, Gen: a.gen, Workers: a.workers(), Map: make([]byte, 0, 2*len(a.owners))}
	if len(n.Workers) > noWorker {
		return nil, fmt.Errorf("%d workers; at most %d can have slots of one topic", len(n.Workers), noWorker)
	}
	place := map[string]uint16{"": noWorker}
	for i, id := range n.Workers {
		place[id] = uint16(i)
	}
	for _, owner := range a.owners {
		n.Map = binary.BigEndian.AppendUint16(n.Map, place[owner])
	}
	return json.Marshal(n)
}

func decodeAssignment(data []byte) (assignment, error) {
	if err := known(data); err != nil {
		return assignment{}, err
	}
	var n assignmentNode
	if err := json.Unmarshal(data, &n); err != nil {
		return assignment{}, err
	}
	if n.V != format || len(n.Map)%2 != 0 {
		return assignment{}, fmt.Errorf("v %d, map of %d bytes: not an assignment", n.V, len(n.Map))
	}
	a := assignment{gen: n.Gen, owners: make([]string, len(n.Map)/2)}
	for slot := range a.owners {
		switch i := int(binary.BigEndian.Uint16(n.Map[2*slot:])); {
		case i < len(n.Workers):
			a.owners[slot] = n.Workers[i]
		case i != noWorker:
			return assignment{}, fmt.Errorf("slot %d has worker %d of %d", slot, i, len(n.Workers))
		}
	}
	return a, nil
}

// ownedNode is the contents of owned/{id}: what a worker really holds.
type ownedNode struct {
	Topics map[string]string `json:"topics"` // and the slots, as formatSlots writes them
	Since  int64             `json:"since"`  // in ms of the worker's clock

	// Quiet is how many ms ago the worker got its last answer when it wrote this; nil: it
	// does not say. See alone.go.
	Quiet *int64 `json:"quiet,omitempty"`
}

func decodeOwned(data []byte) (held map[string][]int, since time.Time, err error) {
	var n ownedNode
	if err := json.Unmarshal(data, &n); err != nil {
		return nil, time.Time{}, err
	}
	held = make(map[string][]int, len(n.Topics))
	for topic, text := range n.Topics {
		if held[topic], err = parseSlots(text); err != nil {
			return nil, time.Time{}, err
		}
	}
	return held, time.UnixMilli(n.Since), nil
}

// formatSlots writes ascending slots as people do: 0-7,12.
func formatSlots(sorted []int) string {
	var ranges []string
	for i := 0; i < len(sorted); {
		j := i + 1
		for j < len(sorted) && sorted[j] == sorted[j-1]+1 {
			j++
		}
		s := strconv.Itoa(sorted[i])
		if j > i+1 {
			s += "-" + strconv.Itoa(sorted[j-1])
		}
		ranges = append(ranges, s)
		i = j
	}
	return strings.Join(ranges, ",")
}

// parseSlots reads what formatSlots wrote.
func parseSlots(text string) ([]int, error) {
	var read []int
	for text != "" {
		var part string
		part, text, _ = strings.Cut(text, ",")
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.ParseUint(from, 10, 16)
		last, err2 := strconv.ParseUint(to, 10, 16)
		if err = errors.Join(err, err2); err != nil || last < first {
			return nil, fmt.Errorf("slots %q: %w", part, errors.Join(err, errors.New("not a range")))
		}
		for slot := first; slot <= last; slot++ {
			read = append(read, int(slot))
		}
	}
	return read, nil
}
