package model

// cell is one of the six protocols: a kind and a way of sharing.
type cell struct {
	kind      Kind
	zooKeeper bool
}

func cells() (all []cell) {
	for _, zooKeeper := range []bool{false, true} {
		for kind := RangeMerge; kind <= FixedTime; kind++ {
			all = append(all, cell{kind, zooKeeper})
		}
	}
	return all
}
