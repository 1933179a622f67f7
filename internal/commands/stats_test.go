package commands

import (
	"fmt"
	"testing"
)

func TestNoWorker(t *testing.T) {
	t.Parallel()
	var topics []string
	for n, says := range []string{
		1: "no worker: t1; does a program listen to it, in this namespace?",
		3: "no worker: t1, t2, t3; does a program listen to them, in this namespace?",
		4: "no worker: t1, t2, t3 and 1 more; does a program listen to them, in this namespace?",
	} {
		if topics = append(topics, fmt.Sprint("t", n)); says != "" {
			want(t, noWorker(topics[1:]), says)
		}
	}
}
