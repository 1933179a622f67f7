package main

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// workOptions choose parts of the section about handlers that take time.
type workOptions struct {
	parts, workers, loads string
	secs                  float64
	seed                  uint64
}

// places are how many handlers run at once, of all workers together.
const workPlaces = 64

func (o *workOptions) flags() {
	flag.StringVar(&o.parts, "parts", "", "of the table work, separated by commas: "+strings.Join(workPartNames(), ", "))
	flag.StringVar(&o.workers, "workers", "", "for the table work: numbers of workers that share the 64 places, of 1, 2 and 8")
	flag.StringVar(&o.loads, "load", "", "for the table work: percents of the places, such as 50,70,90, for the ways in which handlers take time")
	flag.Float64Var(&o.secs, "secs", 0, "for the table work: seconds of sending in a round (default 6, with -quick 3)")
	flag.Uint64Var(&o.seed, "seed", 1, "for the table work: of its plans")
}

// check finds what cannot be measured.
func (o workOptions) check() error {
	for _, name := range listed(o.parts) {
		if !slices.Contains(workPartNames(), name) {
			return fmt.Errorf("-parts %s: there is none; -h lists them", name)
		}
	}
	if n, err := numbers(o.workers); err != nil || slices.ContainsFunc(n, func(n int) bool { return n < 1 || workPlaces%n != 0 }) {
		return errors.New("-workers: numbers that divide 64, separated by commas")
	}
	if n, err := numbers(o.loads); err != nil || slices.ContainsFunc(n, func(n int) bool { return n < 1 || n > 100 }) {
		return errors.New("-load: percents from 1 to 100, separated by commas")
	}
	if o.secs < 0 || o.secs > 0 && o.secs < 1 {
		return errors.New("-secs is at least 1")
	}
	return nil
}

// chose reports whether a part is to be measured.
func (b *bench) chose(part string) bool {
	if b.work.parts == "" {
		return !b.quick || !slices.Contains([]string{"const", "lognormal", "rare"}, part)
	}
	return slices.Contains(listed(b.work.parts), part)
}

// fleets are the numbers of workers.
func (b *bench) fleets() []int {
	if n, _ := numbers(b.work.workers); n != nil {
		return n
	}
	if b.quick {
		return []int{1, 8}
	}
	return []int{1, 2, 8}
}

// percents are the loads of a part.
func (b *bench) percents(usual []int) []int {
	if n, _ := numbers(b.work.loads); n != nil {
		return n
	}
	if b.quick {
		return usual[:1]
	}
	return usual
}

// sending is how long messages are sent in a round.
func (b *bench) sending() time.Duration {
	switch {
	case b.work.secs > 0:
		return time.Duration(b.work.secs * float64(time.Second))
	case b.quick:
		return 3 * time.Second
	}
	return 6 * time.Second
}

func listed(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

func numbers(text string) (all []int, err error) {
	for _, one := range listed(text) {
		n, err := strconv.Atoi(one)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}
