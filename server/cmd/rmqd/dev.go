package main

import (
	"time"

	"github.com/alicebob/miniredis/v2"
)

// inMemory runs a Redis inside this program, for somebody's first steps: it has no disk, and is gone with the program.
func inMemory() (url string, end func(), err error) {
	server, err := miniredis.Run()
	if err != nil {
		return "", nil, err
	}
	over := make(chan struct{})
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				server.FastForward(time.Second) // no key expires there by itself
			case <-over:
				return
			}
		}
	}()
	return "redis://" + server.Addr() + "?protocol=2", func() { close(over); server.Close() }, nil
}
