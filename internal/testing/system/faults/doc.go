// Package faults harms Redis under a traffic whose messages are known one by one: masters of a
// Cluster or a Sentinel group die, hang, fail over, restart, move their slots, are parted from the
// others, forget their scripts, or refuse. What was accepted must come, what was refused must not,
// and the rest is counted for each setting.
//
// It holds tests only. The workers are in the process of the test: it is Redis that is harmed.
package faults
