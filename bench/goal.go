package main

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// goal is a line of the table of goals: a figure that is to be at most so much, or at
// least.
type goal struct {
	what   string
	least  bool // the bound is a lower one
	bound  float64
	unit   string
	rounds []float64 // their median counts
}

func atMost(bound float64, unit, what string, rounds ...float64) goal {
	return goal{what: what, bound: bound, unit: unit, rounds: rounds}
}

func atLeast(bound float64, unit, what string, rounds ...float64) goal {
	return goal{what: what, least: true, bound: bound, unit: unit, rounds: rounds}
}

// figure is the median of the rounds.
func (g goal) figure() float64 { return median(g.rounds) }

func (g goal) met() bool {
	if g.least {
		return g.figure() >= g.bound
	}
	return g.figure() <= g.bound
}

// row is the goal in the table.
func (g goal) row() []string {
	sign, verdict := "≤", "missed"
	if g.least {
		sign = "≥"
	}
	if g.met() {
		verdict = "met"
	}
	return []string{g.what, strings.TrimSpace(sign + " " + short(g.bound) + " " + g.unit), short(g.figure()),
		short(slices.Min(g.rounds)) + " .. " + short(slices.Max(g.rounds)), verdict}
}

// short writes a figure with two decimals at most.
func short(value float64) string { return strconv.FormatFloat(math.Round(100*value)/100, 'f', -1, 64) }
