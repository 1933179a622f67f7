// Package who knows who works at topics: which workers share them, by Redis or by ZooKeeper, which processes take from them, whose
// handlers have run for long, who only probes, and which slots are stuck.
//
// It changes nothing.
package who
