// Package jobs runs what people have begun and what takes a while.
//
// It keeps nothing on disk, and does not know who may begin or stop a job.
package jobs
