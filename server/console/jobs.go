package console

// jobs are what people have begun and what takes a while.
type jobs struct{}

func newJobs() *jobs { return &jobs{} }
